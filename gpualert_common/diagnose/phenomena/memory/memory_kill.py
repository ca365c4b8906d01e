"""Killed by the kernel because memory ran out.

The kernel's log names the process that it killed.  Where that belongs to the run, or to the run's
cgroup, the cause is ``oom_killer``, whatever the other processes reported afterwards.  Without the
log, a rise of the kill counter of the run's cgroup shows a kill of some process in it.  A kill
elsewhere on the host is a warning.  When the kernel's log was available and names no kill, a
process or a person sent the SIGKILL.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from gpualert_common.classify.details import Scalar
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, claim_of_event
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.model import Claim
from gpualert_common.structs import replace
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
"""Names of the verdict's details, with those of the event's fields."""
_OVER = frozenset(
    ("killed_unknown", "collective", "rendezvous", "runtime_error", "traceback", "segfault", "none")
)
"""Causes that the exit status and the remaining processes suggest after a kill."""


def diagnose(evidence: Evidence) -> Iterator[Finding]:
    """Yield the kill, or the evidence against one."""
    if not evidence.has_failed:
        yield from _rule_out(evidence)
        return
    kills = evidence.events("oom_kill", within_s=thresholds.KILL_BEFORE_END_S)
    ours = [kill for kill in kills if _is_ours(kill, evidence)]
    counted = [
        one
        for one in evidence.events("cgroup_oom_kill", within_s=thresholds.KILL_BEFORE_END_S)
        if one.fields.get("own")  # else it may be any process below the same limit
    ]
    was_unsampled = (
        not evidence.is_available("processes") and evidence.facts.code != -signal.SIGKILL
    )
    unknown_kills = [kill for kill in kills if not _is_foreign(kill, evidence)]
    if ours:
        yield _make_finding(ours[-1], counted)
    elif unknown_kills and was_unsampled and evidence.resolution.cause == "killed_unknown":
        unknown = "whether it belonged to this run, which ended before its processes were sampled"
        likely = _make_finding(unknown_kills[-1], counted)
        yield replace(likely, confidence=0.85, cannot_decide=(unknown,))
    elif counted:
        yield Finding(
            FAMILY,
            Weight.DECIDES,
            "the kill counter of the run's cgroup rose",
            cause="oom_killer",
            confidence=0.93,
            over=_OVER,
            claims=(claim_of_event(counted[-1]),),
            details={"limit_kind": "cgroup", **_limit(counted[-1])},
            cannot_decide=("which process of the cgroup was killed: no kernel log names it",),
        )
    elif kills:
        yield Finding(
            FAMILY,
            Weight.WARNS,
            f"{kills[-1].text}; it is not known to belong to this run",
            kind="memory_kill_elsewhere",
        )
    elif evidence.resolution.cause == "killed_unknown" and _is_log_complete(evidence):
        because = "the kernel log has no out-of-memory kill during the run"
        yield Finding(FAMILY, Weight.RULED_OUT, f"{because}, so another process sent the SIGKILL")
        yield Finding(
            FAMILY,
            Weight.SUPPORTS,
            because,
            cause="killed_unknown",
            claims=(Claim(because, "kernel_log"),),
            details={"killed_by": "somebody"},
        )
    is_unseen = unknown_kills or not evidence.is_available("kernel_log")
    if is_unseen and _has_lost_peer(evidence):
        yield Finding(
            FAMILY,
            Weight.DOUBTS,
            "a peer was lost, and no source shows whether it was killed for memory",
            cause="collective",
            confidence=0.7,
            cannot_decide=("why the peer was lost: it may have been killed for memory",),
        )


def _rule_out(evidence: Evidence) -> Iterator[Finding]:
    """Yield the evidence that a successful run lost no process."""
    kills = evidence.events("oom_kill", "cgroup_oom_kill")
    if evidence.is_completed and _is_log_complete(evidence) and not kills:
        because = "the kernel log has no out-of-memory kill during the run"
        yield Finding(FAMILY, Weight.RULED_OUT, because)


def _is_ours(kill: TelemetryEvent, evidence: Evidence) -> bool:
    if kill.fields.get("in_run"):
        return True
    pid = kill.fields.get("pid")
    known = {*evidence.pids, evidence.resolution.details.get("child_pid")}
    if pid is not None and pid in known:
        return True
    own = evidence.get_facts("cgroup").get("paths", {}).get("memory")
    killed_in = kill.fields.get("task_memcg") or kill.fields.get("oom_memcg")
    return bool(own) and own != "/" and killed_in == own


def _is_foreign(kill: TelemetryEvent, evidence: Evidence) -> bool:
    """Return whether a kill was in another cgroup than the run's, or outside its process tree."""
    own = evidence.get_facts("cgroup").get("paths", {}).get("memory")
    killed_in = kill.fields.get("task_memcg")
    return kill.fields.get("in_run") is False or bool(own and killed_in and killed_in != own)


def _has_lost_peer(evidence: Evidence) -> bool:
    """Return whether only the reports of ranks that lost a peer are known."""
    if evidence.resolution.cause != "collective" or not evidence.telemetry.sources:
        return False
    return any(_GONE.search(one.excerpt) for one in evidence.resolution.evidence)


def _make_finding(kill: TelemetryEvent, counted: list[TelemetryEvent]) -> Finding:
    details = {name: kill.fields.get(field) for name, field in _DETAILS.items()}
    limit = _limit(counted[-1]) if counted else {}
    return Finding(
        FAMILY,
        Weight.DECIDES,
        kill.text,
        cause="oom_killer",
        confidence=0.99,
        over=_OVER,
        claims=(claim_of_event(kill),),
        details={name: value for name, value in details.items() if value is not None} | limit,
    )


def _limit(counted: TelemetryEvent) -> dict[str, Scalar]:
    return {name: counted.fields[name] for name in ("limit_bytes",) if name in counted.fields}


def _is_log_complete(evidence: Evidence) -> bool:
    """Return whether a kernel log without a kill proves that there was none."""
    return evidence.is_available("kernel_log") and not evidence.events("kernel_log_overwritten")
