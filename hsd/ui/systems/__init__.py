"""The Systems screen: systems built of several levels or of another rule, one panel each. See systems.js.

The scripts use the player's `dom.js`, `format.js` and `export.js`, and the frame, so these must come first in the page.
"""

from hsd.ui.systems.screen import Systems

__all__ = ["Systems"]
