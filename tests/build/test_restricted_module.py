"""Nothing of a package's kernel module runs as found."""

from __future__ import annotations

import pytest

from kernelscope.build.restricted_module import RestrictionError, restricted_module

HEAD = "import triton\nimport triton.language as tl\n\n"
BODY = "    tl.store(x + tl.arange(0, BLOCK), 2)\n"


def kernel(before: str = "", parameters: str = "x, BLOCK: tl.constexpr", body: str = BODY, decorators: str = "") -> str:
    return f"{HEAD}{before}{decorators}@triton.jit\ndef double({parameters}):\n{body}"


def test_functions_stay_on_their_lines_and_all_else_is_left_out() -> None:
    source = kernel(
        before="print('run')\nopen('planted', 'w')\nN = tl.constexpr(4)\nM = print(3)\n",
        decorators="@triton_heuristics.pointwise(size_hints={'x': 4}, filename=__file__)\n",
    )
    lines = restricted_module(source).text.split("\n")
    assert "print" not in "\n".join(lines) and "open" not in "\n".join(lines) and "heuristics" not in "\n".join(lines)
    assert [number for number, line in enumerate(lines) if line.startswith("def double")] == [
        number for number, line in enumerate(source.split("\n")) if line.startswith("def double")
    ]
    assert "N = tl.constexpr(4)" in lines


@pytest.mark.parametrize(
    "source",
    [
        kernel(body="    __import__('os').system('true')\n"),
        kernel(body="    tl.store(x, eval('1'))\n"),
        kernel(body="    import os\n"),
        kernel(body="    tl.store(x, __builtins__)\n"),
        kernel(body="    tl.store(x, (1).__class__)\n"),
        kernel(parameters="x, BLOCK: tl.constexpr = print(1)"),
        kernel(parameters="x, BLOCK: print(1)"),
        kernel(body="    global y\n    y = 1\n"),
        kernel(body="    tl.store(x, getattr(tl, 'core'))\n"),
        kernel(before="from triton.language import *\n"),
        "@triton.jit\ndef f(:\n",
        HEAD,
    ],
)
def test_what_could_run_is_refused(source: str) -> None:
    with pytest.raises(RestrictionError):
        restricted_module(source)


def test_names_of_modules_are_kept_as_chains_to_be_resolved() -> None:
    module = restricted_module(kernel(body="    tl.store(x, tl.core.os.getpid())\n"))
    assert ("tl", "core", "os", "getpid") in module.chains


@pytest.mark.torch
@pytest.mark.parametrize(
    "call", ["triton_helpers.warnings.warn(1)", "triton.runtime.driver.active", "triton_helpers.set_driver_to_gpu()"]
)
def test_a_chain_that_leads_out_of_triton_is_refused(call: str) -> None:
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    from kernelscope.build.resolution import check_names

    before = "from torch._inductor.runtime import triton_helpers\n"
    with pytest.raises(RestrictionError, match=r"leads to|no function or constant"):
        check_names(restricted_module(kernel(before=before, body=f"    tl.store(x, {call})\n")))
