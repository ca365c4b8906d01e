"""Warnings of real runs with real senders: recipients, texts, and how often they are sent."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.notify.reconciliation import queue_warnings
from gpualert_common.record import SPEC, WARNING_RAISED, Record, describe
from gpualert_common.spec import RunSpec, message_id
from gpualert_common.telemetry.source import SourceEvent
from tests.diagnose import watched
from tests.diagnose.watched import GIB, Curves, look, processes, used_gpu
from tests.notify.alerting import alerts, body, mails, outbox, script
from tests.notify.servers import mail_server
from tests.supervised import Lab, Supervised, exit_of, python, until
from tests.telemetry.standin import GpuEvent, Process, Scenario, environment, gpu

WARN = ("--warn", "--notify", "mailbox")

NAN = "for step in range(1, 9): print('step', step, 'loss', 'nan' if step > 4 else 5 / step)\n"
"""A training that diverges."""


def waits(status: int, before: str = "") -> tuple[str, ...]:
    """Return a training that runs this code, waits for the file ``go``, and exits."""
    return python(
        "import os, sys, time\n"
        f"{before}"
        "print('at work', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        f"sys.exit({status})\n"
    )


def let_go(lab: Lab, run: Supervised) -> int:
    """Let the training end; return the status of the run."""
    (lab.home / "go").touch()
    return run.wait()


def wait_for_mail(lab: Lab, about: str) -> EmailMessage:
    """Wait for the only mail about that, and return it."""

    def find() -> list[EmailMessage]:
        new = (lab.state / "mailbox" / "new").glob("*")  # which may still be made
        found = [message_from_bytes(path.read_bytes(), policy=policy.default) for path in new]
        return [mail for mail in found if f".{about}@" in mail["Message-ID"]]

    (mail,) = until(find, f"a mail about {about}")
    return mail


def states(record: Record, kind: str) -> list[str]:
    """Return the stored events of a kind."""
    events = [event for event in record.events() if event.name.startswith("warning_")]
    return [event.name.removeprefix("warning_") for event in events if event.fields["kind"] == kind]


def disk(free_bytes: float) -> Curves:
    """The disk of the log."""
    return {("disk:log", "free_bytes"): free_bytes, ("disk:log", "size_bytes"): 1e12}


def warnings(record: Record) -> dict[str, str]:
    """Return the verdict's texts about early warnings."""
    verdict = record.read_json("verdict.json") or {}
    found = {one["kind"]: one["text"] for one in verdict["warnings"]}
    return {kind: text for kind, text in found.items() if kind.startswith("early_")}


def test_nan_is_reported_at_once(lab: Lab) -> None:
    """A mail during the training names the problem, place, time, and the command to stop it."""
    run = lab.launch(*waits(0, NAN), options=(*WARN, "--name", "vision"))
    mail = wait_for_mail(lab, "early_nan")
    assert run.process.poll() is None
    assert mail["Message-ID"] == message_id(run.record.run_id, "early_nan")
    subject = " ".join(mail["Subject"].split())
    assert subject.startswith("[gpualert] vision on ")
    assert "losses not finite (from step 5 on) since " in subject
    look_and_stop = [f"gpualert {what} {run.record.run_id}" for what in ("show", "stop")]
    for text in ("step 5, loss nan", "What to do now", "step 8 loss nan", *look_and_stop):
        assert text in body(mail)
    assert let_go(lab, run) == 0
    last = wait_for_mail(lab, "ended")
    assert mail["References"] == last["Message-ID"]
    assert "nan_loss followed" in " ".join(body(last).split())


def test_recovered_and_withdrawn(lab: Lab) -> None:
    """A warning that recovered is withdrawn in the final message, also of a successful run."""
    run = lab.launch(*waits(0), options=WARN)
    look(run.record, disk(1e8), seconds=60)
    wait_for_mail(lab, "early_disk_filling")
    look(run.record, disk(1e11), seconds=0)
    until(lambda: states(run.record, "disk_filling") == ["raised", "recovered"], "its recovery")
    look(run.record, disk(1e8), seconds=0)
    until(lambda: len(states(run.record, "disk_filling")) == 3, "the disk to be full again")
    look(run.record, disk(1e11), seconds=0)
    until(lambda: len(states(run.record, "disk_filling")) == 4, "its recovery")
    assert let_go(lab, run) == 0
    final = " ".join(body(wait_for_mail(lab, "ended")).split())
    assert "recovered at" in final
    assert "withdrawn" in final
    assert len(mails(lab)) == 2


def dead_gpu(record: Record) -> None:
    """Store the telemetry of a run whose only GPU fell off the bus some time ago."""
    ours = SourceEvent("processes_seen", "host:tree", "python", {"pids": {"python": [watched.PID]}})
    fault = SourceEvent("xid", "gpu:0", "Xid 79 on GPU 0", {"xid": 79, "gpu": 0})
    gone = SourceEvent("gpu_lost", "gpu:0", "GPU 0 is lost", {"gpu": 0})
    idle = used_gpu(utilization_percent=watched.until(790, 95.0, 0.0))
    look(
        record,
        {**idle, **processes(watched.until(790, 1.0, 0.0))},
        seconds=1500,
        events=[("processes", 0, ours), ("nvml", 0, fault), ("nvml", 0, gone)],
    )


def test_fault_and_its_consequences(lab: Lab) -> None:
    """An Xid 79, the lost GPU and idle GPUs are one warning, also at the end."""
    run = lab.launch(*waits(0), options=WARN)
    dead_gpu(run.record)
    mail = wait_for_mail(lab, "early_xid")
    assert "Xid 79 on GPU 0 (GPU has fallen off the bus)" in " ".join(mail["Subject"].split())
    until(lambda: states(run.record, "gpu_idle"), "idle GPUs to be noticed")
    assert let_go(lab, run) == 0
    wait_for_mail(lab, "ended")
    assert len(mails(lab)) == 2
    (text,) = warnings(run.record).values()
    assert "; then GPU 0 idle since" in text


def test_fault_and_silence(lab: Lab) -> None:
    """If a run becomes silent together with its GPU, only the fault is a warning."""
    record = Record.create(str(lab.home / "20261121-120000-000000-abcd"), sync=False)
    spec = RunSpec(["train"], alerts=alerts() | {"warn": True})
    began = time.time() - 1500
    record.write_json(SPEC, describe(spec, record, created_at=began, host="here"))
    log = Path(record.log_path("output.log"))
    log.write_text("step 1 loss 2.3\n")
    os.utime(log, (began + 700, began + 700))
    record.append_event("launched", began, pid=watched.PID, start_ticks=1)
    dead_gpu(record)
    events = RunClassifier(record.spec, record).update()
    for event in events:
        record.append_event(event.name, event.at, **event.fields)
    warnings = [event for event in events if event.name == WARNING_RAISED]
    by_kind = {event.fields["kind"]: event.fields["part_of"] for event in warnings}
    assert by_kind == {"xid": None, "gpu_idle": "xid", "log_silent": "xid"}
    assert [entry.about for entry in queue_warnings(record)] == ["early_xid"]
    again = RunClassifier(record.spec, record).update()
    assert WARNING_RAISED not in [event.name for event in again]


@pytest.mark.e2e
def test_a_gpu_that_falls_off_the_bus(lab: Lab) -> None:
    """NVML reports an Xid of a GPU that the training uses, and a warning is sent."""
    process = Process(lab.home / "pid", 60 * GIB)
    card = replace(gpu(0), processes=(process,), memory_used=60 * GIB, utilization_gpu=97)
    machine = Scenario((replace(card, events=(GpuEvent(4.0, 79),), lost_at_s=9.0),))
    variables = {**os.environ, **environment(machine, lab.home / "machine")}
    variables["GPUALERT_OBSERVE"] = "true"
    write_pid = "open('pid', 'w').write(str(os.getpid()))\n"
    run = lab.launch(*waits(0, write_pid), options=WARN, env=variables)
    wait_for_mail(lab, "early_xid")
    assert let_go(lab, run) == 0
    assert "Xid 79" in warnings(run.record)["early_xid"]
    assert len(mails(lab)) == 2


@pytest.mark.parametrize("options", [("--notify", "mailbox"), ("--warn", "--notify", "none")])
def test_nobody_asked(options: tuple[str, ...], lab: Lab) -> None:
    """Without --warn, or without a channel, record and verdict have the warning; none is sent."""
    run = lab.launch(*waits(0), options=options)
    look(run.record, disk(1e8), seconds=60)
    until(lambda: states(run.record, "disk_filling"), "the disk to be noticed")
    assert let_go(lab, run) == 0
    assert "early_disk_filling" in warnings(run.record)
    assert not mails(lab)
    assert not outbox(lab, "--all")


def test_by_mail(lab: Lab) -> None:
    """A mail server gets the warning with secrets masked, and the final message in its thread."""
    with mail_server() as server:
        address = f"smtp://{server.host}:{server.port}/?to=me@example.org&security=none"
        leak = "print('token ghp_' + 'a1B2' * 9, flush=True)\n"
        run = lab.launch(*waits(1, leak + NAN), options=("--warn", "--notify", address))
        until(lambda: server.received, "the warning")
        assert let_go(lab, run) == 1
        until(lambda: len(server.received) == 2, "the final message")
        first, last = (received.mail for received in server.received)
    assert first["Message-ID"] == message_id(run.record.run_id, "early_nan")
    assert "ghp_a1B2" not in body(first)
    assert "masked in this message" in body(first)
    assert first["References"] == last["Message-ID"]


HANGS = "sleep 100"
KILLS = "kill -9 $PPID"
FAILS = "exit 1"


@pytest.mark.parametrize("fault", [HANGS, KILLS, pytest.param(FAILS, marks=pytest.mark.e2e)])
def test_notifier_with_a_fault(fault: str, lab: Lab) -> None:
    """A notifier that hangs, kills its sender or fails changes neither the status nor the time."""
    channel = f"command:{script(lab.home / 'notifier', fault)}"
    options = ("--warn", "--notify", channel, "--notify-deadline", "0")
    run = lab.launch(*waits(3, NAN), options=options)
    until(lambda: states(run.record, "nan"), "the losses to be noticed")
    until((Path(run.record.path) / "outbox").exists, "the sender to begin")
    (lab.home / "go").touch()
    began = time.monotonic()
    assert run.wait() == 3
    assert time.monotonic() - began < 10  # a notifier that is waited for takes 100
    assert exit_of(run.record)["survivors"] == []


def is_run(lab: Lab, program: str) -> bool:
    """True while that shell script runs."""
    return any(command.split()[1:2] == [program] for command in lab.living().values())


def test_stop_while_a_warning_is_sent(lab: Lab) -> None:
    """A stop ends the training but not the sender, which is not a process of the run."""
    done = lab.home / "done"
    notifier = script(lab.home / "notifier", f"cat > /dev/null; sleep 3; touch {done}")
    options = ("--warn", "--notify", f"command:{notifier}", "--notify-deadline", "0")
    run = lab.launch(*waits(3, NAN), options=options)
    until(lambda: is_run(lab, notifier), "the notifier")
    run.signal(signal.SIGTERM)
    assert run.wait() == 128 + signal.SIGTERM
    until(done.exists, "the notifier to come to its end")


@pytest.mark.parametrize("victim", ["recorder", "sender"])
def test_sender_without_a_parent(victim: str, lab: Lab) -> None:
    """The sender is not a process of the run, even if its starter was killed."""
    notifier = script(lab.home / "notifier", HANGS)
    options = ("--warn", "--notify", f"command:{notifier}", "--notify-deadline", "0")
    run = lab.launch(*waits(3, NAN), options=options)
    until(lambda: is_run(lab, notifier), "the notifier")
    living = lab.living()
    like = living[run.process.pid] if victim == "recorder" else "gpualert_common.notify.sender"
    os.kill(min(pid for pid in living if like in living[pid] and pid != run.process.pid), 9)
    assert let_go(lab, run) == 3
    assert exit_of(run.record)["survivors"] == []


def test_supervisor_killed(lab: Lab) -> None:
    """After the supervisor's death the record still has the warnings."""
    run = lab.launch(*waits(0, NAN), options=WARN)
    wait_for_mail(lab, "early_nan")
    run.signal(signal.SIGKILL)
    run.process.wait()
    (lab.home / "go").touch()

    def recovered() -> bool:
        lab.gpualert("recover", run.record.run_id)
        return run.record.read_json("verdict.json") is not None

    until(recovered, "the record to be finished", poll_s=0.2)
    assert "losses not finite" in warnings(run.record)["early_nan"]
    assert len([mail for mail in mails(lab) if ".early_nan@" in mail["Message-ID"]]) == 1


def test_detached(lab: Lab) -> None:
    """A guardian also sends warnings."""
    done = lab.gpualert("run", "--detach", *WARN, "--", *waits(0, NAN))
    assert done.returncode == 0, done.stderr
    wait_for_mail(lab, "early_nan")
    (lab.home / "go").touch()
    wait_for_mail(lab, "ended")


@pytest.mark.e2e
def test_outbox_shows_it(lab: Lab) -> None:
    """The state of a warning is listed; a warning that was not sent before the end is retired."""
    channel = f"command:{script(lab.home / 'notifier', FAILS)}"
    run = lab.launch(*waits(1, NAN), options=("--warn", "--notify", channel))

    def listed() -> list[dict[str, Any]]:
        return [row for row in outbox(lab, "--all") if row["event"] == "early_nan"]

    until(lambda: any(row["attempts"] for row in listed()), "a first attempt", poll_s=0.3)
    assert let_go(lab, run) == 1
    until(lambda: listed()[0]["state"] in ("superseded", "failed"), "it to be retired", poll_s=0.3)


def test_from_python(lab: Lab) -> None:
    """run(warn=True) sends warnings like the program."""
    code = (
        "from gpualert_common import run\n"
        f"run({list(waits(0, NAN))!r}, cwd='.', warn=True, notify='mailbox')\n"
    )
    process = lab.start(python(code))
    wait_for_mail(lab, "early_nan")
    (lab.home / "go").touch()
    assert process.wait(60) == 0
    wait_for_mail(lab, "ended")
