"""Requests to end the process (SIGTERM, SIGHUP), turned into an exception so that what was begun is cleared away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(BaseException):
    """Like KeyboardInterrupt: nothing that handles errors may catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.status = 128 + number


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Within the block these signals raise Stopped; one that was ignored (`nohup`) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _STOPPING}
    own = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    for number in own:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped(number)
