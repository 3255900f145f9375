"""Strategy `minimal`: the fewest casts under which every launch is proved, arguments narrow where they provably fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from kernelscope.rewrite.candidates import Candidate, candidates_in
from kernelscope.rewrite.edits import OverlappingEdits
from kernelscope.rewrite.kernel_view import KernelView
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.rewriting import NothingToDo, NotRewritten, RewriteResult, Rewriting, Strategy
from kernelscope.rewrite.subject import Standing, Subject, edited, standing, widened_by

#: Combinations of casts that are proved or refuted before the search settles for what it has.
_MOST_PROOFS = 400
_MOST_COVER = 3
#: Not needed for its own sake, but where a loop changes a variable whose start value is narrower.
_COMPANION = "loop_accumulators"


def minimal(subject: Subject, patches: Patches) -> RewriteResult:
    """The rewriting with the fewest casts, or why there is none."""
    return _Search(subject, patches).run()


def minimal_at_use(subject: Subject, patches: Patches) -> RewriteResult:
    """The fewest casts on the lines where values overflow: perhaps more casts, and less arithmetic in 64 bits."""
    return _SearchAtUse(subject, patches).run()


class _Search:
    def __init__(self, subject: Subject, patches: Patches) -> None:
        self.subject = subject
        self.patches = patches
        self._proofs = 0
        self._companions: list[Candidate] = []
        self._beyond: frozenset[tuple[object, ...]] = frozenset()
        self._known: dict[tuple[object, ...], Standing] = {}

    def run(self) -> RewriteResult:
        start = self._standing(())
        if start.broken is not None:
            return NotRewritten(Strategy.MINIMAL, f"the kernel can't be judged: {start.broken}")
        if not start.unproved:
            return NothingToDo()
        self._beyond = start.beyond_casts
        self._known.clear()
        start = self._standing(())
        if not start.unproved:
            return NotRewritten(Strategy.MINIMAL, "what is not proved is computed in 64 bits already")
        view = KernelView(self.subject.kernel.source, start.programs)
        found, refused = candidates_in(view, self.patches.kernel)
        self._companions = [c for c in found if c.patch == _COMPANION]
        candidates = [c for c in found if c.patch != _COMPANION and self._is_considered(c, start)]
        chosen = self._widened(self._completed(self._arguments(start, candidates)), candidates)
        if chosen is None:
            concerning = [r for r in refused if any(r.place in u.spans for u in start.unproved)]
            reasons = "; ".join(dict.fromkeys(f"{r.patch}: {r.reason}" for r in concerning))
            return NotRewritten(Strategy.MINIMAL, reasons or "no patch makes it provably safe")
        return self._rewriting(self._without_surplus(chosen))

    def _rewriting(self, chosen: Sequence[Candidate]) -> Rewriting:
        edits = tuple(c.edit for c in chosen)
        text = edited(self.subject, edits).kernel.source
        return Rewriting(Strategy.MINIMAL, text, tuple(chosen), edits, widened_by(edits))

    def _is_considered(self, candidate: Candidate, start: Standing) -> bool:
        return True

    # -- proofs -----------------------------------------------------------------------------------------------------

    def _completed(self, chosen: list[Candidate]) -> list[Candidate]:
        """With the start values of what loops change, where the casts alone do not compile."""
        if self._standing(chosen).broken is None:
            return chosen
        more = [*chosen, *(c for c in self._companions if c not in chosen)]
        return more if self._standing(more).broken is None else chosen

    def _standing(self, chosen: Sequence[Candidate]) -> Standing:
        key = tuple(sorted(repr(c.edit.replacements) for c in chosen))
        if key not in self._known:
            self._proofs += 1
            try:
                after = standing(edited(self.subject, [c.edit for c in chosen]))
                self._known[key] = after.without(self._beyond)
            except OverlappingEdits:
                self._known[key] = Standing((), (), "edits overlap")
        return self._known[key]

    def _is_proved(self, chosen: Sequence[Candidate]) -> bool:
        return self._standing(chosen).is_proved

    # -- choice -----------------------------------------------------------------------------------------------------

    def _arguments(self, start: Standing, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Arguments that the launch narrows: no cast inside the kernel brings their high bits back."""
        narrowed = {name for u in start.unproved for name in u.narrowed}
        return [c for c in candidates if narrowed & set(c.edit.widened)]

    def _widened(self, base: list[Candidate], candidates: Sequence[Candidate]) -> list[Candidate] | None:
        """The base and as few casts as possible, so that all is proved."""
        chosen = base
        while True:
            now = self._standing(chosen)
            if now.is_proved:
                return chosen
            if now.broken is not None or self._proofs > _MOST_PROOFS:
                return None
            useful = _ranked(self._useful(now, candidates, chosen))
            for candidate in useful:
                if self._is_proved(one := self._completed([*chosen, candidate])):
                    return one
            covers = {c: self._covered(chosen, c, now) for c in useful}
            small = self._cover(chosen, useful, covers, now)
            if small is not None:
                return small
            best = max(useful, key=lambda c: (len(covers[c]), -useful.index(c)), default=None)
            if best is None:
                return None
            if not covers[best]:
                return self._everything(chosen, useful)
            chosen = self._completed([*chosen, best])

    def _useful(self, now: Standing, candidates: Iterable[Candidate], chosen: Sequence[Candidate]) -> list[Candidate]:
        """Candidates that change something that an unproved requirement depends on."""
        start = {u.key: u for u in self._standing(()).unproved}
        spans = {span for u in now.unproved if u.key in start for span in start[u.key].spans}
        lines = {span.line for u in now.unproved if u.key not in start for span in u.spans}
        anywhere = any(not u.spans for u in now.unproved)
        arguments = {name for u in now.unproved for name in u.arguments}
        return [
            c for c in candidates
            if c not in chosen
            and (
                c.edit.site in spans or c.edit.site.line in lines or arguments & set(c.edit.widened)
                or anywhere and not c.widens_signature
            )
        ]  # fmt: skip

    def _covered(self, chosen: Sequence[Candidate], candidate: Candidate, now: Standing) -> frozenset[object]:
        """The requirements that a candidate alone settles."""
        after = self._standing(self._completed([*chosen, candidate]))
        if after.broken is not None:
            return frozenset()
        left = {u.key for u in after.unproved}
        return frozenset(u.key for u in now.unproved if u.key not in left)

    def _cover(
        self, chosen: list[Candidate], useful: Sequence[Candidate],
        covers: dict[Candidate, frozenset[object]], now: Standing,
    ) -> list[Candidate] | None:  # fmt: skip
        """The smallest set whose parts settle everything together, proved as a whole."""
        needed = frozenset(u.key for u in now.unproved)
        helpful = [c for c in useful if covers[c]]
        for count in range(2, _MOST_COVER + 1):
            for parts in combinations(helpful, count):
                if not frozenset().union(*(covers[p] for p in parts)) >= needed:
                    continue
                if self._is_proved(together := self._completed([*chosen, *parts])):
                    return together
        return None

    def _everything(self, chosen: list[Candidate], useful: Sequence[Candidate]) -> list[Candidate] | None:
        """No cast settles anything alone: all together may, and the surplus ones are taken off afterwards."""
        inside = [c for c in useful if not c.widens_signature]
        for more in (inside, list(useful)):
            if self._is_proved(together := self._completed([*chosen, *more])):
                return together
        return None

    def _without_surplus(self, chosen: list[Candidate]) -> list[Candidate]:
        """Casts without which everything is proved as well are left out, signature changes first."""
        for candidate in sorted(chosen, key=lambda c: (not c.widens_signature, -_rank(c))):
            rest = [c for c in chosen if c is not candidate]
            if self._proofs <= 2 * _MOST_PROOFS and self._is_proved(rest):
                chosen = rest
        return chosen


class _SearchAtUse(_Search):
    def _is_considered(self, candidate: Candidate, start: Standing) -> bool:
        return candidate.widens_signature or any(u.line == candidate.edit.site.line for u in start.unproved)


#: Patches by how few later operations they widen; signature changes come last, since they change the wrapper.
_ORDER = (
    "program_ids", "surplus_programs", "scan_workspaces", "casts_to_int32", "full_offsets", "block_pointer_bases",
    "stride_products", "kernel_side_cdiv", "loop_counters", "loaded_indices", "stored_values", "index_sums", "aranges",
    "template_index_dtypes", "scalar_arguments",
)  # fmt: skip


def _rank(candidate: Candidate) -> int:
    place = _ORDER.index(candidate.patch) if candidate.patch in _ORDER else len(_ORDER)
    return place + len(_ORDER) * candidate.widens_signature


def _ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (_rank(c), c.edit.site.line, c.edit.site.column))


