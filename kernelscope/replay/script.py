"""A reproduction as one script: the kernel, the witness and the interpreter's recorder, without Kernelscope."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat

from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.build.restricted_module import RestrictionError, restricted_module
from kernelscope.errors import KernelscopeError
from kernelscope.paths import StrPath
from kernelscope.replay.replaying import chosen_finding, replay_request

_PARTS = ("interpretation.py", "libdevice.py")
_MAIN = '''

def main() -> None:
    """Prints each access of the witness's lane: exact offset, and the hardware's."""
    from triton.language.extra import libdevice

    np.seterr(all="ignore")
    supply(libdevice)
    sides = run_sides(KERNEL, REQUEST)
    print(f"{'line':>5} {'access':7} {'buffer':20} {'exact':>22} {'hardware':>22}")
    wrong = 0
    for number in range(max(len(sides[side]["accesses"]) for side in sides)):
        rows = [sides[side]["accesses"][number : number + 1] for side in ("exact", "hardware")]
        one = (rows[0] or rows[1])[0]
        exact, hardware = (row[0]["offset"] if row else None for row in rows)
        elements = ELEMENTS.get(one["buffer"])
        outside = hardware is not None and (hardware < 0 or elements is not None and hardware >= elements)
        verdict = "" if exact == hardware else "  outside of the buffer" if outside else "  differs"
        wrong += exact != hardware
        shown = ["masked off" if offset is None else offset for offset in (exact, hardware)]
        print(f"{one['line']:>5} {one['kind']:7} {one['buffer'] or '?':20} {shown[0]:>22} {shown[1]:>22}{verdict}")
    for loop in sides["hardware"]["loops"]:
        print(f"loop at line {loop['line']}: range({loop['start']}, {loop['end']}, {loop['step']}) in int{loop['bits']}")
    print("reproduced" if wrong else "not reproduced: the lane does the same on both sides")


if __name__ == "__main__":
    main()
'''


def replay_script(
    path: StrPath, finding: str, *, device_memory: int | None = DEFAULT_DEVICE_MEMORY, launch_file: StrPath | None = None
) -> str:
    """The text of a script that runs a finding's witness; it needs triton (with what the kernel imports) and numpy.

    KernelscopeError for an id that there is not, or for a finding that no program of the kernel shows."""
    path, launch_file = os.fspath(path), None if launch_file is None else os.fspath(launch_file)
    result = audit([path], device_memory=device_memory, launch_file=launch_file)
    kernel, found = chosen_finding(path, result, finding)
    request, elements = replay_request(path, result, found.id, launch_file=launch_file)
    try:
        module = restricted_module(request["source"])
    except RestrictionError as error:
        raise KernelscopeError(f"{found.id} cannot be replayed: {error}", where=path) from None
    asked = {key: value for key, value in request.items() if key != "source"}
    title = f"{found.id} of {kernel.name}: {found.explanation}"
    return "\n".join((_header(title), *map(_part, _PARTS), _constants(module.text, asked, elements), _MAIN))


def _header(title: str) -> str:
    text = title.replace("\\", "\\\\").replace('"', "'")
    return (
        f'"""{text}\n\nWritten by kernelscope replay --script. Needs triton and numpy, and no GPU."""\n\n'
        "from __future__ import annotations\n"
    )


def _part(name: str) -> str:
    """A module of this package without its docstring and its first import, which the script has already."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    text = re.sub(r'\A""".*?"""\n', "", text, flags=re.DOTALL)
    return text.replace("from __future__ import annotations\n", "", 1).strip("\n") + "\n"


def _constants(kernel: str, request: Mapping[str, object], elements: Mapping[str, int]) -> str:
    """The kernel as a literal that is readable where it can be."""
    literal = f"r'''\n{kernel}'''[1:]" if "'''" not in kernel and not kernel.endswith("\\") else repr(kernel)
    return f"KERNEL = {literal}\nREQUEST = {pformat(request, width=120)}\nELEMENTS = {pformat(dict(elements), width=120)}\n"
