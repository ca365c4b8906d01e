"""A2, killed for want of memory.

The kernel's log names the process that it killed: where that is the run's, or in the run's cgroup,
the cause is ``oom_killer`` whatever the other processes said afterwards.  Without the log, a rise
of the kill counter of the run's cgroup says the same of some process in it.  A kill elsewhere on
the host is told and decides nothing; a SIGKILL while the kernel's log was read and names no kill
was sent by somebody.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import replace

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import TelemetryEvent

FAMILY = "A2"
_GONE = re.compile(
    r"(?i)closed by peer|reset by peer|peer (?:process )?(?:is |was )?(?:lost|gone|dead)"
)
_DETAILS = {
    "killed_pid": "pid",
    "killed_command": "process",
    "held_bytes": "anon_rss_bytes",
    "limit_kind": "limit_kind",
    "oom_memcg": "oom_memcg",
}
"""Names of the verdict's details, and of the event's fields."""
_OVER = frozenset(
    ("killed_unknown", "collective", "rendezvous", "runtime_error", "traceback", "segfault", "none")
)
"""What is said of a run whose process was killed, by its status and by those that are left."""


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What speaks for a kill for memory, or against it."""
    if not evidence.failed:
        return
    kills = evidence.happened("oom_kill", within_s=thresholds.KILL_BEFORE_END_S)
    ours = [kill for kill in kills if _is_ours(kill, evidence)]
    counted = [
        one
        for one in evidence.happened("cgroup_oom_kill", within_s=thresholds.KILL_BEFORE_END_S)
        if one.fields.get("own")  # else it may have been anybody below the same limit
    ]
    nobody_looked = not evidence.can_see("processes") and evidence.facts.code != -signal.SIGKILL
    unknown_kills = [kill for kill in kills if not _is_a_strangers(kill, evidence)]
    if ours:
        yield _killed(ours[-1], counted)
    elif unknown_kills and nobody_looked and evidence.resolution.cause == "killed_unknown":
        unknown = "whether it was of this run, which was over before its processes were looked at"
        likely = _killed(unknown_kills[-1], counted)
        yield replace(likely, confidence=0.85, cannot_decide=(unknown,))
    elif counted:
        yield Finding(
            FAMILY,
            Weight.DECIDES,
            "the kill counter of the run's cgroup rose",
            cause="oom_killer",
            confidence=0.93,
            over=_OVER,
            claims=(claim(counted[-1]),),
            details={"limit_kind": "cgroup", **_limit(counted[-1])},
            cannot_decide=("which process of the cgroup was killed: no kernel log tells it",),
        )
    elif kills:
        yield Finding(
            FAMILY,
            Weight.WARNS,
            f"{kills[-1].text}; it is not known to be of this run",
            kind="memory_kill_elsewhere",
        )
    elif evidence.resolution.cause == "killed_unknown" and _saw_everything(evidence):
        said = "the kernel's log has no kill for want of memory during the run"
        yield Finding(FAMILY, Weight.RULED_OUT, f"{said}, so somebody sent the SIGKILL")
        yield Finding(
            FAMILY,
            Weight.SUPPORTS,
            said,
            cause="killed_unknown",
            claims=(Claim(said, "kernel_log"),),
            details={"killed_by": "somebody"},
        )
    unseen = unknown_kills or not evidence.can_see("kernel_log")
    if unseen and _lost_a_peer(evidence):
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            "a peer was gone, and whether it was killed for want of memory could not be seen",
            cause="collective",
            confidence=0.7,
            cannot_decide=("why the peer was gone: it may have been killed for want of memory",),
        )


def _is_ours(kill: TelemetryEvent, evidence: Evidence) -> bool:
    if kill.fields.get("in_run"):
        return True
    pid = kill.fields.get("pid")
    known = {*evidence.pids, evidence.resolution.details.get("child_pid")}
    if pid is not None and pid in known:
        return True
    own = evidence.facts_of("cgroup").get("paths", {}).get("memory")
    killed_in = kill.fields.get("task_memcg") or kill.fields.get("oom_memcg")
    return bool(own) and own != "/" and killed_in == own


def _is_a_strangers(kill: TelemetryEvent, evidence: Evidence) -> bool:
    """True for a kill in another cgroup than the run's, or of what was not of its tree."""
    own = evidence.facts_of("cgroup").get("paths", {}).get("memory")
    killed_in = kill.fields.get("task_memcg")
    return kill.fields.get("in_run") is False or bool(own and killed_in and killed_in != own)


def _lost_a_peer(evidence: Evidence) -> bool:
    """True where all that is known is what those say who missed another rank."""
    if evidence.resolution.cause != "collective" or not evidence.telemetry.sources:
        return False
    said = [one.excerpt for one in evidence.resolution.evidence]
    return any(_GONE.search(text) for text in said)


def _killed(kill: TelemetryEvent, counted: list[TelemetryEvent]) -> Finding:
    said = {told: kill.fields.get(field) for told, field in _DETAILS.items()}
    limit = _limit(counted[-1]) if counted else {}
    return Finding(
        FAMILY,
        Weight.DECIDES,
        kill.text,
        cause="oom_killer",
        confidence=0.99,
        over=_OVER,
        claims=(claim(kill),),
        details={name: value for name, value in said.items() if value is not None} | limit,
    )


def _limit(counted: TelemetryEvent) -> dict[str, Scalar]:
    return {name: counted.fields[name] for name in ("limit_bytes",) if name in counted.fields}


def _saw_everything(evidence: Evidence) -> bool:
    """True where the silence of the kernel's log says that there was no kill."""
    return evidence.can_see("kernel_log") and not evidence.happened("kernel_log_overwritten")
