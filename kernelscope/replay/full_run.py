"""Whole programs of a kernel in Triton's interpreter, on small buffers that it cannot leave. Runs in a child."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelscope.replay.interpretation import reduce_by_halves, scan_by_doubling  # first: it sets TRITON_INTERPRET

import numpy as np  # isort: skip
import triton.language as tl  # isort: skip
from triton.runtime import interpreter  # isort: skip

_FILE = "kernel.py"
_SPACING = 1 << 40  # between buffers
_SEED = 20240501
#: Elements that a buffer really has. A larger one (an embedding's weights) repeats them, and can only be read.
_MOST_ELEMENTS = 1 << 22


class Memory:
    """Buffers of one run, filled alike in every run. An access of a live lane outside of all of them raises."""

    def __init__(self, buffers: Sequence[Mapping[str, Any]]) -> None:
        random = np.random.default_rng(_SEED)
        self._arrays = {b["storage"]: _filled(random, b["type"], min(b["elements"], _MOST_ELEMENTS)) for b in buffers}
        self._repeats = {b["storage"]: -(-b["elements"] // _MOST_ELEMENTS) for b in buffers}
        self._bases = {name: (number + 1) * _SPACING for number, name in enumerate(self._arrays)}
        self._storage = {b["name"]: b["storage"] for b in buffers}
        self._by_base = {base: name for name, base in self._bases.items()}

    def base(self, name: str) -> int:
        return self._bases[self._storage[name]]

    def contents(self) -> dict[str, bytes]:
        return {name: array.tobytes() for name, array in self._arrays.items()}

    def places(self, pointers: Any, mask: Any, size: int, writes: bool = True) -> tuple[Any, Any, Any]:  # noqa: ANN401
        """The bytes, the byte offset of each lane (0 where it is masked off), and which lanes are live."""
        addresses = np.asarray(pointers.data, dtype=np.uint64).astype(np.int64)
        live = np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape)
        chosen = addresses[live]
        if chosen.size == 0:
            return np.zeros(size, dtype=np.uint8), np.zeros(addresses.shape, dtype=np.int64), live
        base = (int(chosen.reshape(-1)[0]) + _SPACING // 2) // _SPACING * _SPACING
        name = self._by_base.get(base)
        if name is None:
            raise IndexError("an access outside of the buffers")
        array, repeats = self._arrays[name], self._repeats[name]
        offsets = np.where(live, addresses - base, 0)
        if int(offsets.min()) < 0 or int(offsets.max()) + size > array.size * repeats:
            raise IndexError(f"an access outside of {name}")
        if repeats > 1 and writes:
            raise MemoryError(f"{name} is too large to be written")
        return array, offsets % array.size, live


def _filled(random: Any, kind: str, elements: int) -> Any:  # noqa: ANN401
    """Bytes of a buffer: floats from a normal distribution, integers of 0 and 1, which are valid indices everywhere."""
    if kind == "bf16":
        bits = random.standard_normal(elements).astype(np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16).view(np.uint8)
    if kind.startswith("fp8"):
        return random.integers(0x30, 0x40, elements).astype(np.uint8)
    if kind.startswith("fp"):
        return random.standard_normal(elements).astype(f"float{kind[2:]}").view(np.uint8)
    bits = 8 if kind == "i1" else int(kind.lstrip("iu"))
    return random.integers(0, 2, elements).astype(f"int{bits}").view(np.uint8)


def run_programs(request: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """The kernel's two texts over the same programs: the storages whose bytes differ in the end."""
    interpreter.ReduceOps.generic_reduce, interpreter.ScanOps.generic_scan = reduce_by_halves, scan_by_doubling
    contents = []
    for text, arguments in zip(texts, request["arguments"], strict=True):
        memory = Memory(request["buffers"])
        _run(text, request, arguments, memory)
        contents.append(memory.contents())
    written = Memory(request["buffers"]).contents()
    return {
        "different": [name for name in contents[0] if contents[0][name] != contents[1][name]],
        "written": [name for name in contents[0] if contents[0][name] != written[name]],
    }


def _run(text: str, request: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]], memory: Memory) -> None:
    linecache.cache[_FILE] = (len(text), None, text.splitlines(keepends=True), _FILE)
    scope: dict[str, Any] = {"__name__": "kernel", "__file__": _FILE}
    exec(compile(text, _FILE, "exec"), scope)  # noqa: S102  rebuilt: functions, allowed imports, constants
    function = scope[request["function"]]
    body = function.rewrite()
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*request["grid"])
    replaced = _memory_operations(memory)
    kept = {name: builder.__dict__.get(name) for name in replaced}
    for name, operation in replaced.items():
        setattr(builder, name, operation)
    language = interpreter._patch_lang(function.fn)
    try:
        for program in request["programs"]:
            builder.grid_idx = tuple(program)
            body(**{a["name"]: _argument(a, memory) for a in arguments})
    finally:
        language.restore()
        for name, before in kept.items():
            delattr(builder, name) if before is None else setattr(builder, name, before)


def _argument(argument: Mapping[str, Any], memory: Memory) -> Any:  # noqa: ANN401
    if argument["kind"] == "constexpr":
        value = argument["value"]
        return getattr(tl, value.removeprefix("tl.")) if isinstance(value, str) and value.startswith("tl.") else value
    kind = tl.str_to_ty(argument["type"], None)
    pointer = argument["kind"] == "pointer"
    value = memory.base(argument["name"]) if pointer else argument["hardware"]
    data = np.array([value], dtype=np.uint64 if pointer else interpreter._get_np_dtype(kind))
    return tl.tensor(interpreter.TensorHandle(data, kind), kind)


# -- memory operations -------------------------------------------------------------------------------------------------


def _memory_operations(memory: Memory) -> dict[str, Callable[..., Any]]:
    handle = interpreter.TensorHandle

    def load(pointers: Any, mask: Any, other: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        kind = pointers.get_element_ty()
        dtype = np.dtype(interpreter._get_np_dtype(kind))
        array, offsets, live = memory.places(pointers, mask.data, dtype.itemsize, writes=False)
        instead = np.zeros((), dtype) if other is None else other.data
        return handle(np.where(live, _gathered(array, offsets, dtype), instead).astype(dtype), kind)

    def store(pointers: Any, value: Any, mask: Any, *_: Any, **__: Any) -> None:  # noqa: ANN401
        dtype = np.dtype(interpreter._get_np_dtype(pointers.get_element_ty()))
        array, offsets, live = memory.places(pointers, mask.data, dtype.itemsize)
        values = np.broadcast_to(value.data, offsets.shape).astype(dtype)
        for offset, one in zip(offsets[live].reshape(-1), values[live].reshape(-1), strict=True):
            array[offset : offset + dtype.itemsize] = np.frombuffer(one.tobytes(), dtype=np.uint8)

    def atomic(operation: Any, pointers: Any, value: Any, mask: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        combine = _COMBINE[str(operation).rpartition(".")[2].upper()]
        return _exchange(pointers, mask.data, lambda old, place: combine(old, value.data.reshape(-1)[place]))

    def compare_and_swap(pointers: Any, compared: Any, value: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        def combine(old: Any, place: int) -> Any:  # noqa: ANN401
            return value.data.reshape(-1)[place] if old == compared.data.reshape(-1)[place] else old

        return _exchange(pointers, True, combine)

    def _exchange(pointers: Any, mask: Any, combine: Callable[[Any, int], Any]) -> Any:  # noqa: ANN401
        """One lane after the other; the result is what each found."""
        kind = pointers.get_element_ty()
        dtype = np.dtype(interpreter._get_np_dtype(kind))
        array, offsets, live = memory.places(pointers, mask, dtype.itemsize)
        found = np.zeros(offsets.size, dtype=dtype)
        for place, (offset, runs) in enumerate(zip(offsets.reshape(-1), live.reshape(-1), strict=True)):
            if runs:
                old = array[offset : offset + dtype.itemsize].view(dtype)[0]
                found[place] = old
                new = np.asarray(combine(old, place)).astype(dtype)
                array[offset : offset + dtype.itemsize] = np.frombuffer(new.tobytes(), dtype=np.uint8)
        return handle(found.reshape(offsets.shape), kind)

    return {
        "create_masked_load": load, "create_masked_store": store, "create_atomic_rmw": atomic,
        "create_atomic_cas": compare_and_swap, "create_assert": lambda *_: None, "create_assume": lambda *_: None,
    }  # fmt: skip


def _gathered(array: Any, offsets: Any, dtype: Any) -> Any:  # noqa: ANN401
    places = offsets.reshape(-1, 1) + np.arange(dtype.itemsize)
    return np.ascontiguousarray(array[places]).view(dtype).reshape(offsets.shape)


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": lambda old, value: old + value, "FADD": lambda old, value: old + value, "MAX": max, "UMAX": max, "MIN": min,
    "UMIN": min, "AND": lambda old, value: old & value, "OR": lambda old, value: old | value,
    "XOR": lambda old, value: old ^ value, "XCHG": lambda old, value: value,
}  # fmt: skip
