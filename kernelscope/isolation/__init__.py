"""The same inputs through eager, dynamo, AOTAutograd, Inductor and a package: `isolate(path) -> Isolation`.

What is compared is executed: the script, the exported program, the package. Each stage runs in a process of its own."""

from kernelscope.isolation.isolate import isolate

__all__ = ["isolate"]
