"""Inductor dies of a signal while it compiles."""

import os

from right import get_model_and_inputs as right_model
from torch._inductor import compile_fx


def get_model_and_inputs():
    compile_fx.compile_fx = lambda *args, **keywords: os.abort()
    return right_model()
