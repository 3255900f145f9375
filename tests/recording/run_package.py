"""Runs packages under the recording driver. usage: run python run_package.py REQUESTS.json

Each request is a package, the sizes and dtypes of its inputs, and a label that is written before its launches."""

import json
import sys

import torch

torch.cuda._lazy_init = lambda: None
torch.cuda.is_available = lambda: True
torch.cuda.get_device_capability = lambda *a: (9, 0)
torch.backends.cudnn.enabled = False

models = {}
with open(sys.argv[1], encoding="utf-8") as file:
    requests = json.load(file)
for request in requests:
    path = request["package"]
    if path not in models:
        models[path] = torch._inductor.aoti_load_package(path)
    inputs = [
        torch.empty_strided(one["sizes"], one["strides"], dtype=getattr(torch, one["dtype"]), device="cuda")
        for one in request["inputs"]
    ]
    print("request", request["label"], file=sys.stderr, flush=True)
    models[path](*inputs)
    print("done", request["label"], file=sys.stderr, flush=True)
