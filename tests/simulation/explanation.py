"""Explanation of one simulated job: its nodes, its files, and its alerts."""

from __future__ import annotations

from collections import Counter

from gpualert_common.jobs.digests.digest_codec import decode_file
from gpualert_common.jobs.job_directory import AlertClaim
from tests.simulation.job import SimulatedJob
from tests.simulation.trial import assess_outcome, plan_job, simulate

_MOST_NODES = 12


def explain(fault: str, disturbance: str, seed: int, nodes: int) -> str:
    """Return one variant in words; times are seconds since the fault."""
    job = plan_job(fault, disturbance, seed, nodes)
    outcome, place = simulate(job)
    lines = [f"{fault} with {disturbance}, seed {seed}, {nodes} nodes, truth {job.truth}"]
    lines.append(f"interval {job.interval_s:.0f} s, store clock {job.store_offset_s}")
    counts = Counter(node.ending for node in job.nodes)
    lines.append(f"ends: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    lines += _format_nodes(job)
    for path, files in place.folders.items():
        if path.endswith("/alerts"):
            for name, (data, _at) in sorted(files.items()):
                lines.append(f"claim {name}: {decode_file(AlertClaim, data)}")
    for sent in outcome.alerts:
        step = sent.step
        lines.append(
            f"{sent.at - job.fault_at:8.1f} {step.action} {step.attempt}-{step.number} by"
            f" {sent.by}: {step.because}"
        )
        if step.report is not None:
            verdict = step.report.verdict
            lines.append(f"    {verdict.cause} on {verdict.host}: {verdict.headline}")
            lines.append(f"    implies {verdict.implies}")
            lines += [f"    shows {claim.source}: {claim.claim}" for claim in verdict.shows]
            lines += [f"    warns {one.kind}: {one.text}" for one in verdict.warnings]
            lines.append(f"    details {verdict.details}")
            parts = Counter((node.part.value, node.state.value) for node in step.report.nodes)
            lines.append(f"    nodes {dict(parts)}, attempt {step.report.attempt}")
    lines.append(str(assess_outcome(job, seed, outcome, 0.0)))
    return "\n".join(lines)


def _format_nodes(job: SimulatedJob) -> list[str]:
    named = [node for node in job.nodes if node.host in job.truth.culprits]
    first = sorted(job.nodes, key=lambda node: node.failed_at or job.fault_at)
    shown = list(dict.fromkeys((*named, *first)))[:_MOST_NODES]
    return [
        f"{node.host} {node.ranks}: {node.ending}"
        f" failed {_since(job, node.failed_at)}, ended {_since(job, node.ended_at)},"
        f" dead {_since(job, node.dead_at)}, sender dead {_since(job, node.sender_dead_at)},"
        f" first renewal {_since(job, node.heard_from)}, clock {node.clock_offset_s:.2f}"
        f" known as {node.clock}, {node.store}"
        for node in shown
    ]


def _since(job: SimulatedJob, at: float | None) -> str:
    return "never" if at is None else f"{at - job.fault_at:.1f}"
