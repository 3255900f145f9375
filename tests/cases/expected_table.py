"""Writes expected.toml from the headers of the cases: `python tests/cases/expected_table.py`."""

from __future__ import annotations

import re
from pathlib import Path

_HEADER = re.compile(r"^# (\w+): (.*)$", re.MULTILINE)
_SIZE = re.compile(r"(\w+) (?:=|up to) (\d+)")


def entry(source: str) -> str:
    """One table of expected.toml: verdict, faulty lines and the largest safe size (absent: none works)."""
    header = dict(_HEADER.findall(source))
    lines = ", ".join(re.findall(r"\d+", header.get("fault_lines", "")))
    size = _SIZE.search(header["largest_safe"])
    table = [f'["{header["case"]}"]', f'verdict = "{header["verdict"].lower()}"', f"fault_lines = [{lines}]"]
    if size is not None:
        table.append(f"largest_safe = {{{size.group(1)} = {size.group(2)}}}")
    table.append(f"whole_range = {str('whole range' in header['largest_safe']).lower()}")
    return "\n".join(table)


def main() -> None:
    folder = Path(__file__).parent
    cases = sorted(folder.glob("[0-9]*.py"))
    (folder / "expected.toml").write_text("\n\n".join(entry(case.read_text()) for case in cases) + "\n")


if __name__ == "__main__":
    main()
