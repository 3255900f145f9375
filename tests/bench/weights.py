"""A package with gigabytes of sparse weights beside the same without: time and peak memory in a fresh process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

_MEASURE = """
import json, resource, sys, time
from kernelscope.audit import audit
start = time.process_time()
audit([sys.argv[1]])
print(json.dumps([time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def add_sparse_weights(source: Path, target: Path, size: int) -> None:
    """A copy of a package with a member of `size` zero bytes that take no room on disk. Its checksum is wrong on
    purpose: who reads it fails."""
    shutil.copy(source, target)
    with zipfile.ZipFile(target, "a", allowZip64=True) as archive:
        stem = archive.namelist()[0].partition("/")[0]
        info = zipfile.ZipInfo(f"{stem}/data/weights/weight_0")
        info.file_size = info.compress_size = size
        info.CRC = 1
        file = archive.fp
        assert file is not None
        file.seek(archive.start_dir)
        info.header_offset = file.tell()
        file.write(info.FileHeader(zip64=True))
        archive.start_dir = file.tell() + size
        file.truncate(archive.start_dir)
        archive.filelist.append(info)
        archive.NameToInfo[info.filename] = info
        archive._didModify = True


def time_and_peak(path: Path) -> tuple[float, float]:
    """Processor seconds of an audit and the process's peak resident megabytes."""
    run = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True)
    taken, peak = json.loads(run.stdout)
    return taken, peak
