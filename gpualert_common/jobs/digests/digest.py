"""The digest of a run: its facts that the other nodes of its job need, in 16 KB at most.

Times are in seconds since the epoch by the clock of the node that made it; ``clock`` says how far
that one is off.
"""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.classify.details import Scalar
from gpualert_common.model import SCHEMA, Attribution, Disposition, Retry
from gpualert_common.quantities import Number, Seconds, Time
from gpualert_common.structs import Struct, field

MOST_RANKS = 1 << 20
"""Limit of every rank, node and number of them: no job has a million of them."""
MOST_BYTES = 16 << 10
"""Limit of a digest as it is stored."""
_STORING_S = 60.0
"""A digest is stored within a minute of its time; a larger difference is that of the clocks."""


class DigestState(StrEnum):
    """State of a run in its own digest."""

    RUNNING = "running"
    ENDED = "ended"
    """The command has ended, and the digest has its verdict."""


class ClockBasis(StrEnum):
    """Clock that the clock of a node was compared with."""

    NONE = "none"
    STORE = "store"
    """The clock that stamps the files of the job directory."""
    PEERS = "peers"
    """The clock of the node that is the reference, by what both saw of each other.

    Its own offset to the clock of the store is taken off, so that all offsets of a job have one
    zero.
    """


class ClockOffset(Struct, frozen=True):
    """Offset of the clock of a node: its time less the common time, at most ``error_s`` wrong.

    The common time is that of the store, if it stamps files by a clock of its own, else that of the
    node that is the reference.
    """

    offset_s: float = 0.0
    error_s: float = 0.0
    basis: ClockBasis = ClockBasis.NONE


class DigestObservation(Struct, frozen=True):
    """One thing that the evidence of a run shows, at a time; ``rank`` is None if it is not known.

    ``at`` is the time at which the line was printed or the event happened; None if not known.
    """

    cause: str
    text: str
    at: Time | None = None
    rank: Number | None = None
    source: str = "log"
    is_cascade: bool = False


class RankDigest(Struct, frozen=True):
    """One rank of the node.

    ``code`` is its exit status, -n for signal n, once it has ended at ``ended_at``.  ``sequence``
    counts the collectives that it has entered, ``completed`` those that have ended, in its largest
    group; ``pending`` names the one that it is in.  ``gpu_percent`` is the mean load of its GPU in
    the last minutes.  ``waits`` are the times at which it waited for its peers, out of
    :attr:`TelemetryDigest.stack_samples`.
    """

    rank: Number
    code: Number | None = None
    ended_at: Time | None = None
    sequence: Number | None = None
    completed: Number | None = None
    pending: str = ""
    gpu_percent: float | None = None
    waits: tuple[Number, ...] = ()


class StackGroupDigest(Struct, frozen=True):
    """Ranks of the node that stand at one place.

    ``place`` is the function, file and line of the user's code, ``activity`` as in
    :class:`gpualert_common.stacks.activities.StackActivity`, ``waits_for`` the sentence about its
    wait.  ``key`` is equal for equal stacks on all nodes.
    """

    ranks: tuple[Number, ...]
    key: str
    activity: str
    place: str = ""
    waits_for: str = ""


class ProgressDigest(Struct, frozen=True):
    """Progress of the training by the logs of the node; None is not known.

    ``loss`` is the newest one, which may be NaN.  ``pace_s`` is the time that a step takes at
    present, ``position_at`` the time of the newest one, ``output_at`` that of the last output.
    """

    unit: str = "step"
    position: float | None = None
    total: float | None = None
    loss: float | None = None
    pace_s: float | None = None
    position_at: Time | None = None
    output_at: Time | None = None


class TelemetryDigest(Struct, frozen=True):
    """Resources of the run on its node, the mean of the last minutes; None is not known."""

    gpus: Number = 0
    gpu_percent: float | None = None
    gpu_bytes: float | None = None
    gpu_total_bytes: float | None = None
    clock_ratio: float | None = None
    """The lowest clock of its GPUs, relative to its maximum, while they worked."""
    host_bytes: float | None = None
    cpu_cores: float | None = None
    """Cores that the processes of the run used."""
    stack_samples: tuple[Number, ...] = ()
    """Readings of the stacks of all its ranks, in each fifth of the last half hour."""


class DigestVerdict(Struct, frozen=True):
    """The verdict of the run alone, in short.

    ``implies``, ``cannot_decide`` and ``do`` are empty where the digest has no room for them.
    """

    cause: str
    disposition: Disposition
    attribution: Attribution
    retry: Retry
    confidence: float
    headline: str
    family: str | None = None
    fault_class: str | None = None
    paper_class: str | None = None
    exit_code: Number | None = None
    signal: str | None = None
    secondary: tuple[str, ...] = ()
    details: dict[str, Scalar] = field(default_factory=dict)
    implies: str = ""
    cannot_decide: tuple[str, ...] = ()
    do: tuple[str, ...] = ()


class Digest(Struct, frozen=True, kw_only=True):
    """One run of a job.

    ``job`` is the key of the job.  ``attempt`` counts the restarts of the whole job, as its
    scheduler or engine numbers them; None if neither does.  ``node`` is the index of the node in
    the job and ``nodes`` their number, ``world_size`` the number of ranks.  ``sequence`` counts the
    renewals; the next one is due ``interval_s`` after ``at``.  ``launch`` is the command in short.
    ``observations`` are in the order of their times: the first ones, and the root cause.
    ``warnings`` are the kinds of those that are raised.  ``left_out`` says what was too large.
    """

    job: str
    run_id: str
    host: str
    at: Time
    state: DigestState
    schema: int = SCHEMA
    name: str | None = None
    attempt: Number | None = None
    node: Number | None = None
    nodes: Number | None = None
    world_size: Number | None = None
    sequence: Number = 0
    interval_s: Seconds = 0.0
    launch: str = ""
    record_path: str = ""
    started_at: Time = 0.0
    ended_at: Time | None = None
    verdict: DigestVerdict | None = None
    observations: tuple[DigestObservation, ...] = ()
    warnings: tuple[str, ...] = ()
    ranks: tuple[RankDigest, ...] = ()
    progress: ProgressDigest | None = None
    telemetry: TelemetryDigest | None = None
    stacks: tuple[StackGroupDigest, ...] = ()
    clock: ClockOffset = ClockOffset()
    left_out: tuple[str, ...] = ()


class StoredDigest(Struct, frozen=True):
    """A digest in the job directory, and the time of its last change by the clock of the store."""

    digest: Digest
    modified_at: float

    @property
    def ahead_s(self) -> float:
        """Time of the digest less its stamp; 0 where the store gives none."""
        return self.digest.at - self.modified_at if self.modified_at > 0 else 0.0

    @property
    def offset_s(self) -> float:
        """Offset of the clock of its node: by the stamp where the node had compared nothing."""
        clock = self.digest.clock
        if clock.basis is not ClockBasis.NONE:
            return clock.offset_s
        return self.ahead_s if abs(self.ahead_s) > _STORING_S else 0.0
