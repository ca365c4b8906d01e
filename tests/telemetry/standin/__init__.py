"""A stand-in for the NVIDIA driver's library that simulates a scenario, without a GPU.

``environment(scenario, place)`` compiles ``libnvidia-ml.so.1`` (once), writes the scenario below
``place`` and returns the variables under which a child process loads it: the real binding asks the
dynamic linker for that name, and LD_LIBRARY_PATH comes before the system's directories.

The text of a scenario has one statement on a line; a line with ``#`` in front is a comment::

    clock start | epoch SECONDS | mtime FILE
    calls FILE
    text DEVICE NAME TEXT...
    curve DEVICE NAME SHAPE SECOND:VALUE...
    process DEVICE PID SHAPE SECOND:VALUE...
    event DEVICE SECOND TYPE DATA
    fails GPU FUNCTION CODE FROM UNTIL
    hangs GPU FUNCTION FROM UNTIL

DEVICE is ``system``, a GPU's number from 0, or ``GPU/K`` for its MIG device K; GPU is a number or
``*``.  SHAPE is ``step`` or ``linear``, and a curve keeps its first value before its first point
and its last one after its last.  PID is a number, or ``@FILE`` for the one that the file holds by
then; its curve is the memory it uses, ``nan`` if NVML does not know it, 0 or less if the process is
not there.  FUNCTION is a name of the C interface, ``*`` for all, ``field:ID`` for one field, or
``fields`` for several in one call.  CODE is NVML's; a call that hangs returns at UNTIL.  A value
without a line is not supported.  ``calls`` writes each call as ``FUNCTION GPU``.

The seconds of curves count from when the library is loaded, from an epoch, or from a file's time of
modification: several processes see the same clock, and a test moves it with ``os.utime``.

A symbol cannot be removed from a loaded library.  A function that fails with code 13 has the same
effect: the binding raises NVMLError_FunctionNotFound for that and for a missing symbol.
``environment(..., hidden=...)`` links a library that really lacks symbols, and a test does both.

An event is delivered once to each event set, unless it came before the GPU was registered with the
set; an event of ``GPU/K`` names K as its GPU instance.  Once a GPU is lost, waiting fails at once
for every set that it is registered with, as with NVIDIA's library.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from tests.telemetry.standin.build import library

VARIABLE = "STANDIN_NVML_SCENARIO"

NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, FUNCTION_NOT_FOUND = 3, 4, 9, 13
GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH, UNKNOWN = 15, 16, 18, 999
"""Codes with which functions fail."""

XID, ECC_CORRECTED, ECC_UNCORRECTED = 0x8, 0x1, 0x2
"""Types of events."""

ALL_LINKS = 0xFFFFFFFF
"""The scope of a field that counts for all NVLinks together."""

FOREVER = math.inf


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over seconds: in straight lines between its points, or in steps."""

    points: tuple[tuple[float, float], ...]
    step: bool = False

    def __str__(self) -> str:
        points = " ".join(f"{second!r}:{value!r}" for second, value in self.points)
        return f"{'step' if self.step else 'linear'} {points}"


def line(*points: tuple[float, float]) -> Curve:
    """Straight lines between (second, value) pairs."""
    return Curve(points)


def steps(*points: tuple[float, float]) -> Curve:
    """Each value from its second on."""
    return Curve(points, step=True)


Value = float | Curve
Key = int | tuple[int, int]
"""A field: its number, or number and scope."""


class Clock:
    """A clock that a test sets: the time of modification of a file."""

    def __init__(self, place: Path) -> None:
        self.path = place / "clock"
        self.path.touch()

    def set(self, second: float) -> None:
        """Set the clock to this second; it goes on from there."""
        zero = time.time() - second
        os.utime(self.path, (zero, zero))


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a GPU: its number, or the file that will hold it, and its bytes there."""

    pid: int | Path
    memory: Value


@dataclass(frozen=True, slots=True)
class GpuEvent:
    """An event of a type at a second; ``data`` is the number of an Xid."""

    at_s: float
    data: int = 0
    type: int = XID
    mig: int | None = None


@dataclass(frozen=True, slots=True)
class Mig:
    """A MIG device; its number as a GPU instance is its place in the GPU's list."""

    uuid: str
    memory_total: Value
    memory_used: Value
    activity: Mapping[int, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU.  Values are in NVML's units (bytes, percent, MHz, mW, degrees); None: not supported.

    ``fields`` are by id or (id, scope), ``types`` their types where they are not 64 bits, by id;
    ``activity`` are GPM's metrics by id; ``old`` are values of older functions by name.
    """

    uuid: str
    pci: str
    name: str | None = "NVIDIA H100 80GB HBM3"
    architecture: Value | None = 9
    capability: Value | None = 90
    memory_total: Value | None = 85_520_809_984
    memory_reserved: Value | None = 600_000_000
    memory_used: Value | None = 500_000_000
    utilization_gpu: Value | None = 0
    utilization_memory: Value | None = 0
    sm_clock: Value | None = 1980
    sm_clock_max: Value | None = 1980
    memory_clock: Value | None = 2619
    memory_clock_max: Value | None = 2619
    temperature: Value | None = 35
    slowdown: Value | None = 87
    shutdown: Value | None = 92
    power: Value | None = 110_000
    power_limit: Value | None = 700_000
    reasons: Value | None = 0
    ecc_mode: Value | None = 1
    mig_mode: Value | None = 0
    event_types: Value | None = XID | ECC_CORRECTED | ECC_UNCORRECTED
    fields: Mapping[Key, Value] = field(default_factory=dict)
    types: Mapping[int, int] = field(default_factory=dict)
    activity: Mapping[int, Value] = field(default_factory=dict)
    old: Mapping[str, Value] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    events: tuple[GpuEvent, ...] = ()
    mig: tuple[Mig, ...] = ()
    lost_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """A function that fails with a code, on one GPU or on every one, and for a while."""

    function: str
    code: int
    gpu: int | None = None
    from_s: float = 0.0
    until_s: float = FOREVER


@dataclass(frozen=True, slots=True)
class Hangs:
    """A function that does not come back before ``until_s`` when called after ``from_s``."""

    function: str
    gpu: int | None = None
    from_s: float = 0.0
    until_s: float = FOREVER


@dataclass(frozen=True, slots=True)
class Scenario:
    """A machine: its GPUs, and the faults of its library.

    ``clock`` is None for seconds since the library was loaded, an epoch in seconds, or a file whose
    time of modification is second 0.  ``calls`` is where calls are written.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: str = "550.54.15"
    nvml: str = "12.550.54.15"
    cuda: int = 12040
    clock: float | Path | None = None
    trouble: tuple[Fails | Hangs, ...] = ()
    calls: Path | None = None

    def __str__(self) -> str:
        return "".join(f"{statement}\n" for statement in self._statements())

    def _statements(self) -> Iterator[str]:
        match self.clock:
            case None:
                yield "clock start"
            case Path():
                yield f"clock mtime {_word(self.clock)}"
            case _:
                yield f"clock epoch {self.clock!r}"
        if self.calls is not None:
            yield f"calls {_word(self.calls)}"
        yield f"text system driver {self.driver}"
        yield f"text system nvml {self.nvml}"
        yield f"curve system cuda {_curve(self.cuda)}"
        for index, gpu in enumerate(self.gpus):
            yield from _gpu(index, gpu)
        for trouble in self.trouble:
            where = "*" if trouble.gpu is None else trouble.gpu
            times = f"{trouble.from_s!r} {trouble.until_s!r}"
            if isinstance(trouble, Fails):
                yield f"fails {where} {trouble.function} {trouble.code} {times}"
            else:
                yield f"hangs {where} {trouble.function} {times}"


def _gpu(index: int, gpu: Gpu) -> Iterator[str]:
    yield f"text {index} uuid {gpu.uuid}"
    yield f"text {index} pci {gpu.pci}"
    if gpu.name is not None:
        yield f"text {index} name {gpu.name}"
    yield from (f"text {index} type:{key} {kind}" for key, kind in gpu.types.items())
    yield from (f"curve {index} {name} {_curve(value)}" for name, value in _values(gpu))
    for process in gpu.processes:
        pid = process.pid if isinstance(process.pid, int) else f"@{_word(process.pid)}"
        yield f"process {index} {pid} {_curve(process.memory)}"
    for event in gpu.events:
        device = index if event.mig is None else f"{index}/{event.mig}"
        yield f"event {device} {event.at_s!r} {event.type} {event.data}"
    for number, mig in enumerate(gpu.mig):
        yield f"text {index}/{number} uuid {mig.uuid}"
        yield f"curve {index}/{number} memory_total {_curve(mig.memory_total)}"
        yield f"curve {index}/{number} memory_used {_curve(mig.memory_used)}"
        for metric, value in mig.activity.items():
            yield f"curve {index}/{number} gpm:{metric} {_curve(value)}"
    if gpu.lost_at_s is not None:
        yield f"fails {index} * {GPU_IS_LOST} {gpu.lost_at_s!r} inf"


def _values(gpu: Gpu) -> Iterator[tuple[str, Value]]:
    for attribute in fields(gpu):
        value = getattr(gpu, attribute.name)
        if isinstance(value, int | float | Curve) and attribute.name != "lost_at_s":
            yield attribute.name, value
    for which, value in gpu.fields.items():
        key, scope = which if isinstance(which, tuple) else (which, 0)
        yield f"field:{key}{f'@{scope}' if scope else ''}", value
    yield from ((f"gpm:{metric}", value) for metric, value in gpu.activity.items())
    yield from ((f"old:{name}", value) for name, value in gpu.old.items())


def _curve(value: Value) -> Curve:
    return value if isinstance(value, Curve) else steps((0, value))


def _word(path: Path) -> str:
    if any(character.isspace() for character in str(path)):
        raise ValueError(f"a scenario cannot name a path with white space: {path}")
    return str(path)


def gpu(index: int = 0) -> Gpu:
    """A healthy data-centre GPU that does nothing; vary it with ``dataclasses.replace``."""
    counters = (3, 4, 38, 52, 59, 74, 75, 94, 142, 143, 144, 145, 179, 180, 230, 269, 270, 271)
    return Gpu(
        uuid=f"GPU-00000000-0000-0000-0000-{index:012d}",
        pci=f"00000000:{0x1B + index:02X}:00.0",
        fields={82: 40, **dict.fromkeys(counters, 0)},
        types={82: 1, 144: 1, 145: 1, 230: 1},
        activity={2: 0.0, 3: 0.0, 5: 0.0, 10: 0.0},
    )


def environment(scenario: Scenario, place: Path, hidden: tuple[str, ...] = ()) -> dict[str, str]:
    """The variables under which a process finds this machine; the scenario is written to ``place``.

    The library that these name lacks the functions in ``hidden``.  Raises as :func:`library` does.
    """
    place.mkdir(parents=True, exist_ok=True)
    text = place / "nvml.scenario"
    text.write_text(str(scenario))
    before = os.environ.get("LD_LIBRARY_PATH")
    path = f"{library(hidden)}:{before}" if before else str(library(hidden))
    return {"LD_LIBRARY_PATH": path, VARIABLE: str(text)}
