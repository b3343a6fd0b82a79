"""The Race screen: plain decoding, vanilla, HSD and others in turn on this machine, then replayed side by side.

Numbers are those of `hsd.bench`. The scripts use the player's `dom.js`, `format.js` and `export.js`, and the frame, so
these must come first in the page.
"""

from hsd.ui.race.screen import Race

__all__ = ["Race"]
