"""Reading Inductor's layout gives what a Python parser gives, and nothing where the text is not laid out so."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace

import pytest

from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.launches.kernel_layout import kernel_layout
from kernelscope.launches.kernel_metadata import read_metadata
from kernelscope.triton_source import read_declarations
from kernelscope.triton_source.declaration import _read_layout
from kernelscope.triton_source.literals import literal
from tests.cpp_wrapper.wrappers import facts
from tests.triton_source.corpus import fixture_kernels

TEXTS = tuple(dict.fromkeys(textwrap.dedent(kernel.text.lstrip("\n")) for kernel in fixture_kernels()))
TEXT = """import triton
import triton.language as tl

@triton_heuristics.reduction(
    size_hints={'x': 16, 'r0_': 8}, tile_hint=TileHint.DEFAULT,
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'p': '*fp32', 'n': 'i32', 'XBLOCK': 'constexpr'}, \
'device': DeviceProperties(type='cuda', index=0, cc=90), \
'constants': {'XBLOCK': 8}, 'configs': [{(0,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'None of True', \
'autotune_hints': set(), 'no_x_dim': False, 'spill': None}
)
@triton.jit
def kernel(p, n, XBLOCK : tl.constexpr):
    tl.store(p + n, 0.0)
"""


def test_tables_hold_what_python_reads() -> None:
    found = 0
    for text in TEXTS:
        layout = kernel_layout(text)
        if layout is None:
            continue
        found += 1
        function = next(f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and len(f.decorator_list) > 1)
        decorator = function.decorator_list[0]
        assert isinstance(decorator, ast.Call)
        for keyword in decorator.keywords:
            value = literal(keyword.value)
            if isinstance(value, dict):
                read = dict(layout.tables[keyword.arg or ""])
                for name in ("device", "configs", "autotune_hints"):
                    read.pop(name, None)
                    value.pop(name, None)
                assert read == value
    assert found > 0.8 * len(TEXTS)


def test_declarations_are_those_of_a_text_that_is_parsed_as_a_whole() -> None:
    for text in TEXTS:
        if kernel_layout(text) is None:
            continue
        (laid_out,) = read_declarations(text)
        (parsed,) = read_declarations(text.replace("@triton_heuristics.", "@triton_heuristics. "))
        for name in (
            "name",
            "parameters",
            "constexpr_parameters",
            "heuristic",
            "signature",
            "constants",
            "line",
            "imports",
        ):
            assert getattr(laid_out, name) == getattr(parsed, name)
        for name, function in laid_out.functions.items():
            other = parsed.functions[name]
            assert [ast.dump(s, include_attributes=True) for s in function.body] == [
                ast.dump(s, include_attributes=True) for s in other.body
            ]
        assert read_metadata(text) == read_metadata(text.replace("filename=__file__", "filename=(__file__)"))


def test_words_of_python_in_strings_stay() -> None:
    layout = kernel_layout(TEXT)
    assert layout is not None
    assert layout.tables["inductor_meta"]["kernel_name"] == "None of True"
    assert layout.tables["inductor_meta"]["no_x_dim"] is False
    assert layout.tables["inductor_meta"]["spill"] is None
    assert (layout.heuristic, layout.function_line) == ("reduction", 11)
    assert read_declarations(TEXT)[0].constants == {"XBLOCK": 8}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("filename=__file__,\n", "filename=__file__\n"),  # a comma missing
        ("'x': 16", "'x': 016"),
        ("'x': 16", "'x' 16"),
        ("'x': 16", "'x': NaN"),
        ("'x': 16", "'x': true"),
        ("'x': 16", "'x': 16)"),
        ("{'x': 16", "{'x: 16"),
        ("'x': 16", "'x': 'a\\'b'"),
        ("'x': 16", "'x': print()"),
        ("'x': 16", "'x': \0"),
        ("'x': 16", "'x\0': 16"),
        ("'x': 16", "'x': 16\r"),
        ("filename=__file__", "filename=print()"),
        ("filename=__file__", "size_hints={}"),
        ("filename=__file__", "lambda=0"),
        ("import triton\n", "text = '''\n"),
        ("import triton\n", "@triton_heuristics.pointwise()\n@triton.jit\ndef other():\n    pass\n"),
        ("@triton.jit\n", "@other\n@triton.jit\n"),
    ],
)
def test_any_other_text_has_no_layout(before: str, after: str) -> None:
    assert before in TEXT
    assert kernel_layout(TEXT.replace(before, after, 1)) is None


@pytest.mark.parametrize("before", ["import triton\n", "    tl.store(p + n, 0.0)\n"])
@pytest.mark.parametrize("after", ["def (\n", "x = (\n", "if x:\n", "x = \\\n"])
def test_damage_around_the_decorator_leaves_the_text_to_the_parser(before: str, after: str) -> None:
    text = TEXT.replace(before, after, 1)
    assert _read_layout(text, kernel_layout(text)) is None


def test_a_rewritten_kernel_is_read_anew_and_not_as_it_was() -> None:
    (kernel,) = facts("layernorm.unbounded").kernels
    wider = replace(kernel, source=kernel.source.replace("xnumel, r0_numel", "wide_xnumel, r0_numel"))
    assert wider.layout is kernel.layout is not None
    read = KernelReader({}).read(wider)
    assert isinstance(read, Readable) and "wide_xnumel" in read.declaration.parameters
    as_int64 = kernel.source.replace("'xnumel': 'i32'", "'xnumel': 'i64'")
    assert read_metadata(as_int64, kernel.layout).signature["xnumel"] == "i64"
