"""One program of a kernel in Triton's interpreter, memory operations recorded and nothing dereferenced.

Needs nothing of Kernelscope, so that `kernelscope replay --script` can write it into a script of its own.

The program runs twice. On the hardware's side integers are as wide as Triton makes them. On the exact side everything that
Triton gives 32 bits is held in 64, so that nothing wraps: what then differs is the wrap-around and nothing else."""

from __future__ import annotations

import ast
import linecache
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

_FILE = "kernel.py"
_RANGES = frozenset({"range", "tl.range", "triton.language.range"})
_RANGE = "range_of_the_witness"
_SPACING = 1 << 52  # between buffers: farther than any offset reaches
_MOST_ITERATIONS, _MOST_LEADING = 2, 32
_SECONDS = 5
#: After as many equal accesses in a row a program waits for another one; this is what it then reads (the flag of
#: `exclusive_scan_decoupled_lookback` in torch/_inductor/runtime/triton_helpers.py for a prefix that is complete).
_MOST_WAITS, _READY = 16, 2
_NARROW = ("int32", "uint32", "int16", "uint16", "int8", "uint8")


class Recorder:
    """Stands in for memory: what is loaded is a value of the witness, or 0."""

    def __init__(self, request: Mapping[str, Any], exact: bool) -> None:
        self.exact = exact
        self.loaded: Mapping[str, int] = request["loaded"]
        self.lane = tuple(request["lane"])
        self.loops: Mapping[str, int] = request["loops"]
        self.names = [a["name"] for a in request["arguments"] if a["kind"] == "pointer"]
        self.accesses: list[dict[str, Any]] = []
        self.ranges: list[dict[str, int]] = []

    def base(self, name: str) -> int:
        return (self.names.index(name) + 1) * _SPACING

    def access(self, kind: str, pointers: Any, mask: Any, value: Any = None) -> str | None:  # noqa: ANN401  TensorHandle
        addresses = np.asarray(pointers.data, dtype=np.uint64)
        live = np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape)
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        lane = self.lane if len(self.lane) == addresses.ndim else (0,) * addresses.ndim
        inside = all(a < b for a, b in zip(lane, addresses.shape, strict=True))
        name = self._buffer(int(addresses.reshape(-1)[0]))
        offset = None
        if inside and bool(live[lane]) and name is not None:
            distance = (int(addresses[lane]) - self.base(name) + (1 << 63)) % (1 << 64) - (1 << 63)
            offset = distance // size
        stored = None
        if offset is not None and value is not None and value.dtype.scalar.is_int():
            bits = pointers.get_element_ty().primitive_bitwidth
            stored = int(np.broadcast_to(value.data, addresses.shape)[lane]) & (1 << bits) - 1  # as the element holds it
        self.accesses.append({"line": _line(), "kind": kind, "buffer": name, "offset": offset, "value": stored})
        return name

    def _buffer(self, address: int) -> str | None:
        """The buffer that an address was made from: the nearest base, since bases are far apart."""
        number = round(address / _SPACING)
        return self.names[number - 1] if 0 < number <= len(self.names) else None

    def value(self, name: str | None, kind: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
        value = self.loaded.get(name or "", 0)
        if (
            len(self.accesses) > _MOST_WAITS
            and len({(a["line"], a["offset"]) for a in self.accesses[-_MOST_WAITS:]}) == 1
        ):
            value = _READY
        return np.full(shape, value, dtype=interpreter._get_np_dtype(kind))


def _line() -> int:
    """The innermost line of the kernel's text that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _FILE:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def run_sides(text: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The accesses and loops of both sides; `text` is executed."""
    signal.signal(signal.SIGALRM, _too_long)
    interpreter.ReduceOps.generic_reduce, interpreter.ScanOps.generic_scan = reduce_by_halves, scan_by_doubling
    text = _with_own_ranges(text)
    linecache.cache[_FILE] = (len(text), None, text.splitlines(keepends=True), _FILE)
    loops = _loop_names(text)
    sides = {}
    for exact in (False, True):
        scope: dict[str, Any] = {"__name__": "kernel", "__file__": _FILE}
        exec(compile(text, _FILE, "exec"), scope)  # noqa: S102  what is asked for
        sides["exact" if exact else "hardware"] = _one_side(scope, request, loops, exact)
    return sides


def _with_own_ranges(text: str) -> str:
    """The text with the `range` of each `for` exchanged, line by line: triton's own, and Python's, run to the end."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    calls = [
        node.iter.func for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) in _RANGES
    ]  # fmt: skip
    for function in sorted(calls, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[function.lineno - 1]
        lines[function.lineno - 1] = line[: function.col_offset] + _RANGE.encode() + line[function.end_col_offset :]
    return b"".join(lines).decode()


def _loop_names(text: str) -> dict[int, str]:
    """The counter's name of the `for` on each line."""
    loops = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For))
    return {node.iter.lineno: node.target.id for node in loops if isinstance(node.target, ast.Name)}


def reduce_by_halves(self: Any, values: Any) -> list[Any]:  # noqa: ANN401  in place of ReduceOps.generic_reduce
    """A reduction with any combine function, half the block with the other half: a few calls for thousands of elements."""
    parts, axis = self.unravel(values, self.axis)
    types = [part.dtype for part in parts]
    shape = parts[0].handle.data.shape
    while parts[0].handle.data.shape[axis] > 1:
        halves = [np.split(part.handle.data, 2, axis=axis) for part in parts]
        first, second = ([self.to_tensor(half[n], t) for half, t in zip(halves, types, strict=True)] for n in (0, 1))
        parts = _tuple(self.combine_fn.fn(*first, *second))
    results = [part.handle.data for part in parts]
    if not self.keep_dims:
        results = [data.reshape(shape[:axis] + shape[axis + 1 :]) for data in results]
    elif self.axis is None:
        results = [data.reshape((1,) * values[0].handle.data.ndim) for data in results]
    return [self.to_tensor(d if d.shape else d.item(), t) for d, t in zip(results, types, strict=True)]


def scan_by_doubling(self: Any, values: Any) -> list[Any]:  # noqa: ANN401  in place of ScanOps.generic_scan
    """A scan with any combine function: each element with the one 1, 2, 4, ... places before it."""
    types = [value.dtype for value in values]
    results = [value.handle.data for value in values]
    length = results[0].shape[self.axis]
    place = np.arange(length).reshape([-1 if axis == self.axis else 1 for axis in range(results[0].ndim)])
    distance = 1
    while distance < length:
        before = [self.to_tensor(np.roll(r, distance, self.axis), t) for r, t in zip(results, types, strict=True)]
        here = [self.to_tensor(r, t) for r, t in zip(results, types, strict=True)]
        combined = _tuple(self.combine_fn.fn(*before, *here))
        results = [np.where(place >= distance, c.handle.data, r) for c, r in zip(combined, results, strict=True)]
        distance *= 2
    return [self.to_tensor(r, t) for r, t in zip(results, types, strict=True)]


def _tuple(result: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(result) if isinstance(result, tuple | tl.tuple) else (result,)


def _one_side(
    scope: dict[str, Any], request: Mapping[str, Any], loops: Mapping[int, str], exact: bool
) -> dict[str, Any]:
    recorder = Recorder(request, exact)
    function = scope[request["function"]]
    body = function.rewrite()
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*request["grid"])
    builder.grid_idx = tuple(request["program_id"])
    undo = _intercept(builder, recorder)
    language = interpreter._patch_lang(function.fn)
    scope[_RANGE] = _chosen_range(recorder, loops)
    failure = None
    signal.alarm(_SECONDS)
    try:
        body(**{a["name"]: _argument(a, recorder) for a in request["arguments"]})
    except Exception as error:  # noqa: BLE001  what was recorded until then stands
        failure = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    finally:
        signal.alarm(0)
        language.restore()
        undo()
    return {"accesses": recorder.accesses, "loops": recorder.ranges, "failure": failure}


def _argument(argument: Mapping[str, Any], recorder: Recorder) -> Any:  # noqa: ANN401
    if argument["kind"] == "constexpr":
        return _constexpr(argument["value"])
    kind = tl.str_to_ty(argument["type"], None)
    if argument["kind"] == "pointer":
        return tl.tensor(
            interpreter.TensorHandle(np.array([recorder.base(argument["name"])], dtype=np.uint64), kind), kind
        )
    value = argument["exact"] if recorder.exact else argument["hardware"]
    data = np.array([value], dtype=np.int64 if recorder.exact else interpreter._get_np_dtype(kind))
    return tl.tensor(interpreter.TensorHandle(data, kind), kind)


def _constexpr(value: object) -> object:
    return getattr(tl, value.removeprefix("tl.")) if isinstance(value, str) and value.startswith("tl.") else value


def _chosen_range(recorder: Recorder, loops: Mapping[int, str]) -> Any:  # noqa: ANN401
    """Iterations up to the witness's, since pointers may be moved in each; only that one where it is far; else the first."""

    def chosen(first: Any, end: Any = None, step: Any = 1, **_: Any) -> Iterator[Any]:  # noqa: ANN401
        first, end = (0, first) if end is None else (first, end)
        whole = range(_number(first), _number(end), _number(step))
        frame = sys._getframe(1)
        recorder.ranges.append(
            {
                "line": frame.f_lineno, "start": whole.start, "end": whole.stop, "step": whole.step,
                "bits": max(map(_bits, (first, end, step))),
            }
        )  # fmt: skip
        wanted = recorder.loops.get(loops.get(frame.f_lineno, ""))
        if wanted is not None:
            place = whole.index(wanted) if wanted in whole else -1
            yield from whole[: place + 1] if place < _MOST_LEADING else [wanted]
            return
        yield from whole[:_MOST_ITERATIONS]

    return chosen


def _number(value: Any) -> int:  # noqa: ANN401
    value = getattr(value, "value", value)
    handle = getattr(value, "handle", None)
    return int(handle.data.reshape(-1)[0]) if handle is not None else int(value)


def _bits(value: Any) -> int:  # noqa: ANN401
    """Width of a loop's bound in Triton: that of its type, for a plain number the least of 32 and 64 that holds it."""
    value = getattr(value, "value", value)
    kind = getattr(value, "dtype", None)
    if kind is not None:
        return int(kind.scalar.primitive_bitwidth)
    return 32 if -(1 << 31) <= int(value) < 1 << 31 else 64


def _intercept(builder: Any, recorder: Recorder) -> Any:  # noqa: ANN401
    """Replaces memory operations, and on the exact side the width of what is narrow; returns what undoes that."""
    handle = interpreter.TensorHandle
    kept: dict[str, Any] = {}

    def load(pointers: Any, mask: Any, other: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        name = recorder.access("load", pointers, mask.data)
        kind = pointers.get_element_ty()
        return handle(recorder.value(name, kind, pointers.data.shape), kind)

    def store(pointers: Any, value: Any, mask: Any, *_: Any, **__: Any) -> None:  # noqa: ANN401
        recorder.access("store", pointers, mask.data, value)

    def atomic(_: Any, pointers: Any, value: Any, mask: Any, *more: Any) -> Any:  # noqa: ANN401
        name = recorder.access("atomic", pointers, mask.data)
        return handle(recorder.value(name, value.dtype.scalar, pointers.data.shape), value.dtype.scalar)

    def compare_and_swap(pointers: Any, *more: Any) -> Any:  # noqa: ANN401
        name = recorder.access("atomic", pointers, True)
        kind = pointers.get_element_ty()
        return handle(recorder.value(name, kind, pointers.data.shape), kind)

    def add_pointer(pointers: Any, offset: Any) -> Any:  # noqa: ANN401
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        return handle(pointers.data + (offset.data.astype(np.int64) * size).astype(np.uint64), pointers.dtype)

    def elementwise(_: Any, __: Any, ___: Any, arguments: Any, kind: Any, ____: Any) -> Any:  # noqa: ANN401
        return handle(np.ones(arguments[0].data.shape, dtype=interpreter._get_np_dtype(kind)), kind.scalar)

    replaced = {
        "create_masked_load": load, "create_masked_store": store, "create_atomic_rmw": atomic,
        "create_atomic_cas": compare_and_swap, "create_addptr": add_pointer, "create_extern_elementwise": elementwise,
        "create_assert": lambda *_: None, "create_assume": lambda *_: None,
    }  # fmt: skip
    if recorder.exact:
        narrow = interpreter._get_np_dtype

        def bitcast(value: Any, kind: Any) -> Any:  # noqa: ANN401
            bits = value.data.astype(narrow(value.dtype.scalar)).view(narrow(kind.scalar))
            return handle(bits.astype(_wide(bits.dtype)) if kind.scalar.is_int() else bits, kind.scalar)

        def upper_half(left: Any, right: Any) -> Any:  # noqa: ANN401
            bits = left.dtype.scalar.primitive_bitwidth
            mask = (1 << bits) - 1
            whole = (left.data.astype(object) & mask) * (right.data.astype(object) & mask) >> bits
            return handle(whole.astype(left.data.dtype), left.dtype.scalar)

        replaced |= {
            "create_bitcast": bitcast, "create_umulhi": upper_half,
            "create_get_program_id": lambda axis: handle(np.array([builder.grid_idx[axis]], dtype=np.int64), tl.int32),
            "create_get_num_programs": lambda axis: handle(
                np.array([builder.grid_dim[axis]], dtype=np.int64), tl.int32
            ),
            "create_make_range": lambda _, start, stop: handle(np.arange(start, stop, dtype=np.int64), tl.int32),
        }
    for name, function in replaced.items():
        kept[name] = builder.__dict__.get(name)
        setattr(builder, name, function)
    widths, fits = interpreter._get_np_dtype, interpreter._validate_np_data_size
    if recorder.exact:
        interpreter._validate_np_data_size = lambda *_: True
        interpreter._get_np_dtype = lambda kind: _wide(widths(kind)) if kind.scalar.is_int() else widths(kind)

    def undo() -> None:
        interpreter._get_np_dtype, interpreter._validate_np_data_size = widths, fits
        for name, before in kept.items():
            if before is None:
                delattr(builder, name)
            else:
                setattr(builder, name, before)

    return undo


def _wide(kind: Any) -> Any:  # noqa: ANN401
    return np.dtype(np.int64) if kind.name in _NARROW else kind


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"it takes longer than {_SECONDS} s")
