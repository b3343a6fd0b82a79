"""The app in the browser; the page as files is `hsd.app.export`."""

import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace

if TYPE_CHECKING:
    from hsd.app.runs import Decoder, Watched

THREADS = 40  # for all that is done at once
SESSIONS = 200  # that Gradio keeps; nothing of ours is in there


def launch(
    trace_file: str | None = None,
    host: str | None = None,
    port: int | None = None,
    open_browser: bool = False,
    download: bool = True,
    allowed_hosts: tuple[str, ...] = (),
    manifest: Space | None = None,
    decode: "Decoder | None" = None,
    watched: "Watched | None" = None,
    block: bool = True,
    share: bool | None = None,
) -> str:
    """Start the app, print its address once it is ready, and serve it until interrupted.

    Returns the address; at once where `block` is false, as a notebook wants it.

    trace_file: a saved trace to show first. host, port: by default 127.0.0.1 and the first free
    port from 7860, or what Gradio's environment variables say; port 0: any free one. download:
    fetch the manifest's missing models in the background; HSD_DOWNLOAD=0 turns this off too.
    allowed_hosts: see `hsd.app.trust`. manifest: used in place of the Spacefile. decode: in place
    of `hsd.app.runs.decode`, where prompts are run elsewhere. watched: runs that grow elsewhere,
    which the page lists and plays. share: also by a public address of gradio.live, which is then
    returned; by default as Gradio decides, which shares on Colab. Raises HsdError for an address
    that is not of this machine, when the port is taken, and when gradio.live gives no address.
    """
    from hsd import space
    from hsd.app import address, device

    host = address.chosen_host(host)
    manifest = manifest or space.load()
    if share:
        manifest = manifest.model_copy(update={"own_pair": "never"})  # nor folders of this machine
    device.prepare_environment(manifest)  # before gradio is imported: it reads the environment then
    with address.without_proxy(host):  # gradio makes clients when it is imported
        from hsd.app import downloads, pairs, trust
        from hsd.app.server import build, preload

    trust.current = trust.started(host, allowed_hosts)
    opened = None if trace_file is None else Trace.from_file(trace_file)
    server = build(manifest, opened, decode, watched)
    port = address.chosen_port(host, port)
    try:
        with address.without_proxy(host):
            app, url, shared = server.launch(
                server_name=host,
                server_port=port,
                inbrowser=open_browser,
                prevent_thread_lock=True,
                quiet=True,
                share=share,
                ssr_mode=False,
                mcp_server=find_spec("mcp") is not None,  # endpoints as tools of a language model
                run_history=False,
                max_file_size=MAX_BYTES,
                max_threads=THREADS,
                state_session_capacity=SESSIONS,
            )
    except OSError:
        words = f"port {port} was taken just now: start it again, or choose another with --port"
        raise HsdError(words) from None
    threading.Thread(target=preload, args=[manifest], daemon=True).start()
    if download:
        downloads.begin(manifest, lambda name: pairs.describe(manifest, name))
    if share and not shared:
        raise HsdError(f"gradio.live gave no address: leave share out, and open {url}")
    if shared:
        trust.current = trust.current.also(shared)
    # a browser may not know the address that stands for all of this machine's
    place = str(shared or url.replace("[::]", "[::1]"))
    print(f"The app is ready: {place}", flush=True)
    if block:
        app.get_blocks().block_thread()
    return place
