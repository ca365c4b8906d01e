"""One alert per job: whoever dies, fails or is late, exactly one node sends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common.errors import StoreError
from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.alerts.alert_ownership import LEASE_S, MOST_ALERTS, SENDING_LEASE_S
from gpualert_common.jobs.alerts.claim_release import MOST_REFUSALS
from gpualert_common.jobs.alerts.store_outage import (
    ALONE_AFTER_S,
    CASCADE_ALONE_AFTER_S,
    RETURN_S,
)
from gpualert_common.jobs.digests.digest import ClockOffset, Digest
from gpualert_common.jobs.job_directory import AlertClaim, ClaimRelease, JobDirectory
from gpualert_common.structs import replace
from tests.jobs.alerting_nodes import SENDING, AlertedJob, AlertedNode, fail_between
from tests.jobs.composed_job import END, KEY, compose, end, lose, shift

NODES = 8
CULPRIT = 3


def digests(nodes: int = NODES, culprit: int = CULPRIT) -> list[Digest]:
    """Return the last digests of a job in which one node fails, and the others lose it."""
    found = [lose(node, END + 1.0 + node / 10, nodes) for node in range(nodes)]
    found[culprit] = end(compose(culprit, nodes), "cuda_oom", rank=culprit * 8 + 5)
    return found


@pytest.fixture
def job(tmp_path: Path) -> AlertedJob:
    """Return a job without nodes."""
    return AlertedJob(tmp_path / "jobs")


def assert_one(job: AlertedJob, nodes: list[AlertedNode], host: str = f"gpu{CULPRIT}") -> None:
    """Exactly one alert was sent, it names the culprit, and all other living nodes left."""
    assert [one.number for one in job.sent] == [1]
    report = job.sent[0].report
    assert report is not None
    assert report.verdict.host == host
    lives = [one for one in nodes if not one.kill_at and not one.refuses]
    left = [one for one in lives if one.last.action is JobAlertAction.LEAVE]
    assert len(left) == len(lives) - (job.sent[0].host in {one.own.host for one in lives})
    assert all(job.sent[0].host in one.last.because for one in left)


def test_all_fail_at_once(job: AlertedJob) -> None:
    """Nodes that fail at the same moment send one alert, and the others name its sender."""
    nodes = [job.add(one) for one in digests()]
    job.run(nodes)
    assert_one(job, nodes)


@pytest.mark.parametrize("first", range(NODES))
def test_any_node_may_be_first(job: AlertedJob, first: int) -> None:
    """The node that ends first owns the alert, and names the culprit, also if that is another."""
    nodes = [
        job.add(one, starts_at=END + 3.0 + (0.0 if i == first else 5.0 + i))
        for i, one in enumerate(digests())
    ]
    job.run(nodes)
    assert_one(job, nodes)
    assert job.sent[0].host == f"gpu{first}"


def test_clocks_are_wrong(job: AlertedJob) -> None:
    """Clocks that are minutes off neither make a second owner nor another culprit."""
    offsets = (-400.0, 300.0, 0.0, 120.0, -90.0, 60.0, 1000.0, -1000.0)
    own = [shift(one, offset) for one, offset in zip(digests(), offsets, strict=True)]
    nodes = [job.add(one, starts_at=END + 3.0 + i * 0.7) for i, one in enumerate(own)]
    job.run(nodes)
    assert_one(job, nodes)


@pytest.mark.parametrize("step", range(1, 9))
@pytest.mark.parametrize("dead", [1, 5])
def test_owner_is_killed(job: AlertedJob, step: int, dead: int) -> None:
    """After the death of owners at any step before they send, another node sends the alert."""
    nodes = [
        job.add(one, starts_at=END + 3.0 + i / 100, kill_at=step if i < dead else 0)
        for i, one in enumerate(digests())
    ]
    job.run(nodes)
    assert [one.number for one in job.sent] == [1]
    living = {f"gpu{i}" for i in range(dead, NODES)}
    killed = {one.own.host for one in nodes[:dead] if len(one.steps) < step}
    assert job.sent[0].host in living | killed
    assert job.sent[0].at < END + 60.0 + SENDING_LEASE_S + dead * (LEASE_S + 25.0)


def test_owner_is_killed_and_recovered(job: AlertedJob) -> None:
    """A killed owner without other nodes sends its alert once it is recovered, and only once."""
    own = digests(1, 0)[0]
    job.run([job.add(own, kill_at=1)])
    assert not job.sent
    again = [job.add(own, starts_at=END + 900.0), job.add(own, starts_at=END + 950.0)]
    job.run(again)
    assert [one.number for one in job.sent] == [1]
    assert job.sent[0].at < END + 900.0 + LEASE_S


def test_owner_is_recovered_after_takeover(job: AlertedJob) -> None:
    """A killed owner that is recovered after another took over leaves the alert to that one."""
    nodes = [job.add(one, starts_at=END + 3.0 + i) for i, one in enumerate(digests())]
    nodes[0].kill_at = 1
    recovered = job.add(nodes[0].own, starts_at=END + 300.0)
    job.run([*nodes, recovered])
    assert [one.number for one in job.sent] == [1]
    assert recovered.last.action is JobAlertAction.LEAVE


def test_sent_but_not_noted(job: AlertedJob) -> None:
    """An owner that dies between the alert and its note costs a second copy of the same alert."""
    nodes = [job.add(one, starts_at=END + 3.0 + i / 10) for i, one in enumerate(digests())]
    nodes[0].kills_unnoted = True
    job.run(nodes)
    assert [(one.attempt, one.number) for one in job.sent] == [(1, 1), (1, 1)]
    claimed = [node.last.claimed_at for node in nodes if node.last.action in SENDING]
    assert len(claimed) == 2
    assert claimed[0] == claimed[1] > 0.0, "both copies have one Message-ID"


def test_owner_sleeps_too_long(job: AlertedJob) -> None:
    """An owner that stood still for longer than its lease finds that another took over."""
    own = digests()
    sleeper = job.add(own[0])
    assert sleeper.alert.step(END + 3.0).action is JobAlertAction.WAIT
    job.run([job.add(one, starts_at=END + 4.0 + i / 10) for i, one in enumerate(own[1:])])
    assert sleeper.alert.step(END + 500.0).action is JobAlertAction.LEAVE
    assert len(job.sent) == 1


@pytest.mark.parametrize("request_number", range(1, 31))
def test_one_request_fails(job: AlertedJob, request_number: int) -> None:
    """Whichever request of the first node fails, exactly one alert is sent."""
    flaky = job.store(fail_between(request_number, request_number))
    own = digests()
    nodes = [job.add(own[0], store=flaky), *(job.add(one, starts_at=END + 5.0) for one in own[1:])]
    job.run(nodes)
    assert_one(job, nodes)


@pytest.mark.parametrize("first", range(1, 16, 2))
def test_store_fails_for_good_for_one_node(job: AlertedJob, first: int) -> None:
    """A node that loses the store at any request costs at most one alert more, never all."""
    broken = job.store(fail_between(first, 10**9))
    own = digests()
    nodes = [job.add(own[0], store=broken), *(job.add(one, starts_at=END + 5.0) for one in own[1:])]
    job.run(nodes)
    assert 1 <= len(job.sent) <= 2
    assert any(one.report is not None for one in job.sent)


def test_store_fails_for_all_for_minutes(job: AlertedJob) -> None:
    """A store that is away for less than the wait of a node costs no alert, and adds none."""
    away_until = END + 3.0 + ALONE_AFTER_S - 60.0
    nodes = [job.add(one) for one in digests()]
    job.run(_away(job, nodes, away_until))
    assert_one(job, nodes)


def test_culprit_is_the_last_to_reach_the_store(job: AlertedJob) -> None:
    """After a failure of the store, the alert waits for the nodes that try it again later."""
    away_until = END + 150.0
    own = digests()
    job.add(compose(CULPRIT, at=END - 5.0))
    nodes = [job.add(one, publishes=one is not own[CULPRIT]) for one in own]
    _away(job, nodes, away_until)
    last = nodes.pop(CULPRIT)
    job.run(nodes, away_until + RETURN_S - 5.0)
    assert job.sent == []
    JobDirectory(job.store(), KEY).write_digest(last.own)
    for node in nodes:
        node.starts_at = away_until + RETURN_S - 5.0
    last.starts_at = away_until + RETURN_S - 10.0
    job.run([*nodes, last])
    assert_one(job, [*nodes, last])


def test_store_is_lost(job: AlertedJob) -> None:
    """Without a store each node sends its own alert; those that lost another node wait longer."""
    nodes = [job.add(one) for one in digests()]
    job.run(_away(job, nodes, float("inf")))
    assert len(job.sent) == NODES
    assert all(one.report is None for one in job.sent)
    first, *rest = job.sent
    assert first.host == f"gpu{CULPRIT}"
    assert first.at - END < ALONE_AFTER_S + 5.0
    assert all(one.at - END > CASCADE_ALONE_AFTER_S for one in rest)


def test_store_returns_after_an_alert_alone(job: AlertedJob) -> None:
    """The note of a node that sent alone keeps the others from a second alert."""
    nodes = [job.add(one) for one in digests()]
    job.run(_away(job, nodes, END + 3.0 + ALONE_AFTER_S + 0.5))
    assert [one.host for one in job.sent][:1] == [f"gpu{CULPRIT}"]
    assert len(job.sent) == 1
    assert all(f"gpu{CULPRIT}" in one.last.because for one in nodes if one is not nodes[CULPRIT])


def _away(job: AlertedJob, nodes: list[AlertedNode], until: float) -> list[AlertedNode]:
    """Return the nodes with a store that is away until that time."""

    def before(_number: int) -> None:
        if job.now < until:
            raise StoreError("the store is away")

    for node in nodes:
        node.store.before = before
    return nodes


def test_later_node_changes_the_cause(job: AlertedJob) -> None:
    """A node that ends after the alert adds one if it has the cause; one that lost it does not."""
    own = digests()
    late = own.pop(CULPRIT)
    silent = replace(compose(CULPRIT, at=END - 5.0), run_id=late.run_id)
    job.add(silent)
    job.run([job.add(one) for one in own])
    assert [one.number for one in job.sent] == [1]
    another = job.add(end(compose(9, host="gpu9"), "collective"), starts_at=END + 2000.0)
    adding = job.add(replace(late, at=END + 1990.0), starts_at=END + 2000.0)
    job.run([another, adding])
    assert [one.number for one in job.sent] == [1, 2]
    assert job.sent[1].report is not None
    assert job.sent[1].report.verdict.cause == "cuda_oom"
    assert another.last.action is JobAlertAction.LEAVE


def test_additions_are_few(job: AlertedJob) -> None:
    """However many nodes end one after the other with an earlier root, the alerts are few."""
    for i in range(6):
        cause = ("config", "cuda_oom", "disk_full", "gpu_hardware", "host_oom", "segfault")[i]
        own = end(compose(i), cause, END - 50.0 * i)
        job.run([job.add(replace(own, at=END + 800.0 * i), starts_at=END + 800.0 * i)], 1e12)
    assert 1 <= len(job.sent) <= MOST_ALERTS


def test_job_that_ends_well(job: AlertedJob) -> None:
    """A job that ends well sends one alert at its end, by one of the last runs."""
    ends = [END + gap for gap in (0.0, 10.0, 1500.0, 1500.5)]
    for i in range(4):
        job.add(compose(i, 4, at=ends[-1]))
    for i, at in enumerate(ends):
        job.add(compose(i, 4, at=ends[-1]))
        own = end(compose(i, 4), "none", at)
        job.run([job.add(own, starts_at=at + 3.0)], at + 900.0)
    assert [one.number for one in job.sent] == [1]
    assert job.sent[0].at > ends[-1]


def test_ends_are_visible_late(job: AlertedJob) -> None:
    """A job that ends well sends its alert although each node sees the others' ends late."""
    ends = [end(compose(i, 4), "none", END + i) for i in range(4)]
    for i in range(4):
        job.add(compose(i, 4, at=END))
    nodes = [job.add(one, starts_at=END + 3.0, publishes=False) for one in ends]
    job.run(nodes, END + 60.0)
    assert job.sent == []
    for node in nodes:
        JobDirectory(job.store(), KEY).write_digest(node.own)
        node.starts_at = END + 60.0
    job.run([one for one in nodes if one.last.action is JobAlertAction.WAIT])
    assert [one.number for one in job.sent] == [1]


def test_refused_alert(job: AlertedJob) -> None:
    """A node whose channels refuse the alert leaves it to another one."""
    nodes = [
        job.add(one, starts_at=END + 3.0 + i, refuses=i < 2) for i, one in enumerate(digests())
    ]
    job.run(nodes)
    assert_one(job, nodes)


def test_alert_that_all_refuse(job: AlertedJob) -> None:
    """An alert that no channel takes is tried on some nodes, not on all."""
    nodes = [job.add(one, refuses=True) for one in digests(32)]
    job.run(nodes)
    tried = sum(any(step.action is JobAlertAction.SEND for step in one.steps) for one in nodes)
    assert tried == MOST_REFUSALS


@pytest.mark.parametrize("numbers", [(None, None), (1, 2), (0, 1)])
def test_next_attempt(job: AlertedJob, numbers: tuple[int | None, int | None]) -> None:
    """Each attempt of a job has an alert of its own, whether its scheduler numbers them or not."""
    for number, later in zip(numbers, (0.0, 2000.0), strict=True):
        own = [
            replace(shift_all(one, later), attempt=number, run_id=f"{one.run_id}-{later:g}")
            for one in digests()
        ]
        job.run([job.add(one, starts_at=END + 3.0 + later) for one in own], END + later + 1900.0)
    assert [one.number for one in job.sent] == [1, 1]
    assert job.sent[0].attempt != job.sent[1].attempt


def shift_all(digest: Digest, later_s: float) -> Digest:
    """Return a digest of the same node at a later time."""
    later = shift(digest, later_s)
    return replace(later, clock=digest.clock)


def test_late_start_in_the_same_attempt(job: AlertedJob) -> None:
    """Nodes that start after the first one has failed belong to the same failure of the job."""
    begin = END - 20.0
    early = [end(compose(i, started_at=begin), "config", END) for i in range(2)]
    job.run([job.add(one) for one in early], END + 100.0)
    late = [
        end(compose(i, started_at=END + 50.0 + i), "config", END + 60.0 + i) for i in range(2, 8)
    ]
    nodes = [job.add(one, starts_at=END + 65.0 + i * 3) for i, one in enumerate(late)]
    job.run(nodes)
    assert [(one.attempt, one.number) for one in job.sent] == [(1, 1)]


@pytest.mark.parametrize("numbers", [(None, None), (1, 2)])
def test_next_attempt_has_begun(job: AlertedJob, numbers: tuple[int | None, int | None]) -> None:
    """The alert of an attempt is about that one, also if it is sent when the next one runs."""
    first = replace(digests(2, 0)[0], attempt=numbers[0])  # its other node is never heard of
    begun = [
        compose(i, 2, started_at=END + 20.0, at=END + 30.0, run_id=f"again-{i}", attempt=numbers[1])
        for i in range(2)
    ]
    for one in begun:
        job.add(one)
    job.run([job.add(first, starts_at=END + 35.0)])
    (sent,) = job.sent
    assert sent.report is not None
    assert (sent.report.attempt, sent.report.verdict.cause) == (1, "cuda_oom")
    assert len(list(job.place.glob("*/alerts/*.json"))) == 1


def test_verdict_is_late(job: AlertedJob) -> None:
    """A run whose verdict is not made in time sends its own alert, with a single claim."""
    own = replace(compose(0, 1), ended_at=END)
    node = job.add(own)
    job.run([node])
    (sent,) = job.sent
    assert sent.report is None
    assert "not known yet" in node.last.because
    assert len(list(job.place.glob("*/alerts/*.json"))) == 1


def test_store_fails_while_the_alert_is_sent(job: AlertedJob) -> None:
    """A store that fails after the decision changes neither the alert nor its sender."""
    store = job.store()
    alert = job.add(digests(1, 0)[0], store=store).alert
    now = END + 3.0
    decided = alert.step(now)
    while decided.action is JobAlertAction.WAIT:
        now = max(decided.next_at, now + 0.01)
        decided = alert.step(now)
    assert decided.action is JobAlertAction.SEND
    store.before = fail_between(0, 10**9)
    for later_s in (10.0, 100.0, 2 * ALONE_AFTER_S):
        step = alert.step(now + later_s)
        assert (step.action, step.report) == (JobAlertAction.SEND, decided.report)


def test_own_claim_is_damaged(job: AlertedJob) -> None:
    """An owner whose claim was damaged in the store repairs it."""
    owner = job.add(replace(digests()[0], nodes=NODES))
    assert owner.alert.step(END + 3.0).action is JobAlertAction.WAIT
    (claim,) = job.place.glob("*/alerts/*.json")
    claim.write_bytes(b"{")
    owner.alert.step(END + 10.0)
    found = owner.directory.read_claim("1-1")
    assert found is not None
    assert found.run_id == owner.own.run_id


def test_alone_in_a_later_attempt(job: AlertedJob) -> None:
    """An owner that loses the store sends the alert of its own attempt, not of the first."""
    store = job.store()
    alert = job.add(replace(digests()[CULPRIT], attempt=4), store=store).alert
    alert.step(END + 3.0)
    store.before = fail_between(0, 10**9)
    alert.step(END + 10.0)
    step = alert.step(END + 20.0 + ALONE_AFTER_S)
    assert (step.action, step.attempt) == (JobAlertAction.SEND, 4)
    assert step.report is not None


def test_attempt_was_mistaken(job: AlertedJob) -> None:
    """A claim that was released as one of another attempt is looked up once, and then taken."""
    claim = AlertClaim(run_id="gone", claimed_by="gpu9", at=END, release=ClaimRelease.SAME_ATTEMPT)
    node = job.add(replace(digests(1, 0)[0], attempt=2))
    node.directory.create_claim("2-1", claim)
    job.run([node], END + 1000.0)
    assert len(job.sent) == 1
    assert len(node.steps) < 30


def test_attempt_with_a_high_number(job: AlertedJob) -> None:
    """Every number of an attempt that a digest may have has an alert."""
    node = job.add(replace(digests()[CULPRIT], attempt=(1 << 20) - 1))
    job.run([node])
    assert len(job.sent) == 1
    assert "another node claims the alert of the job" not in {one.because for one in node.steps}


@pytest.mark.parametrize("nodes", [8, 64, 256])
def test_requests_grow_with_the_nodes_only(job: AlertedJob, nodes: int) -> None:
    """The owner reads each digest once or twice; another node needs a few requests a minute."""
    all_nodes = [
        job.add(one, starts_at=END + 3.0 + i / nodes) for i, one in enumerate(digests(nodes))
    ]
    job.run(all_nodes)
    owner, *others = sorted(all_nodes, key=lambda one: -one.store.requests)
    assert owner.own.host == job.sent[0].host
    assert owner.store.requests < 3 * nodes + 60
    assert max(one.store.requests for one in others) < 30


def test_clock_that_was_compared_with_nothing(job: AlertedJob) -> None:
    """A run that ended before its clock was compared is no later attempt, however wrong that is."""
    ahead_s = 500.0
    early = [end(compose(i, started_at=END - 20.0), "config", END) for i in range(7)]
    job.run([job.add(one) for one in early], END + 20.0)
    late = end(compose(7, started_at=END - 15.0), "config", END + 20.0)
    late = replace(shift(late, ahead_s), clock=ClockOffset())
    node = job.add(late, starts_at=END + 23.0 + ahead_s)
    stamp = END + 22.0
    os.utime(job.place / KEY / "digests" / f"{late.run_id}.json", (stamp, stamp))
    job.run([node])
    assert [(one.attempt, one.number) for one in job.sent] == [(1, 1)]


def test_digest_that_was_published_late(job: AlertedJob) -> None:
    """A job whose last nodes could not publish their ends for long has its alert once they can."""
    nodes, first = 40, 10
    for node in range(nodes):
        JobDirectory(job.store(), KEY).write_digest(compose(node, nodes))
    own = [end(compose(node, nodes), "none", END) for node in range(nodes)]
    job.run([job.add(one) for one in own[:first]], END + 150.0)
    assert not job.sent
    published_at = END + 200.0
    late = [job.add(one, starts_at=published_at) for one in own[first:]]
    for one in late:
        one.alert.note_published(published_at)
    job.run(late)
    assert [(one.attempt, one.number) for one in job.sent] == [(1, 1)]
