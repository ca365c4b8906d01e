"""All modules with scenarios; importing them fills the catalogue."""

from __future__ import annotations

from tests.scenarios import (
    collectives,
    ends,
    hangs,
    hardware,
    history,
    meetings,
    memory,
    restarts,
    startups,
    throughput,
    training,
)

MODULES = (
    *(collectives, ends, hangs, hardware, history, memory),
    *(meetings, restarts, startups, throughput, training),
)
