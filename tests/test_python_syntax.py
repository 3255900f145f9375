"""Reading Python prints nothing, whatever the text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WARNED = "x = 1if 1 else 2\ny = '\\d'\nz = 1 is 1\n"
KERNEL = "import triton\n@triton.jit\ndef k(p):\n    tl.store(p + 0xfor x, 1)\n"
CALLED = "async_compile = 0\ndef call(args):\n    x = '\\d'\n    return 1if 1 else 2\n"


@pytest.mark.parametrize(("name", "text"), [("k.py", WARNED + KERNEL), ("output_code.py", CALLED)])
def test_no_warning_of_the_parser_reaches_the_user(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    (tmp_path / "k.toml").write_text('kernel = "k"\ngrid = ["1", "1", "1"]\n[types]\np = "*fp32"\n')
    launch = ["--launch", str(tmp_path / "k.toml")] if name == "k.py" else []
    command = [sys.executable, "-W", "always", "-m", "kernelscope", "audit", str(path), *launch]
    result = subprocess.run(command, capture_output=True, text=True)
    assert "Warning" not in result.stderr, result.stderr
