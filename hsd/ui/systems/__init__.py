"""The Systems screen: systems built of several levels or of another rule, one panel each. See systems.js."""

from hsd.ui.systems.screen import Systems

__all__ = ["Systems"]
