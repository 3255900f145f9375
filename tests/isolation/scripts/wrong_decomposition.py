"""AOTAutograd gets a decomposition of silu that is wrong: x * sigmoid(-x)."""

import functools

import torch
from right import get_model_and_inputs as right_model
from torch._dynamo.backends import common
from torch._functorch import aot_autograd


def wrong_silu(x):
    return x * torch.sigmoid(-x)


def get_model_and_inputs():
    table = {torch.ops.aten.silu.default: wrong_silu}
    simplified = aot_autograd.aot_module_simplified

    @functools.wraps(simplified)
    def with_wrong_silu(*args, **keywords):
        return simplified(*args, **{**keywords, "decompositions": (keywords.get("decompositions") or {}) | table})

    common.aot_module_simplified = with_wrong_silu
    return right_model()
