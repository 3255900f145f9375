"""Audits inputs and prints, as JSON, everything that the interpreter was made to do meanwhile but read and parse.

`python -m tests.audit.watched_audit HARMLESS PLANTED`: two folders with the same inputs, the second with code planted in
them. The first is audited unwatched, so that Kernelscope's own imports are over before the watch begins."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kernelscope.audit import audit

#: Events that come with running code, starting programs, talking to others or changing files.
_FORBIDDEN = (
    "exec", "import", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.putenv", "os.remove",
    "os.rename", "os.mkdir", "os.chmod", "os.link", "os.symlink", "socket.", "pickle.", "marshal.", "ctypes.", "code.__new__",
    "shutil.", "tempfile.", "urllib.", "webbrowser.", "builtins.input", "function.__new__",
)  # fmt: skip


class Watch:
    """An audit hook (PEP 578) that can be turned on and off; it cannot be removed."""

    def __init__(self) -> None:
        self.on = False
        self.events: list[str] = []
        sys.addaudithook(self._seen)

    def _seen(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or event.startswith(_FORBIDDEN):
            self.on = False  # telling what happened raises events too
            self.events.append(f"{event} {arguments!r}"[:300])
            self.on = True


def audit_all(folder: Path) -> dict[str, str]:
    """Verdict, or error, of every input in a folder."""
    verdicts = {}
    for path in sorted(folder.iterdir()):
        launch = path.with_suffix(".toml")
        if path.suffix == ".toml" or path.name.startswith("planted_"):
            continue
        (artifact,) = audit([str(path)], launch_file=str(launch) if launch.exists() else None).artifacts
        verdicts[path.name] = artifact.error or artifact.verdict.word
    return verdicts


def main() -> None:
    watch = Watch()
    harmless = audit_all(Path(sys.argv[1]))
    watch.on = True
    planted = audit_all(Path(sys.argv[2]))
    watch.on = False
    heavy = [name for name in ("torch", "triton", "libcst", "z3", "numpy") if name in sys.modules]
    print(json.dumps({"harmless": harmless, "planted": planted, "events": watch.events, "heavy": heavy}))


if __name__ == "__main__":
    main()
