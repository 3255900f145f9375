"""Inductor writes exp2 where the model has exp."""

from right import get_model_and_inputs as right_model
from torch._inductor.codegen import cpp


def get_model_and_inputs():
    for overrides in (cpp.CppOverrides, cpp.CppVecOverrides):
        for name in ("exp",):
            setattr(overrides, name, staticmethod(overrides.exp2))
    return right_model()
