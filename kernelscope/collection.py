"""How often Python looks for garbage in cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect cyclic garbage after 50,000 new objects in place of Python's 700: syntax trees and index programs are many
    small objects without cycles, and looking through them again and again took a third of the time of reading a package."""
    threshold, *others = gc.get_threshold()
    if 0 < threshold < _OBJECTS:
        gc.set_threshold(_OBJECTS, *others)
    try:
        yield
    finally:
        gc.set_threshold(threshold, *others)
