"""Every fault of an alert, as a place to run a failing training in: one table for all engines.

Standard library only, so that it can be imported with Airflow and Prefect too.  A test uses a cell
like this::

    with FAULTS["silent"].cell(tmp_path) as cell:
        # run cell.command in cell.work, notify=cell.notify, notify_deadline=DEADLINE_S, cell.env in
        # force, and cell.modules on the path; then check the task and the clock
        cell.wait_for_state()     # the alert is, within a while, in one of the fault's states
        cell.deliver_later()      # an alert that was not delivered is delivered now
        assert len(cell.mails()) == 1
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from tests.observer import command_of, environ_of, every_pid
from tests.supervised import free_port

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "bin" / "python"
"""The servers need packages that are installed only there."""

DEADLINE_S = 2.5
"""``notify_deadline`` of every cell."""
MARGIN_S = 30.0
"""Longest time of a task beyond its usual time and the deadline, on a busy machine.

Without the deadline a task waits longer: an attempt at a silent server is killed after a minute."""
STATE_TIMEOUT_S = 40.0
"""Far above the time for a bundle, which goes on when the task has returned."""
LOOPBACK = "127.0.0.1"

_FAILS = "raise RuntimeError('the loss is gone')"


@dataclass
class Cell:
    """A place with a fault, and the settings of a training there."""

    fault: Fault
    home: Path
    notify: str = ""
    script: str = ""
    env: dict[str, str] = field(default_factory=dict)
    modules: Path | None = None
    secret: str = ""
    repair: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        for folder in (self.work, self.state, self.home / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        self.env = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "XDG_STATE_HOME": str(self.home / "xdg-state"),
            "XDG_CONFIG_HOME": str(self.home / "xdg-config"),
            "GPUALERT_STATE_DIR": str(self.state),
        }

    @property
    def work(self) -> Path:
        """The working directory of the training."""
        return self.home / "work"

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.home / "state"

    @property
    def elsewhere(self) -> Path:
        """A Maildir that has no fault."""
        return self.home / "elsewhere"

    @property
    def command(self) -> list[str]:
        """A training that does its part of the fault and then fails with status 1."""
        program = self.work / ".train.py"
        program.write_text(f"{self.script}\n{_FAILS}\n")
        return [sys.executable, str(program)]

    def gpualert(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program here, to its end."""
        environment = {**os.environ, **self.env}
        if self.modules is not None:
            environment["PYTHONPATH"] = str(self.modules)
        return subprocess.run(
            [sys.executable, "-m", "gpualert_common", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def alerts(self) -> list[dict[str, Any]]:
        """Return the rows of ``gpualert outbox list`` for every run here, oldest run first."""
        done = self.gpualert("outbox", "list", "--all", "--json")
        rows: list[dict[str, Any]] = json.loads(done.stdout)["alerts"]
        return rows

    def wait_for_state(self) -> dict[str, Any]:
        """Wait until the newest run's alert is in a state of the fault; return its row in the list.

        An alert that waits for its next attempt must have the answer to the first.
        """
        deadline = time.monotonic() + STATE_TIMEOUT_S
        while True:
            rows = self.alerts()
            if rows and rows[-1]["state"] in self.fault.states and self._has_tried(rows[-1]):
                return rows[-1]
            assert time.monotonic() < deadline, f"{self.fault.name}: {rows}"
            time.sleep(0.2)

    def _has_tried(self, row: dict[str, Any]) -> bool:
        return "last" in row or not self.fault.has_answer

    def deliver_later(self) -> None:
        """Repair the fault if possible and deliver the alert; return when the mail has arrived."""
        newest = self.alerts()[-1]
        if newest["state"] == "sent":
            return
        run = newest["run_id"]
        self.repair()
        other = () if self.fault.mended else ("--notify", f"mailbox:{self.elsewhere}")
        deadline = time.monotonic() + STATE_TIMEOUT_S
        while True:
            done = self.gpualert("outbox", "retry", run, *other)
            if self.mails():
                return
            assert time.monotonic() < deadline, f"{self.fault.name}: {done.stdout}{done.stderr}"
            time.sleep(0.5)

    def mails(self) -> list[EmailMessage]:
        """Every mail that arrived anywhere."""
        found = [*self.home.glob("**/new/*"), *self.home.glob("**/*.eml")]
        return [message_from_bytes(path.read_bytes(), policy=policy.default) for path in found]

    def mail_text(self) -> str:
        """The whole text of the mails, attachments unpacked."""
        return "\n".join(f"{mail['Subject']}\n{_text(mail)}" for mail in self.mails())


@dataclass(frozen=True)
class Fault:
    """One row: the fault, the state of the alert, and its delivery afterwards.

    ``states`` are the possible states of the alert after the first attempt; with ``mended`` the
    fault can be repaired, so that the alert then goes to its own channel (otherwise to another);
    with ``has_answer`` the outbox has the answer of the channel; with ``once`` the task can have
    only one attempt.
    """

    name: str
    _open: Callable[[Cell], AbstractContextManager[None]]
    states: frozenset[str] = frozenset({"sent"})
    mended: bool = False
    has_answer: bool = True
    once: bool = False

    @contextmanager
    def cell(self, home: Path) -> Iterator[Cell]:
        """Set up the fault in ``home``, an empty folder, until the block ends."""
        cell = Cell(self, home)
        try:
            with self._open(cell):
                yield cell
        finally:
            end_senders(home)


def end_senders(home: Path) -> None:
    """Kill the senders whose ``XDG_STATE_HOME`` is in *home*: they would try again for hours."""
    mark = f"XDG_STATE_HOME={home / 'xdg-state'}".encode()
    for pid in every_pid():
        is_sender = any(word.startswith("gpualert_common.notify.") for word in command_of(pid))
        if is_sender and mark in environ_of(pid).split(b"\0"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


# -- servers ---------------------------------------------------------------------------------


@contextmanager
def mail_process(kind: str, *options: str) -> Iterator[int]:
    """Run a server of :mod:`tests.notify.servers` in a separate process; yield its port."""
    process = subprocess.Popen(
        [str(TOOLS), "-m", "tests.notify.servers", kind, *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


@contextmanager
def good_server(folder: Path, port: int) -> Iterator[None]:
    """Run a working mail server on this port; accepted mails are in the Maildir ``folder``."""
    handler = ("-c", "aiosmtpd.handlers.Mailbox", str(folder))
    process = subprocess.Popen(
        [str(TOOLS), "-m", "aiosmtpd", "-n", "-l", f"{LOOPBACK}:{port}", *handler],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_port(port)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _await_port(port: int) -> None:
    deadline = time.monotonic() + STATE_TIMEOUT_S
    while True:
        try:
            socket.create_connection((LOOPBACK, port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the mail server does not come"
            time.sleep(0.05)


def mail_target(port: int, *, host: str = LOOPBACK, user: str = "", security: str = "none") -> str:
    """Return the target of mail through that server."""
    return f"smtp://{user}{host}:{port}/?to=a@example.org&from=b@example.org&security={security}"


def _broken_server(kind: str, **target: str) -> Callable[[Cell], AbstractContextManager[None]]:
    @contextmanager
    def opened(cell: Cell) -> Iterator[None]:
        with mail_process(kind) as port:
            cell.notify = mail_target(port, **target)
            yield

    return opened


@contextmanager
def _refused(cell: Cell) -> Iterator[None]:
    """Nobody listens; repaired by a server that starts later."""
    port = free_port()
    cell.notify = mail_target(port)
    late: list[AbstractContextManager[None]] = []

    def repair() -> None:
        late.append(good_server(cell.home / "late", port))
        late[0].__enter__()

    cell.repair = repair
    yield
    for server in late:
        server.__exit__(None, None, None)


@contextmanager
def _no_such_host(cell: Cell) -> Iterator[None]:
    cell.notify = mail_target(25, host="name.invalid")
    yield


# -- templates and channels of the user ------------------------------------------------------

TEMPLATES = {
    "raises": "{{ 1 / 0 }}",
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}"
    "{% for k in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
    "exits": "{{ cycler.__init__.__globals__.os._exit(3) }}",
    "fills_memory": "{{ 'a' * 10 ** 11 }}",
}


def _template(text: str) -> Callable[[Cell], AbstractContextManager[None]]:
    @contextmanager
    def opened(cell: Cell) -> Iterator[None]:
        folder = cell.home / "templates"
        folder.mkdir()
        (folder / "body.txt.j2").write_text(text)
        cell.env["GPUALERT_TEMPLATES"] = str(folder)
        cell.notify = f"mailbox:{cell.home / 'mailbox'}"
        yield

    return opened


MODULES = {
    "import_error": "import a_module_of_nobody",
    "exits_at_import": "import sys; sys.exit('no licence for this host')",
    "dies_at_import": "import os; os._exit(0)",
}
MENDED = """
import os

class Channel:
    KEYS = {"path": (str, "a file")}
    REQUIRED = ("path",)
    SECRET = ()

    def __init__(self, settings):
        self.path = settings["path"]
        self.address = self.path

    @property
    def budget(self):
        from gpualert_common.notify.message import Budget
        return Budget(4000)

    def send(self, compose, progress, timeout_s):
        message = compose(self.budget)
        with open(self.path, "w") as file:
            file.write(f"Subject: {message.subject}\\nMessage-ID: {message.id}\\n\\n{message.text}")
        return "written"
"""


def _module(source: str) -> Callable[[Cell], AbstractContextManager[None]]:
    """A user's own channel, named in the configuration."""

    @contextmanager
    def opened(cell: Cell) -> Iterator[None]:
        # A name of its own, since a face may import several in one process.
        package = f"strange_{os.urandom(4).hex()}"
        cell.modules = cell.home / "modules"
        module = cell.modules / package / "channel.py"
        module.parent.mkdir(parents=True)
        (module.parent / "__init__.py").touch()
        module.write_text(source)
        arrived = cell.home / "strange.eml"
        config = cell.home / "xdg-config" / "gpualert" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[channels.strange]\nkind = "{package}.channel"\npath = "{arrived}"\n')
        cell.notify = "strange"
        cell.repair = lambda: _write_anew(module, MENDED)
        yield

    return opened


def _write_anew(module: Path, source: str) -> None:
    module.write_text(source)
    for compiled in module.parent.glob("__pycache__/*"):
        compiled.unlink()


# -- disks -----------------------------------------------------------------------------------

_READ_ONLY = """
import os, subprocess
outbox = os.path.join({runs!r}, os.environ["GPUALERT_RUN_ID"], "outbox")
os.makedirs(outbox, exist_ok=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "outbox", outbox], check=True)
"""


@contextmanager
def _full_disk(cell: Cell) -> Iterator[None]:
    """After the start of the training the disk of state directory and mailbox is full."""
    _mount(cell.state, "size=4m")
    cell.notify = "mailbox"
    cell.script = "import time; time.sleep(1)"
    over = threading.Event()
    filler = threading.Thread(target=_fill, args=(cell.state, over))
    filler.start()

    def repair() -> None:
        over.set()
        filler.join()
        (cell.state / "filler").unlink()

    cell.repair = repair
    try:
        yield
    finally:
        over.set()
        filler.join()
        _unmount(cell.state)


def _fill(state: Path, over: threading.Event) -> None:
    """Fill the disk as soon as a log is written, and again after more space is freed."""
    while not list(state.glob("runs/*/events.jsonl")) and not over.is_set():
        time.sleep(0.05)
    with open(state / "filler", "wb", buffering=0) as file:
        while not over.wait(0.001):
            for size in (1 << 16, 512, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)):
                        pass


@contextmanager
def _read_only_outbox(cell: Cell) -> Iterator[None]:
    """The place of the outbox is read-only; the mailbox is elsewhere."""
    cell.notify = f"mailbox:{cell.home / 'mailbox'}"
    cell.script = _READ_ONLY.format(runs=str(cell.state / "runs"))
    outboxes = cell.state / "runs"
    cell.repair = lambda: _unmount_all(outboxes)
    try:
        yield
    finally:
        _unmount_all(outboxes)


def _mount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "cell", place], check=True)


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _unmount_all(runs: Path) -> None:
    for outbox in runs.glob("*/outbox"):
        if os.path.ismount(outbox):
            _unmount(outbox)


# -- artifacts -------------------------------------------------------------------------------

_MANY = """
import os
os.makedirs("many", exist_ok=True)
for number in range(100_000):
    os.close(os.open(f"many/{number}.json", os.O_CREAT | os.O_WRONLY))
"""
_SPARSE = """
with open("huge.log", "wb") as file:
    file.write(b"the first line\\n")
    file.truncate(20 << 30)
    file.seek(0, 2)
    file.write(b"\\nthe last line\\n")
"""
_HOSTILE = """
key = "GPUALERT_TEST_PASSWORD = " + {secret!r}
lines = [key, "password=" * 20_000, "AKIA" * 50_000, "-----BEGIN RSA PRIVATE KEY-----" * 2_000,
         "Authorization: Bearer " + "=" * 100_000, "https://" + "a:b@" * 50_000, key]
print("\\n".join(lines))
with open("hostile.json", "w") as file:
    file.write("\\n".join(lines))
with open("hostile.txt", "wb") as file:
    file.write(bytes(range(128, 256)) * 1000 + key.encode() + b"\\n" + key.encode("utf-16"))
"""


def _artifacts(script: str) -> Callable[[Cell], AbstractContextManager[None]]:
    @contextmanager
    def opened(cell: Cell) -> Iterator[None]:
        cell.notify = f"mailbox:{cell.home / 'mailbox'}"
        cell.secret = f"Tr0ub4dor{os.urandom(8).hex()}"
        cell.script = script.replace("{secret!r}", repr(cell.secret))
        yield

    return opened


@contextmanager
def _changing(cell: Cell) -> Iterator[None]:
    """One file grows all the time, and others appear and disappear."""
    cell.notify = f"mailbox:{cell.home / 'mailbox'}"
    cell.script = "import time; time.sleep(1)"
    over = threading.Event()
    worker = threading.Thread(target=_change, args=(cell.work, over))
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def _change(work: Path, over: threading.Event) -> None:
    number = 0
    with open(work / "growing.json", "wb") as growing:
        while not over.wait(0.002):
            number += 1
            if growing.tell() < 64 << 20:
                growing.write(b'{"step": 1}\n' * 1000)
                growing.flush()
            (work / f"vanishing{number}.csv").write_text("1,2\n" * 100)
            (work / f"vanishing{number - 5}.csv").unlink(missing_ok=True)


def _text(mail: EmailMessage) -> str:
    found = []
    for part in mail.walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes):
            if content.startswith(b"\x1f\x8b"):
                content = gzip.decompress(content)
            found.append(content.decode("utf-8", "replace"))
    return "\n".join(found)


_PENDING, _FAILED = frozenset({"pending"}), frozenset({"failed"})

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("refused", _refused, _PENDING, mended=True),
        Fault("black_hole", _broken_server("black_hole"), _PENDING, has_answer=False),
        Fault("silent", _broken_server("silent"), _PENDING, has_answer=False),
        Fault("slow_drip", _broken_server("slow_drip"), _PENDING, has_answer=False),
        Fault("421", _broken_server("421"), _PENDING),
        Fault("452_mail", _broken_server("452_mail"), _PENDING),
        Fault("452_data", _broken_server("452_data"), _PENDING),
        Fault("550_rcpt", _broken_server("550_rcpt"), _FAILED),
        Fault("bad_login", _broken_server("bad_login", user="me:no@"), _FAILED),
        Fault("bad_certificate", _broken_server("bad_certificate", security="starttls"), _FAILED),
        Fault("cut_in_data", _broken_server("cut_in_data"), _PENDING),
        Fault("no_such_host", _no_such_host, _PENDING),
        *(Fault(f"template_{name}", _template(text)) for name, text in TEMPLATES.items()),
        Fault("module_import_error", _module(MODULES["import_error"]), _FAILED, mended=True),
        Fault("module_exits_at_import", _module(MODULES["exits_at_import"]), _FAILED, mended=True),
        Fault("module_dies_at_import", _module(MODULES["dies_at_import"]), _PENDING, mended=True),
        Fault("full_disk", _full_disk, _PENDING, mended=True, has_answer=False, once=True),
        Fault("read_only_outbox", _read_only_outbox),
        Fault("many_artifacts", _artifacts(_MANY)),
        Fault("changing_artifacts", _changing),
        Fault("sparse_artifact", _artifacts(_SPARSE)),
        Fault("hostile_text", _artifacts(_HOSTILE)),
    )
}
"""The faults by name, which is the id of the cell."""

QUICK = ("refused", "550_rcpt", "template_raises", "module_import_error", "hostile_text")
"""Faults that take about a second and do not need root."""
