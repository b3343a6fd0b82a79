"""The one exception that users are meant to read, and other exceptions' messages in one line."""


class HsdError(ValueError):
    """Bad input. The message is one line that says what is wrong and what to do about it."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
