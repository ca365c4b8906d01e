"""Runs on GPUs that fail, throttle or lag, and runs that only resemble them."""

from __future__ import annotations

from random import Random

from gpualert_common.diagnose.phenomena.hardware._xids import XIDS, XidOwner
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.catalogue import near_miss, scenario
from tests.scenarios.logs import falling, hugging_face, of_rank, some_steps, traceback
from tests.scenarios.scene import Card, Curve, Scene, flat, pci, rising, steps

CUDA_ERROR = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 88, in <module>\n'
    "    loss.item()\n"
    "torch.AcceleratorError: CUDA error: {what}\n"
    "CUDA kernel errors might be asynchronously reported at some other API call.\n"
)
NCCL = (
    "[rank{rank}]:[E1120 09:33:58.904 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=81, OpType=ALLREDUCE, NumelIn=1024, "
    "NumelOut=1024, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
)
FATAL = [number for number, xid in XIDS.items() if xid.owner is XidOwner.HARDWARE]
OF_THE_PROGRAM = [number for number, xid in XIDS.items() if xid.owner is XidOwner.APPLICATION]


def xid(number: int, index: int, by: str = "kernel_log") -> SourceEvent:
    """Return an Xid as the kernel's log or NVML reports it."""
    if by == "nvml":
        return SourceEvent("xid", f"gpu:{index}", f"Xid {number}", {"xid": number, "gpu": index})
    place = pci(index)
    text = f"NVRM: Xid (PCI:{place}): {number}, pid='<unknown>', name=<unknown>"
    return SourceEvent("xid", f"pci:{place}", text, {"xid": number, "pci": place})


def report_xid(number: int, index: int, at: float) -> list[tuple[str, float, SourceEvent]]:
    """Return the same Xid from both sources."""
    return [(by, at, xid(number, index, by)) for by in ("kernel_log", "nvml")]


def _cards(count: int) -> list[Card]:
    return [Card() for _ in range(count)]


def _soon(chance: Random) -> float:
    """Return a time, seconds to minutes before the end of an hour."""
    return 1.0 - chance.uniform(5.0, 600.0) / 3600.0


@scenario("B2", "gpu_hardware", real_s=7)
def fatal_xid(chance: Random) -> Scene:
    """An Xid of the hardware, and then an error of CUDA."""
    what = chance.choice(("unspecified launch failure", "an illegal memory access was encountered"))
    cards = _cards(chance.choice((1, 4, 8)))
    return Scene(
        cards=cards,
        code=1,
        log=of_rank(chance, CUDA_ERROR.format(what=what)),
        events=report_xid(chance.choice(FATAL), chance.randrange(len(cards)), _soon(chance)),
    )


@scenario("B2", "gpu_hardware", real_s=7)
def lost_gpu_in_a_collective(chance: Random) -> Scene:
    """A GPU falls off the bus; the other ranks wait until the watchdog stops them."""
    lost = SourceEvent("gpu_lost", "gpu:0", "GPU 0 is lost", {"gpu": 0})
    events = [*report_xid(79, 0, _soon(chance)), ("nvml", 0.99, lost)]
    return Scene(cards=_cards(8), code=-6, log=NCCL.format(rank=3), events=events)


@scenario("B2", "gpu_hardware")
def memory_errors_rise(chance: Random) -> Scene:
    """The counter of uncorrectable errors rises in a container, where no Xid can be read."""
    after = chance.uniform(0.8, 0.999)
    errors = steps((0.0, 2.0), (after, 2.0 + chance.randint(1, 9)))
    cards = _cards(chance.choice((1, 2, 8)))
    chance.choice(cards).counters = {"ecc_uncorrected_total": errors}
    devices = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(len(cards))))}
    log = "step 4 loss 1.2\n"
    return Scene(cards=cards, code=-11, log=log, variables=devices, missing=["kernel_log"])


@scenario("B2", "gpu_hardware", real_s=7)
def killed_after_xid(chance: Random) -> Scene:
    """A scheduler kills the run minutes after its GPU had a fault."""
    return Scene(
        cards=_cards(2),
        code=-9,
        events=report_xid(chance.choice(FATAL), 0, _soon(chance)),
        missing=chance.choice(((), ("cgroup",))),
    )


@scenario("B2", "gpu_hardware", real_s=7)
def follow_on_and_root(chance: Random) -> Scene:
    """An Xid of the hardware, and those that follow it."""
    at = _soon(chance)
    numbers = (chance.choice(FATAL), 45, 45, 154)
    events = [
        one for n, number in enumerate(numbers) for one in report_xid(number, 0, at + n / 36000)
    ]
    log = CUDA_ERROR.format(what="unspecified launch failure")
    return Scene(cards=_cards(4), code=1, log=log, events=events)


@near_miss("B2", "cuda_runtime", real_s=7)
def xid_of_the_program(chance: Random) -> Scene:
    """The driver reports an error of the program."""
    log = CUDA_ERROR.format(what="an illegal memory access was encountered")
    events = report_xid(chance.choice(OF_THE_PROGRAM), 0, _soon(chance))
    return Scene(cards=_cards(2), code=1, log=log, events=events)


@near_miss("B2", "traceback", family=None)
def xid_of_a_stranger(chance: Random) -> Scene:
    """A GPU that the run does not use fails during the run."""
    cards = [Card(), Card(used=False)]
    log = "Traceback (most recent call last):\n  File \"t.py\", line 2\nKeyError: 'x'\n"
    events = report_xid(chance.choice(FATAL), 1, _soon(chance))
    return Scene(cards=cards, code=1, log=log, events=events)


@near_miss("B2", "cuda_runtime", real_s=7)
def latent_errors(chance: Random) -> Scene:
    """Errors from before the run, which fails for another reason."""
    before = steps((0.0, float(chance.randint(1, 40))))
    log = CUDA_ERROR.format(what="device-side assert triggered")
    card = Card(counters={"ecc_uncorrected_total": before})
    return Scene(cards=[card], code=1, log=log)


@near_miss("B2", "killed_unknown", real_s=7)
def only_follow_ons(chance: Random) -> Scene:
    """The clean-up after a program that a person killed."""
    events = report_xid(45, 0, 0.999)
    return Scene(cards=_cards(chance.choice((1, 8))), code=-9, events=events)


@near_miss("B2", "cuda_runtime", real_s=7)
def error_of_the_program_alone(chance: Random) -> Scene:
    """No source reports anything about the GPU."""
    what = chance.choice(
        ("device-side assert triggered", "an illegal memory access was encountered")
    )
    return Scene(cards=_cards(4), code=1, log=CUDA_ERROR.format(what=what))


def _throttled(chance: Random, kind: str, clock: Curve) -> Card:
    share = chance.uniform(0.4, 1.0)
    after = chance.uniform(0.3, 0.5)
    return Card(
        clock=clock,
        counters={f"throttled_{kind}_ns_total": rising(3600e9 * share, after)},
    )


@scenario("B3", "throttling", weaker=("none",))
def overheated(chance: Random) -> Scene:
    """A card is slowed down by heat for the later part of the run, and its clock falls."""
    clock = steps((0.0, 1755.0), (0.45, chance.uniform(600.0, 1500.0)))
    kind = chance.choice(("hw_thermal", "sw_thermal"))
    return Scene(cards=[_throttled(chance, kind, clock), *_cards(chance.choice((0, 3)))])


@scenario("B3", "throttling", weaker=("none",))
def short_of_power(chance: Random) -> Scene:
    """A power brake slows a card down."""
    clock = steps((0.0, 1755.0), (0.45, chance.uniform(500.0, 1100.0)))
    return Scene(cards=[_throttled(chance, "hw_power_brake", clock)])


@scenario("B3", "throttling")
def overheated_without_counters(chance: Random) -> Scene:
    """An old driver reports only the current state."""
    at = chance.uniform(0.3, 0.45)
    clock = steps((0.0, 1755.0), (at, 900.0))
    card = Card(clock=clock, gauges={"hw_thermal_slowdown": steps((0.0, 0.0), (at, 1.0))})
    return Scene(cards=[card])


@scenario("B3", "throttling")
def overheated_in_the_middle(chance: Random) -> Scene:
    """A card is hot from the middle on, in a run of a day."""
    clock = steps((0.0, 1755.0), (0.5, chance.uniform(700.0, 1300.0)))
    card = Card(clock=clock, counters={"throttled_hw_thermal_ns_total": rising(86400e9, 0.5)})
    return Scene(cards=[card], seconds=86400.0)


@scenario("B3", "throttling", weaker=("none", "straggler"))
def overheated_among_peers(chance: Random) -> Scene:
    """One of eight cards is hot."""
    clock = steps((0.0, 1755.0), (0.4, chance.uniform(900.0, 1300.0)))
    return Scene(cards=[*_cards(7), _throttled(chance, "hw_thermal", clock)])


@near_miss("B3", "none", health="unverifiable", real_s=100)
def at_its_power_limit(chance: Random) -> Scene:
    """A card at its power cap, as is normal under full load."""
    card = Card(
        clock=steps((0.0, 1755.0), (0.1, 1600.0)),
        counters={"throttled_power_ns_total": rising(3600e9 * chance.uniform(0.5, 1.0))},
    )
    return Scene(cards=[card])


@near_miss("B3", "none", health="unverifiable")
def short_spells(chance: Random) -> Scene:
    """A card is hot now and then."""
    share = chance.uniform(0.02, 0.4)
    card = Card(counters={"throttled_sw_thermal_ns_total": rising(3600e9 * share)})
    return Scene(cards=[card])


@near_miss("B3", "none", health="unverifiable", real_s=100)
def clocks_were_set(chance: Random) -> Scene:
    """An administrator set all clocks low."""
    return Scene(cards=[Card(clock=lambda _part: 1005.0) for _ in range(chance.choice((1, 8)))])


@near_miss("B3", "traceback", family=None, real_s=160)
def failed_while_hot(chance: Random) -> Scene:
    """A bug ends a run on a hot card."""
    clock = steps((0.0, 1755.0), (0.45, 900.0))
    log = "Traceback (most recent call last):\n  File \"t.py\", line 2\nKeyError: 'x'\n"
    return Scene(cards=[_throttled(chance, "hw_thermal", clock)], code=1, log=log)


@near_miss("B3", "none", health="unverifiable", real_s=100)
def stranger_is_hot(chance: Random) -> Scene:
    """A card that the run does not use is hot."""
    hot = _throttled(chance, "hw_thermal", steps((0.0, 1755.0), (0.45, 700.0)))
    hot.used = False
    return Scene(cards=[Card(), hot])


def _among(chance: Random, slow: Card, least: int = 4) -> list[Card]:
    """Return a card among peers with normal differences, at any place."""
    count = chance.choice([number for number in (4, 8) if number >= least])
    cards = [Card(clock=flat(chance.uniform(1690, 1755))) for _ in range(count - 1)]
    cards.insert(chance.randrange(count), slow)
    return cards


def _trained(chance: Random, cards: list[Card], **more: float) -> Scene:
    return Scene(log=hugging_face(chance, falling(chance)), cards=cards, **more)  # type: ignore[arg-type]


@scenario("D3", "straggler", weaker=("none",), real_s=150)
def one_is_slow(chance: Random) -> Scene:
    """One of the cards runs at a low clock from the start."""
    return _trained(chance, _among(chance, Card(clock=flat(chance.uniform(400.0, 1500.0)))))


@scenario("D3", "straggler", real_s=150)
def one_has_power_of_a_half(chance: Random) -> Scene:
    """One has a power limit that an administrator forgot to remove."""
    clock = flat(chance.uniform(500.0, 1150.0))
    card = Card(clock=clock, counters={"throttled_power_ns_total": rising(3600e9)})
    return _trained(chance, _among(chance, card))


@scenario("D3", "straggler")
def slow_from_the_first_third_on(chance: Random) -> Scene:
    """One becomes slow after a while and stays slow."""
    at = chance.uniform(0.05, 0.35)
    clock = steps((0.0, 1740.0), (at, chance.uniform(300.0, 1150.0)))
    return _trained(chance, _among(chance, Card(clock=clock)))


@scenario("D3", "straggler")
def slow_by_its_own_measure(chance: Random) -> Scene:
    """Cards of two kinds, one of them far below its own maximum."""
    clock, highest = flat(chance.uniform(400, 1000)), {"sm_clock_max_mhz": flat(1980.0)}
    cards = _among(chance, Card(clock=clock))
    for card in cards:
        card.gauges = highest
    return _trained(chance, cards)


@scenario("D3", "straggler")
def slow_for_a_day(chance: Random) -> Scene:
    """In a run of a day, whose older samples are thinned."""
    clock = flat(chance.uniform(400.0, 1200.0))
    return _trained(chance, _among(chance, Card(clock=clock), least=8), seconds=86400.0)


@near_miss("D3", "none", real_s=150)
def all_are_slow(chance: Random) -> Scene:
    """All cards run at a low clock."""
    clock = flat(chance.uniform(500.0, 1200.0))
    return _trained(chance, [Card(clock=clock) for _ in range(8)])


@near_miss("D3", "none", real_s=150)
def a_little_slower(chance: Random) -> Scene:
    """Cards with normal differences."""
    return _trained(chance, [Card(clock=flat(chance.uniform(1500, 1755))) for _ in range(8)])


@near_miss("D3", "none", real_s=150)
def one_idles(chance: Random) -> Scene:
    """One holds a model that is used now and then: its clock is that of an idle card."""
    idle = Card(clock=flat(chance.uniform(210, 600)), load=flat(0.0))
    return _trained(chance, _among(chance, idle))


@near_miss("D3", "none")
def cards_of_two_kinds(chance: Random) -> Scene:
    """One card of another model, at its normal clock."""
    other = Card(clock=flat(1000.0), gauges={"sm_clock_max_mhz": flat(1050.0)})
    cards = _among(chance, other)
    for card in cards:
        card.gauges = card.gauges or {"sm_clock_max_mhz": flat(1980.0)}
    return _trained(chance, cards)


@near_miss("D3", "none")
def slow_for_a_while(chance: Random) -> Scene:
    """One is behind for some minutes."""
    at = chance.uniform(0.0, 0.7)
    clock = steps((0.0, 1740.0), (at, chance.uniform(400, 1200)), (at + 0.1, 1740.0))
    return _trained(chance, _among(chance, Card(clock=clock)))


@near_miss("D3", "none", real_s=150)
def a_strangers_is_slow(chance: Random) -> Scene:
    """A card of another job."""
    slow = Card(used=False, memory=flat(0.0), clock=flat(chance.uniform(210, 900)))
    return _trained(chance, _among(chance, slow))


@scenario("B2", "gpu_hardware")
def rows_remapped(chance: Random) -> Scene:
    """A row is remapped after an uncorrectable error, and a kernel fails."""
    cards = _cards(chance.choice((1, 2, 8)))
    hurt, before = chance.randrange(len(cards)), chance.randint(0, 3)
    at = _soon(chance)
    rows = {"remapped_rows_uncorrected_total": steps((0.0, before), (at, before + 1))}
    cards[hurt].counters = rows
    what = chance.choice(("unspecified launch failure", "an illegal memory access was encountered"))
    events = report_xid(63, hurt, at)
    return Scene(cards=cards, code=1, log=CUDA_ERROR.format(what=what), events=events)


@near_miss("B2", "traceback", family=None)
def contained_and_a_bug(chance: Random) -> Scene:
    """A contained error, and a bug that ended the training minutes later."""
    at = 1.0 - chance.uniform(90, 3000) / 3600
    log = some_steps(chance) + traceback("KeyError: 'x'", "main", "step")
    cards = _cards(chance.choice((1, 4)))
    events = report_xid(chance.choice((63, 92, 94)), chance.randrange(len(cards)), at)
    return Scene(cards=cards, code=1, log=log, events=events)


@near_miss("B2", "none", real_s=7)
def survived_a_fault(chance: Random) -> Scene:
    """A contained error in a successful run."""
    events = report_xid(chance.choice((63, 92, 94)), 0, chance.uniform(0.1, 0.9))
    log = hugging_face(chance, falling(chance))
    return Scene(log=log, cards=_cards(chance.choice((1, 4))), events=events)


@near_miss("B2", "cuda_runtime")
def errors_of_a_neighbour(chance: Random) -> Scene:
    """A card of another job fails; in the container NVML shows no processes."""
    own, other = chance.sample(range(8), 2)
    cards = [Card(used=False, others_bytes=0) for _ in range(8)]
    cards[other].counters = {"ecc_uncorrected_total": steps((0.0, 0.0), (0.99, 3.0))}
    return Scene(
        cards=cards,
        code=1,
        log=CUDA_ERROR.format(what="an illegal memory access was encountered"),
        variables={"CUDA_VISIBLE_DEVICES": str(own)},
        missing=["kernel_log"],
    )


@near_miss("B2", "cuda_runtime")
def counter_of_unknown_age(chance: Random) -> Scene:
    """A counter above zero in a first sample that came late: it may be of the run, or older."""
    count = float(chance.randint(1, 40))
    card = Card(counters={"ecc_uncorrected_total": steps((0.0, count))})
    log = CUDA_ERROR.format(what="an illegal memory access was encountered")
    late_s = chance.uniform(4.0, 9.0)
    return Scene(cards=[card], code=1, log=log, seconds=90.0, first_sample_s=late_s)


@scenario("B2", "gpu_hardware", real_s=4)
def lost_in_a_short_run(chance: Random) -> Scene:
    """A GPU is lost in a run of seconds, before a sample shows who used it."""
    lost = SourceEvent("gpu_lost", "gpu:0", "GPU 0 is lost", {"gpu": 0})
    log = CUDA_ERROR.format(what="unspecified launch failure")
    card = Card(used=False, memory=flat(0.0))
    at = chance.uniform(0.3, 0.9)
    return Scene(cards=[card], code=1, log=log, seconds=4.0, events=[("nvml", at, lost)])


@near_miss("B2", "traceback", family=None, real_s=60)
def went_on_after_a_fault(chance: Random) -> Scene:
    """A GPU falls off the bus, but the training makes 25 more steps and fails at a bug."""
    count = 40
    log = "".join(f"step {step} loss {5 / step:.4f}\n" for step in range(1, count + 1))
    log += traceback("KeyError: 'labels'", "main", "step")
    seconds = chance.uniform(45.0, 75.0)
    return Scene(
        cards=_cards(1),
        code=1,
        log=log,
        seconds=seconds,
        events=report_xid(79, 0, chance.uniform(0.1, 0.3)),
        printed=lambda part: min(1.0, part),
    )


def _hot_for_minutes(chance: Random, slows: float) -> Scene:
    """Return a run of 150 s whose card is hot after 20 s; each step then takes longer."""
    at = 20 / 150
    count = 120
    log = "".join(f"step {step} loss {5 / step:.4f}\n" for step in range(1, count + 1))
    early = at * slows / (at * slows + 1 - at)
    clock = steps((0.0, 1980.0), (at, chance.uniform(880.0, 1100.0)))
    card = Card(clock=clock, counters={"throttled_hw_thermal_ns_total": rising(150e9, at)})
    return Scene(
        cards=[card],
        log=log,
        seconds=150.0,
        printed=lambda part: (
            early * part / at if part < at else early + (1 - early) * (part - at) / (1 - at)
        ),
    )


@scenario("B3", "throttling", weaker=("none",), real_s=150)
def hot_for_two_minutes(chance: Random) -> Scene:
    """A card is hot for 130 of 150 s, and the steps take twice as long."""
    return _hot_for_minutes(chance, chance.uniform(1.8, 2.5))


@near_miss("B3", "none", real_s=150)
def hot_but_as_fast(chance: Random) -> Scene:
    """A card is hot for 130 of 150 s, but the steps wait for something else."""
    return _hot_for_minutes(chance, 1.0)
