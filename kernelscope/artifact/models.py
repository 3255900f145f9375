"""Groups the members of an artifact into models and reads their sources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kernelscope.artifact.contents import ArtifactKind, Damage, Model, SourceFile, SourceRole
from kernelscope.artifact.limits import Limits
from kernelscope.artifact.members import Listing, Member, MemberError, SourceBudget, decode
from kernelscope.artifact.roles import role_of, without_embedded
from kernelscope.errors import KernelscopeError

_DEVICE_KEY = "AOTI_DEVICE_KEY"
_DEVICE = re.compile(r"\bdevice_str='(\w+)'")
_KERNELS = "kernels"
_WRAPPERS = (SourceRole.CPP_WRAPPER, SourceRole.PYTHON_WRAPPER)


@dataclass(slots=True)
class _Group:
    """The members of one model while they are being collected."""

    members: list[Member] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)


def read_models(listing: Listing, limits: Limits) -> tuple[ArtifactKind, tuple[Model, ...], tuple[Damage, ...]]:
    """The models of a package or folder, with the damage that belongs to none of them."""
    budget = SourceBudget(limits.total)
    groups, rest = _packaged(listing)
    if groups:
        names = _model_names(groups)
        models = tuple(_package_model(names[key], group, budget, limits) for key, group in groups.items())
        return ArtifactKind.PACKAGE, models, tuple(rest)
    return ArtifactKind.FOLDER, _folder_models(listing, budget, limits), listing.damaged


def _packaged(listing: Listing) -> tuple[dict[tuple[str, str], _Group], list[Damage]]:
    """Members below `…/data/aotinductor/MODEL/`, by what precedes `data` and by MODEL."""
    groups: dict[tuple[str, str], _Group] = {}
    rest: list[Damage] = []
    for member in listing.members:
        key = _model_key(member.path)
        if key:
            groups.setdefault(key, _Group()).members.append(member)
    for damage in listing.damaged:
        key = _model_key(damage.path)
        if key and key in groups or key and ".." not in damage.path:
            groups.setdefault(key, _Group()).damaged.append(damage)
        else:
            rest.append(damage)
    return groups, rest


def _model_key(path: str) -> tuple[str, str] | None:
    parts = path.split("/")
    for place in range(len(parts) - 3):
        if parts[place] == "data" and parts[place + 1] == "aotinductor":
            return "/".join(parts[:place]), parts[place + 2]
    return None


def _model_names(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    listed = list(keys)
    alone = len({prefix for prefix, _ in listed}) == 1
    return {(prefix, name): name if alone or not prefix else f"{prefix}/{name}" for prefix, name in listed}


def _package_model(name: str, group: _Group, budget: SourceBudget, limits: Limits) -> Model:
    sources, damaged = _sources(group.members, budget, limits)
    damaged = [*group.damaged, *damaged]
    metadata = _metadata(group.members, damaged, limits)
    kept = without_embedded(sources)
    if not damaged and not any(source.role in _WRAPPERS for source in kept):
        damaged.append(Damage(name, "the package holds no wrapper source for this model"))
    return Model(name, kept, metadata, device_of(metadata, kept), _binaries(group.members, limits), tuple(damaged))


def _folder_models(listing: Listing, budget: SourceBudget, limits: Limits) -> tuple[Model, ...]:
    """One model a wrapper, since each has symbols of its own, and one for the kernels that no wrapper embeds."""
    sources, damaged = _sources(listing.members, budget, limits)
    kept = without_embedded(sources)
    binaries = _binaries(listing.members, limits)
    paths = {member.shown: member.path for member in listing.members}
    neighbours: dict[str, list[Member]] = {}
    for member in listing.members:
        neighbours.setdefault(_folder_of(member.path), []).append(member)
    models: list[Model] = []
    for source in kept:
        if source.role in _WRAPPERS:
            path = paths[source.path]
            metadata = _metadata(_same_stem(neighbours[_folder_of(path)], path), damaged, limits)
            models.append(Model(path, (source,), metadata, device_of(metadata, (source,)), binaries))
    loose = tuple(source for source in kept if source.role not in _WRAPPERS)
    if loose or damaged:
        models.append(Model(_KERNELS, loose, {}, None, binaries, tuple(damaged)))
    return tuple(models)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _same_stem(members: Iterable[Member], path: str) -> list[Member]:
    """The members that belong to a wrapper: those named like it up to the first dot."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return [member for member in members if member.name.startswith(stem)]


def device_of(metadata: Mapping[str, str], sources: Iterable[SourceFile]) -> str | None:
    """The device that the metadata names, else the one that the kernels in a wrapper were compiled for."""
    if _DEVICE_KEY in metadata:
        return metadata[_DEVICE_KEY]
    found = (_DEVICE.search(source.text) for source in sources if source.role in _WRAPPERS)
    return next((match.group(1) for match in found if match), None)


def _sources(members: Iterable[Member], budget: SourceBudget, limits: Limits) -> tuple[list[SourceFile], list[Damage]]:
    sources: list[SourceFile] = []
    damaged: list[Damage] = []
    for member in members:
        if not member.path.endswith((".cpp", ".py")):
            continue
        try:
            text = budget.read_text(member, limits.source)
        except MemberError as error:
            if not (member.size == 0 and member.name == "__init__.py"):
                damaged.append(Damage(member.shown, str(error)))
            continue
        role = role_of(member.path, text)
        if role is not None:
            sources.append(SourceFile(role, member.shown, text, len(text.encode("utf-8"))))
    return sources, damaged


def _metadata(members: Iterable[Member], damaged: list[Damage], limits: Limits) -> dict[str, str]:
    """All `*_metadata.json` merged; the wrapper's own wins."""
    merged: dict[str, str] = {}
    files = [member for member in members if member.path.endswith("_metadata.json")]
    for member in sorted(files, key=lambda member: member.path.endswith("wrapper_metadata.json")):
        try:
            content = json.loads(decode(member.read(limits.metadata)))
        except (MemberError, ValueError, RecursionError) as error:
            damaged.append(
                Damage(member.shown, f"metadata: {str(error).splitlines()[0] if str(error) else 'too deep'}")
            )
            continue
        if isinstance(content, dict):
            merged.update({str(key): value for key, value in content.items() if isinstance(value, str)})
        else:
            damaged.append(Damage(member.shown, "metadata: not a JSON object"))
    return merged


def _binaries(members: Iterable[Member], limits: Limits) -> dict[str, Callable[[], bytes]]:
    """Cubins and fat binaries by the last part of their name; a name that stands for several different files is left out."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.path.endswith((".cubin", ".fatbin")):
            found.setdefault(member.name, []).append(member)
    return {name: _reader(same[0], limits.binary) for name, same in found.items() if len(same) == 1}


def _reader(member: Member, limit: int) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            return member.read(limit)
        except MemberError as error:
            raise KernelscopeError(str(error), where=member.shown) from None

    return read
