"""A progress bar on stderr, where someone watches and there is enough to wait for."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 2.0
_NAME_WIDTH = 40


class AuditProgress:
    """Called with (done, total, name); shows nothing within the first two seconds or when stderr is no terminal."""

    def __init__(self) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> AuditProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, name: str) -> None:
        if not self._watched or time.monotonic() - self._started < _PATIENCE_SECONDS:
            return
        if self._bar is None or self._task is None:
            self._start(total)
        assert self._bar is not None and self._task is not None
        self._bar.update(self._task, completed=done, total=total, description=_shown(name))

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()


def _shown(name: str) -> str:
    from kernelscope.report.console import printable

    shown = printable(name.replace("\n", " "))
    return shown if len(shown) <= _NAME_WIDTH else f"...{shown[3 - _NAME_WIDTH :]}"
