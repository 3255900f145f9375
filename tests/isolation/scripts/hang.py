"""Inductor never ends."""

import time

from right import get_model_and_inputs as right_model
from torch._inductor import compile_fx


def get_model_and_inputs():
    compile_fx.compile_fx = lambda *args, **keywords: time.sleep(10_000)
    return right_model()
