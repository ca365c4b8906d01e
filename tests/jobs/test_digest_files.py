"""Digests as files: what is written is read again, and what is damaged counts as missing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.codec import encode
from gpualert_common.job_store.opening import open_store
from gpualert_common.job_store.store import StoredFile
from gpualert_common.jobs.digests.bounding import fit_digest
from gpualert_common.jobs.digests.digest import (
    MOST_BYTES,
    ClockBasis,
    ClockOffset,
    Digest,
    DigestObservation,
    DigestState,
    DigestVerdict,
    ProgressDigest,
    RankDigest,
    StackGroupDigest,
    TelemetryDigest,
)
from gpualert_common.jobs.digests.digest_codec import decode_file, encode_file, is_plausible
from gpualert_common.jobs.job_directory import AlertClaim, JobDirectory
from gpualert_common.jobs.reading.isolated_reading import read_job
from gpualert_common.model import Attribution, Disposition, Retry
from gpualert_common.structs import replace
from tests.jobs.composed_job import compose

AT = 1_800_000_000.0
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), max_size=200)
TIMES = st.floats(0, 2e9)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
RANKS = st.integers(0, 6000)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return values, or None."""
    return st.none() | values


def tuples(values: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return tuples of values."""
    return st.lists(values, max_size=most).map(tuple)


VERDICTS = st.builds(
    DigestVerdict,
    cause=TEXTS,
    disposition=st.sampled_from(Disposition),
    attribution=st.sampled_from(Attribution),
    retry=st.sampled_from(Retry),
    confidence=st.floats(0, 1),
    headline=TEXTS,
    exit_code=maybe(st.integers(-64, 255)),
    secondary=tuples(TEXTS, 20),
    details=st.dictionaries(TEXTS, TEXTS | st.integers(-(1 << 62), 1 << 62) | st.booleans()),
    do=tuples(TEXTS, 20),
)
DIGESTS = st.builds(
    Digest,
    job=TEXTS,
    run_id=st.from_regex(r"\A[a-z0-9-]{1,40}\Z"),
    host=TEXTS,
    at=TIMES,
    state=st.sampled_from(DigestState),
    node=maybe(RANKS),
    nodes=maybe(RANKS),
    world_size=maybe(RANKS),
    launch=TEXTS,
    started_at=TIMES,
    ended_at=maybe(TIMES),
    verdict=maybe(VERDICTS),
    observations=tuples(
        st.builds(DigestObservation, cause=TEXTS, text=TEXTS, at=maybe(TIMES), rank=maybe(RANKS)),
        40,
    ),
    warnings=tuples(TEXTS, 20),
    ranks=tuples(
        st.builds(RankDigest, rank=RANKS, code=maybe(st.integers(-64, 255)), pending=TEXTS), 300
    ),
    progress=maybe(
        st.builds(ProgressDigest, loss=maybe(NUMBERS), position=maybe(NUMBERS), pace_s=NUMBERS)
    ),
    telemetry=maybe(st.builds(TelemetryDigest, gpus=st.integers(0, 64), gpu_percent=NUMBERS)),
    stacks=tuples(
        st.builds(
            StackGroupDigest,
            ranks=tuples(RANKS, 64),
            key=TEXTS,
            activity=TEXTS,
            place=TEXTS,
            waits_for=TEXTS,
        ),
        40,
    ),
    clock=st.builds(
        ClockOffset,
        offset_s=st.floats(-1e6, 1e6),
        error_s=st.floats(0, 1e6),
        basis=st.sampled_from(ClockBasis),
    ),
)
SLOW = settings(suppress_health_check=list(HealthCheck), max_examples=60, deadline=None)


def make_digest_of(**fields: Any) -> Digest:
    """Return a small digest."""
    given_fields = {"job": "j", "run_id": "r", "host": "h", "at": AT, "state": DigestState.RUNNING}
    return Digest(**{**given_fields, **fields})


def plain(value: object) -> object:
    """Return a digest as builtins that are equal for two digests with NaN, too."""
    return encode(value)


@SLOW
@given(DIGESTS)
def test_digest_is_read_as_it_was_written(digest: Digest) -> None:
    """A digest within the limit comes back equal, with NaN, infinities and any text."""
    digest = fit_digest(digest)
    found = decode_file(Digest, encode_file(digest))
    assert found is not None
    assert plain(found) == plain(digest)
    assert encode_file(found) == encode_file(digest)
    assert is_plausible(found)


@SLOW
@given(DIGESTS)
def test_digest_is_never_too_large(digest: Digest) -> None:
    """Whatever a digest holds, it fits, with the run, its state and its cause, and says so."""
    fitted = fit_digest(digest)
    assert len(encode_file(fitted)) <= MOST_BYTES
    assert (fitted.run_id, fitted.state, fitted.clock) == (
        digest.run_id,
        digest.state,
        digest.clock,
    )
    assert (fitted.verdict is None) == (digest.verdict is None)
    if len(encode_file(digest)) <= MOST_BYTES:
        assert fitted is digest
    elif len(fitted.ranks) < len(digest.ranks) or len(fitted.stacks) < len(digest.stacks):
        assert fitted.left_out


def test_failed_rank_is_kept_in_a_digest_that_is_too_large() -> None:
    """Of a node with hundreds of ranks, the one that failed and the one behind stay."""
    ranks = [RankDigest(rank, sequence=900, pending="all_reduce " * 12) for rank in range(256)]
    ranks[77] = RankDigest(77, code=-9, ended_at=AT)
    ranks[200] = RankDigest(200, sequence=899)
    groups = tuple(
        StackGroupDigest((rank,), f"k{rank}", "collective", "f (train.py:3)" * 9, "waits" * 9)
        for rank in range(16)
    )
    fitted = fit_digest(make_digest_of(ranks=tuple(ranks), stacks=groups, launch="python " * 20))
    assert {77, 200} <= {one.rank for one in fitted.ranks}
    assert len(encode_file(fitted)) <= MOST_BYTES
    assert any(one.startswith(("ranks: ", "stacks: ")) for one in fitted.left_out)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 2.5])
def test_loss_that_is_no_number_survives(loss: float) -> None:
    """A loss that is NaN or infinite is read as such."""
    found = decode_file(Digest, encode_file(make_digest_of(progress=ProgressDigest(loss=loss))))
    assert found is not None
    assert found.progress is not None
    assert str(found.progress.loss) == str(loss)


@SLOW
@given(DIGESTS, st.data())
def test_cut_digest_is_damaged_or_whole(digest: Digest, data: st.DataObject) -> None:
    """A digest that was cut at any byte, or has a flipped one, is no error."""
    stored = encode_file(fit_digest(digest))
    cut = data.draw(st.integers(0, len(stored) - 1))
    assert decode_file(Digest, stored[:cut]) is None
    flipped = bytearray(stored)
    flipped[cut] ^= 1 << data.draw(st.integers(0, 7))
    found = decode_file(Digest, bytes(flipped))
    assert found is None or isinstance(is_plausible(found), bool)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    """Any bytes are no digest, and no error."""
    assert decode_file(Digest, data) is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
def test_any_json_is_read(value: object) -> None:
    """Any JSON in a field is a value of it, or makes the digest damaged."""
    for name in Digest.__struct_fields__:
        fields = {**json.loads(encode_file(make_digest_of())), name: value}
        found = decode_file(Digest, json.dumps(fields).encode())
        assert found is None or isinstance(found, Digest)


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "soon"},
        {"at": 1e300},
        {"at": -5},
        {"at": None},
        {"at": "nan"},
        {"state": "gone"},
        {"ranks": [{"rank": "first"}]},
        {"ranks": {"0": 1}},
        {"ranks": [{"rank": -1}]},
        {"ranks": [{"rank": 10**15}]},
        {"node": -1},
        {"nodes": 10**9},
        {"sequence": -4},
        {"interval_s": 1e12},
        {"clock": {"offset_s": "nan"}},
        {"clock": {"offset_s": 1e30}},
        {"clock": {"error_s": -1.0}},
        {"stacks": [{"ranks": [1 << 40], "key": "k", "activity": "a"}]},
        {"observations": [{"cause": "c", "text": "t", "at": "inf"}]},
        {"verdict": {"cause": 5}},
        {"host": ["h"]},
        {"schema": None},
        {"run_id": "other"},
    ],
    ids=str,
)
def test_hostile_digest_counts_as_missing(fields: dict[str, object], tmp_path: Path) -> None:
    """A value of a wrong type, an absurd number, or the name of another run: no digest."""
    directory = JobDirectory(open_store(str(tmp_path)), "job")
    directory.write_digest(make_digest_of())
    path = tmp_path / "job" / "digests" / "r.json"
    assert read_only_digest(directory) is not None
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    assert read_only_digest(directory) is None


def read_only_digest(directory: JobDirectory) -> Digest | None:
    """Return the only digest of a job."""
    files = directory.list_digests()
    assert len(files) == 1
    found = directory.read_digest(files[0])
    return None if found is None else found.digest


def test_digest_of_a_later_release_is_read(tmp_path: Path) -> None:
    """Unknown fields and a newer schema are no damage."""
    directory = JobDirectory(open_store(str(tmp_path)), "job")
    directory.write_digest(make_digest_of())
    path = tmp_path / "job" / "digests" / "r.json"
    fields = {**json.loads(path.read_text()), "schema": 99, "moods": [1, {"x": None}]}
    path.write_text(json.dumps(fields))
    found = read_only_digest(directory)
    assert found is not None
    assert found.at == AT


def test_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    """A file with more bytes than a digest may have is damaged, whatever is in it."""
    directory = JobDirectory(open_store(str(tmp_path)), "job")
    directory.write_digest(make_digest_of())
    path = tmp_path / "job" / "digests" / "r.json"
    path.write_bytes(path.read_bytes() + b" " * MOST_BYTES)
    assert read_only_digest(directory) is None
    assert directory.read_digest(StoredFile("gone.json", 1, AT)) is None


def test_control_characters_of_a_file_are_replaced() -> None:
    """Escape sequences in a digest of another program do not reach a terminal."""
    data = json.dumps({**json.loads(encode_file(make_digest_of())), "host": "\x1b[2Jgpu7\u202e\n"})
    found = decode_file(Digest, data.encode())
    assert found is not None
    assert found.host.isprintable()


@given(NUMBERS)
def test_claim_is_read_as_it_was_written(number: float) -> None:
    """A claim comes back, and one with a time that is none counts as missing."""
    claim = AlertClaim(run_id="r", claimed_by="h", at=AT, root_at=AT - 1)
    assert decode_file(AlertClaim, encode_file(claim)) == claim
    data = {**json.loads(encode_file(claim)), "at": str(number)}
    found = decode_file(AlertClaim, msgspec.json.encode(data))
    assert found is None or math.isfinite(found.at)


def test_paths_that_are_no_utf_8(tmp_path: Path) -> None:
    """A record at a path that is no text has a digest; a job directory there is a problem."""
    read = decode_file(Digest, encode_file(replace(compose(0), record_path="/runs/\udcff/1")))
    assert read is not None
    assert read.record_path == "/runs/\ufffd/1"
    assert "UTF-8" in read_job(f"{tmp_path}/\udcff", "slurm-17").problem
