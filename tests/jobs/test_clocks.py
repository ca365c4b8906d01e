"""Clocks of nodes: the offset that the store and the peers show holds the true one."""

from __future__ import annotations

import heapq
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.jobs.digests.digest import (
    ClockBasis,
    ClockOffset,
    Digest,
    DigestState,
)
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.renewal.clock_exchange import ClockExchange, ExchangeTimes
from gpualert_common.jobs.renewal.clocks import (
    BoundedOffset,
    ClockInterval,
    OwnClock,
    bound_by_stamp,
    choose_offset,
    correct_time,
)
from gpualert_common.jobs.renewal.renewal_schedule import (
    LEAST_DISTANCE_S,
    LEAST_INTERVAL_S,
    MOST_INTERVAL_S,
    RenewalSchedule,
    find_interval_s,
)
from tests.jobs.stamping_store import SharedFiles, StampingStore

EPOCH = 1_800_000_000.0
OFFSETS = st.floats(-600.0, 600.0)
SHORT = st.floats(0.0, 5.0)


class ClockedNode:
    """A node with a wrong clock, which renews its digest through the real exchange."""

    def __init__(
        self, index: int | None, offset_s: float, shared: SharedFiles, world: ClockedNodes
    ) -> None:
        self.run_id = f"run-{index}-{offset_s:.3f}"
        self.index = index
        self.offset_s = offset_s
        self.world = world
        self.step_s = 0.0
        stamp = world.stamp_own if world.has_own_clock else self.now
        self.store = StampingStore(shared, stamp, world.elapse)
        times = ExchangeTimes(self.now, lambda: world.at)
        self.exchange = ClockExchange(JobDirectory(self.store, "job"), times)
        self.requests_of_renewal = 0

    def now(self) -> float:
        """Return the time by the clock of this node."""
        return self.world.at + self.offset_s + self.step_s

    def renew(self) -> None:
        """Renew the digest as the program does."""
        before = self.store.requests
        digest = self.make_digest()
        self.exchange.write(digest)
        self.exchange.read_reference(self.run_id)
        self.exchange.serve(digest)
        self.requests_of_renewal = self.store.requests - before

    def make_digest(self) -> Digest:
        """Return the digest as it is now."""
        return Digest(
            job="job",
            run_id=self.run_id,
            host=f"node{self.index}",
            at=self.now(),
            state=DigestState.RUNNING,
            node=self.index,
            started_at=self.now(),
            clock=self.exchange.offset,
        )


class ClockedNodes:
    """Nodes and a store in virtual time; the stamps are those of the store or of the writers."""

    def __init__(self, seed: int, *, has_own_clock: bool, store_offset_s: float = 0.0) -> None:
        self.at = EPOCH
        self.has_own_clock = has_own_clock
        self.store_offset_s = store_offset_s
        self.rounds_stamps = False
        self.random = random.Random(seed)
        self.shared = SharedFiles()
        self.nodes: list[ClockedNode] = []

    def stamp_own(self) -> float:
        """Return the time by the clock of the store."""
        stamp = self.at + self.store_offset_s
        return float(math.floor(stamp)) if self.rounds_stamps else stamp

    def elapse(self) -> None:
        """Let a part of a request take its time."""
        self.at += self.random.uniform(0.0, 0.05)

    def add(self, offset_s: float, *, index: int | None = None) -> ClockedNode:
        """Return a new node; without an index, the next one."""
        node = ClockedNode(len(self.nodes) if index is None else index, offset_s, self.shared, self)
        self.nodes.append(node)
        return node

    def run(self, renewals: int, interval_s: float = 10.0) -> None:
        """Let each living node renew its digest so often."""
        due = [(self.at + self.random.uniform(0, interval_s), n) for n in range(len(self.nodes))]
        heapq.heapify(due)
        for _renewal in range(renewals * len(self.nodes)):
            at, number = heapq.heappop(due)
            self.at = max(self.at, at)
            self.nodes[number].renew()
            heapq.heappush(due, (at + interval_s * self.random.uniform(0.9, 1.1), number))

    def find_differences(self) -> list[float]:
        """Return how far the corrected clocks of the nodes are from the first one's."""
        corrected = [node.now() - node.exchange.offset.offset_s for node in self.nodes]
        return [abs(one - corrected[0]) for one in corrected]


@given(OFFSETS, SHORT, SHORT, st.booleans())
def test_offset_to_the_store_lies_in_the_bounds(
    offset_s: float, until_stamp_s: float, after_stamp_s: float, is_whole: bool
) -> None:
    """The true offset to the clock of the store lies in the bounds of a stamp, whole or not."""
    stamped_at = EPOCH + until_stamp_s
    stamp = float(math.floor(stamped_at)) if is_whole else stamped_at
    before, after = EPOCH + offset_s, stamped_at + after_stamp_s + offset_s
    bounds = bound_by_stamp(before, stamp, after)
    assert bounds.low <= offset_s <= bounds.high


@given(OFFSETS, st.lists(st.tuples(SHORT, st.booleans()), min_size=1, max_size=200))
def test_offset_to_a_peer_lies_in_the_bounds(
    offset_s: float, delays: list[tuple[float, bool]]
) -> None:
    """A delay between writing and seeing leaves the true offset in the bounds, on either side."""
    bounded = BoundedOffset()
    for delay_s, is_seen_by_us in delays:
        written, seen = EPOCH, EPOCH + delay_s
        if is_seen_by_us:
            bounded.add(ClockInterval(high=seen + offset_s - written))
        else:
            bounded.add(ClockInterval(low=written + offset_s - seen))
    assert bounded.interval.low - 1e-6 <= offset_s <= bounded.interval.high + 1e-6


@given(OFFSETS, OFFSETS)
def test_contradiction_drops_the_older_bounds(old_s: float, new_s: float) -> None:
    """After a clock was set, the bounds hold the new offset."""
    bounded = BoundedOffset()
    for offset_s in (old_s, new_s):
        bounded.add(ClockInterval(offset_s - 1, offset_s + 1))
    if abs(old_s - new_s) > 2:
        assert bounded.interval == ClockInterval(new_s - 1, new_s + 1)
    assert bounded.interval.low <= new_s + 1
    assert bounded.interval.high >= new_s - 1


@pytest.mark.parametrize(
    ("to_store", "to_reference", "basis", "offset_s"),
    [
        ((4.9, 5.1), (-math.inf, math.inf), ClockBasis.STORE, 5.0),
        ((4.9, 5.1), (3.0, 9.0), ClockBasis.STORE, 5.0),
        ((-0.1, 0.1), (88.0, 92.0), ClockBasis.PEERS, 90.0),
        ((-0.1, 0.1), (88.0, math.inf), ClockBasis.PEERS, 88.0),
        ((-0.1, 0.1), (-math.inf, -60.0), ClockBasis.PEERS, -60.0),
        ((-0.1, 0.1), (-math.inf, 60.0), ClockBasis.STORE, 0.0),
        ((-math.inf, math.inf), (1.0, 3.0), ClockBasis.PEERS, 2.0),
        ((-math.inf, math.inf), (-3.0, math.inf), ClockBasis.NONE, 0.0),
        ((-math.inf, math.inf), (-math.inf, math.inf), ClockBasis.NONE, 0.0),
        ((4.9, 5.1), (9.0, 8.0), ClockBasis.STORE, 5.0),
    ],
)
def test_store_decides_unless_the_peers_contradict_it(
    to_store: tuple[float, float],
    to_reference: tuple[float, float],
    basis: ClockBasis,
    offset_s: float,
) -> None:
    """The offset to the store counts unless the bounds of the peers exclude it."""
    found = choose_offset(ClockInterval(*to_store), ClockInterval(*to_reference), ClockOffset())
    assert found.basis is basis
    assert found.offset_s == pytest.approx(offset_s)
    assert math.isfinite(found.error_s)


def test_peers_are_compared_in_the_time_of_the_store() -> None:
    """The reference's own offset counts: both nodes are 30 s ahead of the store, and agree."""
    reference = ClockOffset(30.0, 0.1, ClockBasis.STORE)
    found = choose_offset(ClockInterval(29.9, 30.1), ClockInterval(-1.0, 1.0), reference)
    assert found.basis is ClockBasis.STORE
    assert found.offset_s == pytest.approx(30.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds_stamps", [False, True])
def test_clocks_agree_by_the_clock_of_the_store(seed: int, rounds_stamps: bool) -> None:
    """On a store with a clock of its own, clocks that are off by minutes agree at once."""
    world = ClockedNodes(seed, has_own_clock=True, store_offset_s=47.3)
    world.rounds_stamps = rounds_stamps
    for offset_s in (0.0, 120.0, -300.0, 3.0, 0.02, -0.5, 610.0, 59.9):
        world.add(offset_s)
    world.run(1)
    assert max(world.find_differences()) <= (1.3 if rounds_stamps else 0.15)
    world.run(5)
    for node in world.nodes:
        found = node.exchange.offset
        assert found.basis is ClockBasis.STORE
        assert abs(found.offset_s - (node.offset_s - world.store_offset_s)) <= found.error_s + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_clocks_agree_by_the_peers(seed: int) -> None:
    """On a store that stamps the writer's time, clocks that are off by minutes agree after some
    renewals, within the error that they state; the reference is the first node."""
    world = ClockedNodes(seed, has_own_clock=False)
    for offset_s in (5.0, 120.0, -300.0, 61.0, -45.0, 610.0, 5.1):
        world.add(offset_s)
    world.run(8)
    for node in world.nodes[1:6]:
        found = node.exchange.offset
        assert found.basis is ClockBasis.PEERS
        assert abs(found.offset_s - (node.offset_s - 5.0)) <= found.error_s
        assert found.error_s < 5.0
    assert max(world.find_differences()) < 5.0


def test_requests_of_a_renewal_are_constant() -> None:
    """A node makes three requests for a renewal, and the reference five, in a job of any size."""
    for count in (2, 40):
        world = ClockedNodes(1, has_own_clock=True)
        for offset_s in range(count):
            world.add(float(offset_s))
        world.run(3)
        assert world.nodes[0].requests_of_renewal == 5
        assert {node.requests_of_renewal for node in world.nodes[1:]} == {3}


def test_silent_reference_is_replaced() -> None:
    """When the reference is silent, another node takes its place, and the clocks still agree."""
    world = ClockedNodes(3, has_own_clock=False)
    for offset_s in (0.0, 200.0, -100.0):
        world.add(offset_s)
    world.run(6)
    gone = world.nodes.pop(0)
    world.run(10)
    assert {node.requests_of_renewal for node in world.nodes} == {3, 5}
    reference = JobDirectory(world.nodes[0].store, "job").read_reference()
    assert reference is not None
    assert reference.run_id != gone.run_id
    assert max(world.find_differences()) < 8.0


def test_first_node_of_the_job_is_the_reference() -> None:
    """A node with a lower index takes the place of the reference, whoever began."""
    world = ClockedNodes(4, has_own_clock=True)
    for index in (7, 3, 0):
        world.add(0.0, index=index)
    world.run(6)
    reference = JobDirectory(world.nodes[0].store, "job").read_reference()
    assert reference is not None
    assert reference.node == 0


def test_nodes_without_an_index_have_one_reference() -> None:
    """Nodes that do not know their index agree on one reference."""
    world = ClockedNodes(5, has_own_clock=True)
    for offset_s in (0.0, 10.0, 20.0):
        node = world.add(offset_s)
        node.index = None
    world.run(6)
    assert sorted(node.requests_of_renewal for node in world.nodes) == [3, 3, 5]


@pytest.mark.parametrize("changed", [0, 1], ids=["reference", "other"])
def test_clock_that_is_set_is_measured_anew(changed: int) -> None:
    """After a clock was set by a minute, the offsets are right again within some renewals."""
    world = ClockedNodes(6, has_own_clock=False)
    for offset_s in (0.0, 100.0, -100.0):
        world.add(offset_s)
    world.run(6)
    world.nodes[changed].step_s = 60.0
    world.run(8)
    assert max(world.find_differences()) < 8.0


def test_damaged_reference_is_replaced() -> None:
    """A reference file that is no JSON, or of another job's making, counts as missing."""
    world = ClockedNodes(7, has_own_clock=True)
    world.add(0.0)
    world.add(90.0)
    absurd = b'{"run_id": "x", "at": 5.0, "clock": {"offset_s": "nan", "error_s": -1}}'
    for damage in (absurd, b"{", b"[]", b'{"run_id": "x", "at": "soon"}', b"\xff" * 100, b""):
        world.shared.files["job/clocks/reference.json"] = (damage, EPOCH)
        world.run(5)
        assert max(world.find_differences()) < 0.2
        assert JobDirectory(world.nodes[0].store, "job").read_reference() is not None


@given(OFFSETS, st.floats(0, 10))
def test_set_clock_is_noticed(step_s: float, passed_s: float) -> None:
    """A step of more than half a second is noticed, and the passing of time is none."""
    clock = OwnClock(EPOCH, 100.0)
    assert not clock.has_stepped(EPOCH + passed_s, 100.0 + passed_s)
    assert clock.has_stepped(EPOCH + 2 * passed_s + step_s, 100.0 + 2 * passed_s) == (
        abs(step_s) > 0.5
    )


def test_times_of_a_digest_are_corrected() -> None:
    """Times of a digest are moved by its offset."""
    ahead = Digest(
        job="j",
        run_id="r",
        host="h",
        at=EPOCH,
        state=DigestState.RUNNING,
        clock=ClockOffset(60.0, 0.1, ClockBasis.PEERS),
    )
    assert correct_time(ahead, EPOCH + 5) == EPOCH - 55


@given(st.integers(0, 1 << 40) | st.none())
def test_interval_follows_the_number_of_nodes(nodes: int | None) -> None:
    """The interval is between ten seconds and two minutes, and 750 nodes renew six in a second."""
    assert LEAST_INTERVAL_S <= find_interval_s(nodes) <= MOST_INTERVAL_S
    assert find_interval_s(750) == MOST_INTERVAL_S
    assert find_interval_s(8) == LEAST_INTERVAL_S


def test_reference_renews_often() -> None:
    """The reference of a large job renews every ten seconds, so that clocks are known to that."""
    schedule = RenewalSchedule.begin(750, 0.0)
    schedule.note_renewal(0.0)
    schedule.note_first()
    assert LEAST_INTERVAL_S < schedule.due_at < 2 * LEAST_INTERVAL_S
    schedule.adjust(750, is_reference=True)
    assert schedule.interval_s == LEAST_INTERVAL_S
    schedule.adjust(750, is_reference=False)
    assert schedule.interval_s == MOST_INTERVAL_S


@pytest.mark.parametrize(("nodes", "spread_s"), [(1, 0.0), (750, 30.0)])
def test_nodes_spread_their_renewals(nodes: int, spread_s: float) -> None:
    """The first digests of a large job are spread over some time, the next ones over a tenth."""
    now = 1000.0
    schedules = [RenewalSchedule.begin(nodes, now) for _node in range(200)]
    assert all(now <= one.due_at <= now + spread_s for one in schedules)
    assert max(one.due_at for one in schedules) >= now + spread_s * 0.9
    for one in schedules:
        one.note_renewal(now)
        assert 0.9 * one.interval_s <= one.due_at - now <= 1.1 * one.interval_s
        one.hasten()
        assert one.due_at == now + LEAST_DISTANCE_S
