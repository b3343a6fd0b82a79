"""What a Space starts, and `python app.py` as well: build the app and serve it."""

from contextlib import suppress

with suppress(ImportError):
    import spaces  # noqa: F401  # on ZeroGPU it must come before torch; elsewhere it need not be there

from hsd.app import launch

if __name__ == "__main__":
    launch()
