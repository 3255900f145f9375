"""File names as Python's own functions take them."""

from __future__ import annotations

import os

#: Whatever names a file: text or `pathlib.Path`.
StrPath = str | os.PathLike[str]
