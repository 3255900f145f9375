"""Opens whatever Inductor left behind."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from kernelscope.artifact.contents import PATCH_RECORD, Artifact, ArtifactKind, Model, SourceFile, SourceRole
from kernelscope.artifact.folder import list_folder
from kernelscope.artifact.limits import DEFAULT_LIMITS, Limits
from kernelscope.artifact.local_file import kind_of, open_regular, reason_of
from kernelscope.artifact.members import Listing, MemberError, check_size, decode
from kernelscope.artifact.models import device_of, read_models
from kernelscope.artifact.remote_file import is_remote, open_remote
from kernelscope.artifact.roles import role_of
from kernelscope.artifact.zip_archive import list_zip
from kernelscope.errors import KernelscopeError

_ZIP_SUFFIXES = (".pt2", ".zip")
_ACCEPTED = "give a .pt2, an Inductor output folder, a wrapper or a Triton kernel"
_KINDS = {
    SourceRole.CPP_WRAPPER: ArtifactKind.CPP_WRAPPER,
    SourceRole.CPP_KERNEL: ArtifactKind.CPP_WRAPPER,
    SourceRole.PYTHON_WRAPPER: ArtifactKind.PYTHON_WRAPPER,
    SourceRole.KERNEL: ArtifactKind.KERNEL,
}


def open_artifact(path: str, limits: Limits = DEFAULT_LIMITS) -> Artifact:
    """What is in a package, folder, wrapper or kernel, read within `limits`; nothing of it is executed."""
    if is_remote(path):
        return _open_file(open_remote(path), path, limits)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        what = reason_of(error) if isinstance(error, OSError) else "no file name"
        raise KernelscopeError(what, where=path, try_this=_ACCEPTED) from None
    if stat.S_ISDIR(mode):
        return _assembled(path, list_folder(path, limits), limits)
    if not stat.S_ISREG(mode):
        raise KernelscopeError(f"{kind_of(mode)}, not a regular file", where=path, try_this=_ACCEPTED)
    try:
        return _open_file(open_regular(path), path, limits)
    except MemberError as error:
        raise KernelscopeError(str(error), where=path, try_this=_ACCEPTED) from None


def _open_file(file: BinaryIO, path: str, limits: Limits) -> Artifact:
    try:
        magic = file.read(4)
        file.seek(0)
    except OSError as error:
        file.close()
        raise KernelscopeError(reason_of(error), where=path) from None
    if not magic:
        file.close()
        raise KernelscopeError("the file is empty", where=path, try_this=_ACCEPTED)
    if magic[:2] == b"PK" or path.endswith(_ZIP_SUFFIXES):
        return _assembled(path, list_zip(file, path, limits), limits)
    return _single_source(file, path, limits)


def _assembled(path: str, listing: Listing, limits: Limits) -> Artifact:
    kind, models, damaged = read_models(listing, limits)
    if not models:
        reason = f" ({damaged[0].path}: {damaged[0].what})" if damaged else ""
        what = f"no AOTInductor model, wrapper or Triton kernel in it{reason}"
        raise KernelscopeError(what, where=path, try_this="compile it with torch._inductor.aoti_compile_and_package")
    patched = any(f"/{member.path}".endswith(f"/{PATCH_RECORD}") for member in listing.members)
    return Artifact(path, kind, models, damaged, patched)


def _single_source(file: BinaryIO, path: str, limits: Limits) -> Artifact:
    try:
        with file:
            check_size(file.seek(0, 2), limits.source)
            file.seek(0)
            data = file.read(limits.source + 1)
        check_size(len(data), limits.source)
        text = decode(data)
    except (MemberError, OSError) as error:
        raise KernelscopeError(f"no source: {error}", where=path, try_this=_ACCEPTED) from None
    role = role_of(path, text)
    if role is None:
        raise KernelscopeError("no Triton kernel and no Inductor wrapper in it", where=path, try_this=_ACCEPTED)
    name = os.path.basename(path).partition(".")[0]
    sources = (SourceFile(role, path, text, len(data)),)
    model = Model(name, sources, {}, device_of({}, sources))
    return Artifact(path, _KINDS[role], (model,))
