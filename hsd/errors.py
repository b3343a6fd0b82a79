"""The one exception that users are meant to read, and what others wrote, made fit to be shown."""

import re

# characters that steer a terminal, end a line, or turn the direction of what follows
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class HsdError(ValueError):
    """Bad input. The message is one line that says what is wrong and what to do about it.

    What it quotes of a file or a server may be anything: control characters are spelled out.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class where it has none."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(lines[0])[:200]


def one_line(text: str) -> str:
    """Return a text that others wrote, such as a name, with control characters spelled out.

    Its line ends are, too, so that nothing of it passes for a line of ours.
    """
    return UNSEEN.sub(lambda match: _spelled(match[0]), text)


def printable(text: str) -> str:
    """Return `text` as `one_line` does, but with its line ends and tabs."""
    return UNSEEN.sub(lambda match: match[0] if match[0] in "\n\t" else _spelled(match[0]), text)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()
