"""What a finding is called from one audit to the next."""

from __future__ import annotations

from hashlib import sha256


def finding_id(kernel: str, code: str, expression: str, line: str) -> str:
    """A stable identity: the same kernel text and expression give the same id, whatever the line number."""
    digest = sha256(f"{kernel}\0{code}\0{expression}\0{line.strip()}".encode()).hexdigest()
    return f"{code}-{digest[:10]}"
