"""The app in the browser; the page as files is `hsd.app.export`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hsd.space import Space


def launch(
    trace_file: str | None = None,
    host: str | None = None,
    port: int | None = None,
    open_browser: bool = False,
    download: bool = True,
    allowed_hosts: tuple[str, ...] = (),
    servers: bool = False,
    manifest: Space | None = None,
    decode: Callable[..., Iterator[Any]] | None = None,
    offers: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Start the app and serve it until interrupted; prints the address once it is ready.

    trace_file: a saved trace to show first. host, port: by default 127.0.0.1 and the first free port from 7860, or what
    Gradio's environment variables say. download: fetch the manifest's missing models in the background; HSD_DOWNLOAD=0
    turns this off too. allowed_hosts, servers: see `hsd.app.trust`. manifest: in place of the
    Spacefile. decode, offers: in place of `hsd.app.runs.decode` and `hsd.app.downloads.offers`, where runs come from
    elsewhere, such as from a server that is watched. Raises HsdError, such as when the port is taken.
    """
    from hsd import space
    from hsd.app import device

    manifest = manifest or space.load()
    device.prepare_environment(manifest)  # before gradio is imported: it reads the environment then
    from hsd.app.server import serve
    from hsd.app.trust import started

    address = {"server_name": host, "server_port": port, "inbrowser": open_browser}
    serve(manifest, started(host, allowed_hosts, servers), trace_file, download, address, decode, offers)
