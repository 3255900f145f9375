"""Launches and the sizes they are made of, however they were written down.

`read_launch_file` reads a kernel's launch facts from TOML and `read_python_wrapper` an `output_code.py`; C++ wrappers
are read by `kernelscope.cpp_wrapper`. All give `WrapperFacts`."""

from kernelscope.launches.launch_file import read_launch_file
from kernelscope.launches.python_wrapper import read_python_wrapper

__all__ = ["read_launch_file", "read_python_wrapper"]
