"""Exit statuses, a stable contract."""

from __future__ import annotations

OK, UNSAFE, WRONG, INTERRUPTED = 0, 1, 2, 130
EXIT_STATUS = "Exit status: 0 nothing unsafe, 1 something unsafe, 2 wrong usage or unreadable input."
