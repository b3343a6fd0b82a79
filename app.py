"""What a Space starts, and `python app.py` too: `python -m hsd app`, with the same options."""

import runpy
import sys
from contextlib import suppress

with suppress(ImportError):
    # on ZeroGPU it must come before torch; elsewhere it need not be there
    import spaces  # noqa: F401

if __name__ == "__main__":
    sys.argv[1:1] = ["app"]
    runpy.run_module("hsd", run_name="__main__")
