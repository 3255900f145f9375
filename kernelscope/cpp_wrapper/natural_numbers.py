"""Numbers in generated C++: written in ASCII, and of a length that some machine could count to."""

from __future__ import annotations

import re

_NATURAL = re.compile(r"[0-9]{1,40}")


def natural_number(text: str) -> int | None:
    """The number that the text is, None when it is anything else, or absurdly long."""
    return int(text) if _NATURAL.fullmatch(text) else None


def whole_number(text: str) -> int | None:
    """The same with a sign, as in `-1`."""
    number = natural_number(text.removeprefix("-"))
    return None if number is None else -number if text.startswith("-") else number
