"""Inductor's helper functions for kernels, imported without the rest of torch where that is possible.

`import torch` takes seconds and half a gigabyte; the helpers need Triton and nothing of it. For use in child processes only:
afterwards `torch` there may be a name and a folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HELPERS = "torch._inductor.runtime.triton_helpers"
_PARENTS = ("torch", "torch._inductor", "torch._inductor.runtime")


def import_helpers() -> ModuleType:
    """The module of helpers; ImportError when torch is not installed."""
    known = sys.modules.get(HELPERS)
    if known is not None:
        return known
    if "torch" not in sys.modules and (folder := _torch_folder()) is not None:
        before = set(sys.modules)
        _place_hollow_parents(folder)
        try:
            return importlib.import_module(HELPERS)
        except Exception:  # noqa: BLE001  a torch whose helpers need more of it: all of it then
            for name in set(sys.modules) - before:
                if name.partition(".")[0] == "torch":
                    del sys.modules[name]
    importlib.import_module("torch")
    return importlib.import_module(HELPERS)


def torch_version() -> str:
    """The version of the torch whose helpers were imported."""
    return str(importlib.import_module("torch.version").__version__)


def _torch_folder() -> Path | None:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _place_hollow_parents(folder: Path) -> None:
    """Packages whose own code is not run, so that only the modules that are asked for are."""
    parent: ModuleType | None = None
    for name in _PARENTS:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        module.__spec__ = importlib.util.spec_from_loader(name, None, is_package=True)
        sys.modules[name] = module
        if parent is not None:
            setattr(parent, name.rpartition(".")[2], module)
        parent = module
