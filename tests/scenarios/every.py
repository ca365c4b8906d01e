"""All modules with scenarios; importing them fills the catalogue."""

from __future__ import annotations

from tests.scenarios import (
    collectives,
    ends,
    hangs,
    hardware,
    history,
    lost_ranks,
    meetings,
    memory,
    restarts,
    scheduler,
    startups,
    throughput,
    training,
)

MODULES = (
    *(collectives, ends, hangs, hardware, history, lost_ranks, memory),
    *(meetings, restarts, scheduler, startups, throughput, training),
)
