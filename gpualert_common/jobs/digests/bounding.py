"""Bounding of a digest: it is stored in 16 KB at most, whatever the run shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpualert_common.jobs.digests.digest import MOST_BYTES, Digest, DigestVerdict, RankDigest
from gpualert_common.jobs.digests.digest_codec import encode_file
from gpualert_common.model import Attribution, Disposition, Retry
from gpualert_common.processes.rank_names import format_numbers
from gpualert_common.structs import replace
from gpualert_common.whole_words import cut_words

_SHORT_TEXT = 120
_SHORTEST_TEXT = 40

Step = Callable[[Digest], Digest]


def fit_digest(digest: Digest, most_bytes: int = MOST_BYTES) -> Digest:
    """Return the digest within the limit: the least important parts are left out, and named.

    Never fails: at the end only the run, its state and its cause are left.
    """
    whole = digest
    for step in _list_steps():
        if _is_small(digest, most_bytes):
            return digest
        digest = step(digest)
        digest = replace(digest, left_out=_list_left_out(whole, digest))
    return digest if _is_small(digest, most_bytes) else _keep_core(digest)


def _list_left_out(whole: Digest, kept: Digest) -> tuple[str, ...]:
    """Return the parts of a digest that were left out, in words."""
    found = []
    if len(kept.stacks) < len(whole.stacks):
        found.append(
            f"stacks: {len(whole.stacks) - len(kept.stacks)} of {len(whole.stacks)} groups"
        )
    if len(kept.ranks) < len(whole.ranks):
        left = {one.rank for one in whole.ranks} - {one.rank for one in kept.ranks}
        found.append(cut_words(f"ranks: {format_numbers(left)}", _SHORT_TEXT))
    if len(kept.observations) < len(whole.observations):
        left_count = len(whole.observations) - len(kept.observations)
        found.append(f"observations: {left_count} of {len(whole.observations)}")
    if whole.verdict is not None and kept.verdict is not None:
        details = len(whole.verdict.details) - len(kept.verdict.details)
        found += [f"details: {details} of {len(whole.verdict.details)}"] if details else []
    if len(kept.launch) < len(whole.launch):
        found.append("texts: cut")
    return tuple(found)


def _is_small(digest: Digest, most_bytes: int) -> bool:
    return len(encode_file(digest)) <= most_bytes


def _list_steps() -> Iterator[Step]:
    """Yield the steps, each of which leaves out more."""
    yield lambda digest: _cut_stacks(digest, 4)
    yield _drop_calls
    yield lambda digest: _cut_ranks(digest, 64)
    yield lambda digest: _cut_stacks(digest, 2)
    yield _drop_details
    yield lambda digest: _cut_texts(digest, _SHORT_TEXT)
    yield lambda digest: _cut_ranks(digest, 16)
    yield lambda digest: _cut_observations(digest, 4)
    yield lambda digest: _cut_stacks(digest, 0)
    yield lambda digest: _cut_ranks(digest, 4)
    yield lambda digest: _cut_texts(digest, _SHORTEST_TEXT)


def _cut_stacks(digest: Digest, most: int) -> Digest:
    return replace(digest, stacks=digest.stacks[:most])


def _drop_calls(digest: Digest) -> Digest:
    """Drop the calls of the ranks, except of the first few: most are in the same one."""
    later = (replace(one, pending="") for one in digest.ranks[8:])
    return replace(digest, ranks=(*digest.ranks[:8], *later))


def _cut_ranks(digest: Digest, most: int) -> Digest:
    """Keep the ranks that failed first, and those that are the furthest behind."""
    if len(digest.ranks) <= most:
        return digest
    kept = sorted(sorted(digest.ranks, key=_rate_rank)[:most], key=lambda one: one.rank)
    return replace(digest, ranks=tuple(kept))


def _rate_rank(one: RankDigest) -> tuple[bool, float, int, int]:
    has_failed = one.code not in (None, 0)
    ended_at = float("inf") if one.ended_at is None else one.ended_at
    behind = 1 << 60 if one.sequence is None else one.sequence
    return not has_failed, ended_at, behind, one.rank


def _drop_details(digest: Digest) -> Digest:
    verdict = digest.verdict
    if verdict is None:
        return digest
    details = {
        name: value
        for name, value in verdict.details.items()
        if not isinstance(value, str) or len(value) <= _SHORTEST_TEXT
    }
    return replace(digest, verdict=replace(verdict, details=details))


def _cut_observations(digest: Digest, most: int) -> Digest:
    """Keep the first ones; the root cause is among them, or the last one."""
    if len(digest.observations) <= most:
        return digest
    kept = (*digest.observations[: most - 1], digest.observations[-1])
    return replace(digest, observations=kept)


def _cut_texts(digest: Digest, most: int) -> Digest:
    """Cut the texts after whole words: they are masked already, and nothing cuts a mask."""
    verdict = digest.verdict
    if verdict is not None:
        verdict = replace(
            verdict,
            headline=cut_words(verdict.headline, 2 * most),
            implies=cut_words(verdict.implies, 2 * most),
            cannot_decide=tuple(cut_words(text, 2 * most) for text in verdict.cannot_decide[:2]),
            do=tuple(cut_words(text, 2 * most) for text in verdict.do[:2]),
            secondary=tuple(cut_words(text, most) for text in verdict.secondary[:4]),
        )
    return replace(
        digest,
        launch=cut_words(digest.launch, most),
        record_path=digest.record_path if len(digest.record_path) <= 4 * most else "",
        verdict=verdict,
        observations=tuple(
            replace(one, text=cut_words(one.text, most)) for one in digest.observations
        ),
        stacks=tuple(
            replace(one, place=cut_words(one.place, most), waits_for=cut_words(one.waits_for, most))
            for one in digest.stacks
        ),
        warnings=digest.warnings[:8],
    )


def _keep_core(digest: Digest) -> Digest:
    """Return the run, its state and its cause alone."""
    verdict = digest.verdict
    if verdict is not None:
        verdict = DigestVerdict(
            cut_words(verdict.cause, _SHORTEST_TEXT),
            Disposition(verdict.disposition),
            Attribution(verdict.attribution),
            Retry(verdict.retry),
            verdict.confidence,
            cut_words(verdict.headline, _SHORT_TEXT),
            exit_code=verdict.exit_code,
        )
    return Digest(
        job=digest.job,
        run_id=digest.run_id,
        host=cut_words(digest.host, _SHORT_TEXT),
        at=digest.at,
        state=digest.state,
        attempt=digest.attempt,
        node=digest.node,
        nodes=digest.nodes,
        world_size=digest.world_size,
        sequence=digest.sequence,
        interval_s=digest.interval_s,
        started_at=digest.started_at,
        ended_at=digest.ended_at,
        verdict=verdict,
        clock=digest.clock,
        left_out=("all else",),
    )
