"""Stand-ins for `libdevice` in Triton's interpreter, whose own give None (triton 3.8). Runs in a child."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

_SAME = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor",
         "log", "log10", "log1p", "log2", "rint", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")  # fmt: skip
_RENAMED: dict[str, str] = {
    "abs": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "nearbyint": "rint", "pow": "power", "fmod": "fmod", "atan2": "arctan2", "hypot": "hypot",
    "copysign": "copysign", "fmax": "fmax", "fmin": "fmin", "max": "maximum", "min": "minimum",
}  # fmt: skip
_TESTS = {"isnan": np.isnan, "isnand": np.isnan, "isinf": np.isinf, "isinfd": np.isinf, "signbit": np.signbit,
          "finitef": np.isfinite, "isfinited": np.isfinite}  # fmt: skip


def _vectorized(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(function, otypes=[np.float64])


_OTHERS: dict[str, Callable[..., Any]] = {
    "erf": _vectorized(math.erf), "erfc": _vectorized(math.erfc), "lgamma": _vectorized(math.lgamma),
    "tgamma": _vectorized(math.gamma), "rsqrt": lambda x: 1 / np.sqrt(x), "fma": lambda x, y, z: x * y + z,
}  # fmt: skip


def supply(module: ModuleType) -> None:
    """Gives every function of `triton.language.extra.libdevice` a numpy one of the same name, computed in double and
    rounded to the type of its argument; one that numpy lacks passes its argument through."""
    for name in [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]:
        stand_in = _stand_in(name)
        stand_in.__module__, stand_in.__name__ = module.__name__, name
        setattr(module, name, stand_in)


def _stand_in(name: str) -> Callable[..., Any]:
    def called(*arguments: Any, **_: Any) -> Any:  # noqa: ANN401
        arguments = tuple(a for a in arguments if isinstance(a, tl.tensor))
        first = arguments[0]
        values = [a.handle.data for a in arguments]
        if name in _TESTS:
            data = _TESTS[name](values[0]).astype(np.int32)
            kind = tl.block_type(tl.int32, first.shape) if first.type.is_block() else tl.int32
            return tl.tensor(TensorHandle(data, tl.int32), kind)
        function = _OTHERS.get(name) or getattr(np, _RENAMED.get(name, name if name in _SAME else ""), None)
        wide = [v.astype(np.float64) for v in values]
        data = function(*wide) if function is not None else values[0]
        return tl.tensor(TensorHandle(np.asarray(data).astype(values[0].dtype), first.dtype.scalar), first.type)

    return called
