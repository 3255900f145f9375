"""SIGTERM and SIGHUP unwind the run, where nothing else was wanted of them."""

from __future__ import annotations

import os
import signal
from threading import Thread

import pytest

from kernelscope.commands.stopping import Stopped, stopped_by_signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_an_exception_within_the_block_only(number: signal.Signals, status: int) -> None:
    with pytest.raises(Stopped) as caught, stopped_by_signals():
        os.kill(os.getpid(), number)
    assert (caught.value.name, caught.value.status) == (number.name, status)
    assert not isinstance(caught.value, Exception)
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_signal_that_is_ignored_or_handled_stays_so() -> None:
    handled: list[int] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.signal(signal.SIGTERM, lambda n, _: handled.append(n))
    try:
        with stopped_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert handled == [signal.SIGTERM]


def test_another_thread_may_run_a_command() -> None:
    def run() -> None:
        with stopped_by_signals():
            pass

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
