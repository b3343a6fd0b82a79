"""A plugin of vLLM: each verification step of chosen requests as a `Step`, and HSD in place of vLLM's verification.

Nothing happens unless the server is started with `--additional-config '{"hsd": {…}}'`; `Settings` says what may stand
there. Tested with vLLM 0.32.0; what it needs of 0.33.0 is compared with recorded signatures.
"""

from hsd.vllm.settings import Settings, settings_of

__all__ = ["Settings", "register", "settings_of"]


def register() -> None:
    """Make ready in a process of vLLM, which calls this as a plugin of the group `vllm.general_plugins`."""
    from hsd.vllm.binding import prepare

    prepare()
