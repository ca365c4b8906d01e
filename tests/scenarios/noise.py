"""Noise around a run: other tenants, unrelated log lines, sources that fail."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gpualert_common import structs
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.scene import GIB, STRANGER, Card, Scene, flat, pci

_CHATTER = (
    "/opt/lib/torch/utils/data/dataloader.py:627: UserWarning: This DataLoader will create 16\n",
    "wandb: Tracking run with wandb version 0.19.8\n",
    "INFO:root:config loaded, 3 overrides\n",
    "WARNING:absl:errors in the optional profiler plugin are ignored\n",
    "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n",
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.\n",
    "tokenizers: the current process just got forked, after parallelism has already been used\n",
    "Some weights of Net were not initialized from the model checkpoint at base: ['head.w']\n",
    "2026-11-20 09:33:58,904 INFO cache miss for shard 00017, fetching\n",
)
_SOURCES = ("nvml", "kernel_log", "cgroup", "processes", "pressure", "checkpoints")


def disturbed(scene: Scene, chance: Random) -> Scene:
    """The same run among others: further GPUs, lines of libraries, events of other tenants."""
    scene = _with_neighbours(scene, chance)
    scene = replace(scene, log=_with_chatter(scene.log, chance))
    strangers = [_of_a_stranger(scene, chance) for _ in range(chance.randint(0, 3))]
    return replace(scene, events=[*scene.events, *strangers])


def with_sources_missing(scene: Scene, chance: Random) -> Scene:
    """Return the same run with some sources missing."""
    gone = chance.sample(_SOURCES, chance.randint(1, len(_SOURCES)))
    return replace(scene, missing=sorted({*scene.missing, *gone}))


def _with_neighbours(scene: Scene, chance: Random) -> Scene:
    """GPUs of others come first, so that those of the run have other numbers."""
    if not any(card.used for card in scene.cards):
        return scene
    before = [_of_others(chance) for _ in range(chance.choice((0, 0, 1, 3)))]
    shift = len(before)
    events = [(source, at, _moved(event, shift)) for source, at, event in scene.events]
    return replace(scene, cards=[*before, *scene.cards], events=events)


def _of_others(chance: Random) -> Card:
    held = chance.randint(0, 70) * GIB
    load, clock = chance.uniform(0, 100), chance.uniform(210, 1980)
    return Card(used=False, memory=flat(0.0), others_bytes=held, load=flat(load), clock=flat(clock))


def _moved(event: SourceEvent, shift: int) -> SourceEvent:
    kind, _, place = event.of.partition(":")
    fields = dict(event.fields)
    if "gpu" in fields:
        fields["gpu"] += shift
    if kind == "gpu":
        return structs.replace(event, of=f"gpu:{int(place) + shift}", fields=fields)
    if "pci" in fields:
        moved = pci(int(fields["pci"].split(":")[1], 16) - 1 + shift)
        text = event.text.replace(str(fields["pci"]), moved)
        return structs.replace(event, of=f"pci:{moved}", text=text, fields={**fields, "pci": moved})
    return event


def _with_chatter(log: str, chance: Random) -> str:
    """Lines of libraries before it, and anywhere before its first traceback."""
    lines = log.splitlines(keepends=True)
    ends = next((at for at, line in enumerate(lines) if "Traceback" in line), len(lines))
    for _ in range(chance.randint(0, 12)):
        lines.insert(
            chance.randint(0, ends) if chance.random() < 0.3 else 0, chance.choice(_CHATTER)
        )
        ends += 1
    return "".join(lines)


def _of_a_stranger(scene: Scene, chance: Random) -> tuple[str, float, SourceEvent]:
    """Return kernel messages at any time that do not concern the run."""
    at = chance.uniform(0.0, 1.0)
    unused = [index for index, card in enumerate(scene.cards) if not card.used]
    killed = {
        "pid": STRANGER + chance.randint(1, 90),
        "process": "java",
        "limit_kind": "cgroup",
        "task_memcg": "/system/other",
        "oom_memcg": "/system/other",
    }
    kinds = [
        SourceEvent("oom_kill", f"pid:{killed['pid']}", "the kernel killed a stranger", killed),
        SourceEvent("segfault", "pid:901", "cron[901]: segfault in libc", {"pid": 901}),
        SourceEvent("link_up", "net:eth1", "eth1: link up", {}),
    ]
    if unused:
        index = chance.choice(unused)
        number = chance.choice((13, 31, 43, 48, 63, 79, 94))
        fields = {"xid": number, "pci": pci(index)}
        kinds.append(
            SourceEvent("xid", f"pci:{pci(index)}", f"NVRM: Xid {number} elsewhere", fields)
        )
    return "kernel_log", at, chance.choice(kinds)
