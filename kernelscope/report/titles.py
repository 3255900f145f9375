"""Titles of the codes, from the checks."""

from __future__ import annotations

from functools import cache

from kernelscope.audit.checks import all_checks


def title_of(code: str) -> str:
    """The title of a code; empty for one without a check."""
    return _titles().get(code, "")


@cache
def _titles() -> dict[str, str]:
    return {check.code: check.title for check in all_checks()}
