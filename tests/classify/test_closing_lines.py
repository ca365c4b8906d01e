"""The last words of a program, where nothing else in its log names a cause."""

from __future__ import annotations

import json

import pytest

from gpualert_common.classify import Resolution, Scanner, load_rules, resolve
from gpualert_common.model import EvidenceKind, ExitFacts

RULES = load_rules()
START = "INFO reading options\nstep 1 loss 2.31\nstep 2 loss 2.30\n"


def resolve_log(log: str, code: int = 1) -> Resolution:
    """Return the resolution of a run with the output *log* and the exit status *code*."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(log.encode(), 0)
    return resolve([scanner.finish()], ExitFacts(code), RULES)


LAST_WORDS = [
    ("config", "plan: warmup is longer than the whole run, change one of the two"),
    ("config", "fatal: option lr and option schedule exclude each other"),
    ("data", "[prep] 0 sentence pairs in 3 files"),
    ("data", "Error: shard 31, record 77: bad length prefix (claims 40 bytes)"),
    ("file_not_found", "[prep] aborted: the prepared shards under /data/pile are not there"),
    ("checkpoint", "ERROR resume refused"),
    ("gpu_hardware", "gate: device 2 does arithmetic wrong, training was not started"),
    ("rendezvous", "ctl: only 3 of 4 workers have reported in, dismissing them"),
    ("nan_loss", "stopping: the objective is no longer finite"),
    ("traceback", "fatal: 'str' object is not callable"),
    ("assertion", "invariant violated: a parent is younger than its child"),
    ("network", "giving up: the artifact store did not answer for 300 s"),
    ("missing_module", "quantization was switched on, but bitsandbytes is absent"),
]


@pytest.mark.parametrize(("cause", "line"), LAST_WORDS)
def test_last_words_name_the_cause(cause: str, line: str) -> None:
    """A sentence of the program itself names the cause, with less confidence than a message."""
    found = resolve_log(f"{START}{line}\n")
    assert (found.cause, found.explanation.evidence) == (cause, EvidenceKind.LINE)
    assert found.confidence == 0.7


TOPICS = [
    ("network", "object storage: every mirror refused the download\nquitting"),
    ("checkpoint", "the snapshot of the previous run has another architecture\nnot resumed, bye"),
    ("node_failure", "kubelet on rack 3 was last seen an hour ago\nended"),
]


@pytest.mark.parametrize(("cause", "lines"), TOPICS)
def test_vocabulary_names_the_cause(cause: str, lines: str) -> None:
    """The vocabulary around the announced end names the cause, where no wording is known."""
    assert resolve_log(f"{START}{lines}\n").cause == cause


NO_TOPICS = [
    "gpu 0: A100, driver 550, cuda 12.4\ncompiling kernels",
    "loading dataset shards 0..40\nbuilding vocabulary\ntokenizing sentences",
    "checkpoint saved to out/9.pt\nresuming the scheduler state",
    "quitting",
]


@pytest.mark.parametrize("lines", NO_TOPICS)
def test_vocabulary_of_work_names_no_cause(lines: str) -> None:
    """A program that ends without a word about it has no topic, whatever it did last."""
    assert resolve_log(f"{START}{lines}\n").cause == "runtime_error"


FOOTERS = [
    "-" * 40,
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
    "make: *** [Makefile:42: train] Error 1",
    "Resource usage summary:",
    "    CPU time :   1021.00 sec.",
    "    Max Memory :   65536 MB",
]


def test_footers_do_not_hide_the_last_words() -> None:
    """Lines that launchers, build tools and schedulers write behind a program do not count."""
    footer = "\n".join(f"{line}\n{line}" for line in FOOTERS * 3)
    log = f"{START}fatal: option lr and option schedule exclude each other\n{footer}\n"
    assert resolve_log(log).cause == "config"


def test_error_word_alone_announces_the_next_line() -> None:
    """Some programs write "Fatal error:" on a line of its own."""
    words = "\n".join(f"for more help see page {chr(97 + at) * 3}" for at in range(8))
    log = f"{START}Fatal error:\noption lr and option schedule exclude each other\n{words}\n"
    assert resolve_log(log).cause == "config"


NO_STATEMENTS = [
    "INFO resume refused",
    "$ grep -i 'resume refused' train.log",
    "the data are probably damaged",
    "a worker may have been killed by the operator",
    "no checkpoint found in out/, starting from scratch",
    "no GPU found, using CPU",
]


@pytest.mark.parametrize("line", NO_STATEMENTS)
def test_guesses_commands_and_notes_name_no_cause(line: str) -> None:
    """Information, a repeated command and a guess do not say why the run failed."""
    found = resolve_log(f"{START}{line}\n")
    assert (found.cause, found.explanation.evidence) == ("runtime_error", EvidenceKind.STATUS)


INDEX_ERROR = """\
Traceback (most recent call last):
  File "t.py", line 3, in <module>
    path = found[-1]
IndexError: list index out of range"""

DIVISION = INDEX_ERROR.replace(
    "IndexError: list index out of range", "ZeroDivisionError: division by zero"
)
LOST_PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.4]:31"

EXPLAINED = [
    ("oom_killer", 137, "memguard: worker 3 went over its memory limit and was killed"),
    ("preempted", 143, "agent: making room for urgent-7"),
    ("idle_hang", 143, "watch: step 812 is stuck for 1800 s, sending SIGTERM"),
    ("node_failure", 137, "agent: lost contact with node cn-4"),
    ("gpu_hardware", 1, "RuntimeError: CUDA error: unknown error\nbmc: board 6 is gone"),
    ("asset", 1, f"hub: no model of that name\n{INDEX_ERROR}"),
    ("idle_hang", 124, "watch: no progress for 45 minutes, main thread waits for a lock"),
    ("cancelled", 137, "agent: stopped by the operator from the dashboard"),
    ("node_failure", 1, f"{LOST_PEER}\nagent: lost contact with node cn-4"),
    ("data", 1, f"prep: 0 sentence pairs in 3 files\n{DIVISION}"),
]


@pytest.mark.parametrize(("cause", "code", "lines"), EXPLAINED)
def test_words_explain_what_only_describes_the_end(cause: str, code: int, lines: str) -> None:
    """A kill, a stop, a lost device and a plain exception have the cause that a tool names."""
    assert resolve_log(f"{START}{lines}\n", code).cause == cause


WATCHDOG = (
    "[rank{0}]:[E1120 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("[ERROR] option lr and option schedule exclude each other", "config"),
        ("option lr and option schedule exclude each other", "collective"),
    ],
)
def test_words_before_reports_of_a_lost_peer(line: str, cause: str) -> None:
    """An announced error before them is the root; other words might be about anything."""
    reports = "".join(WATCHDOG.format(rank) for rank in range(1, 8)) * 5
    assert resolve_log(f"{START}{line}\n{reports}").cause == cause


def test_words_that_all_ranks_write() -> None:
    """The same line of eight ranks is one of the last lines."""
    words = ("fatal: option lr is unknown", "freeing the cache", "closing files", "bye")
    lines = (f"[rank{rank}]: {line}\n" for line in words for rank in range(8))
    assert resolve_log(START + "".join(lines)).cause == "config"


KEY_ERROR = """\
Traceback (most recent call last):
  File "t.py", line 3, in <module>
    best = scores["acc"]
KeyError: 'acc'"""

GOING_ON = [
    "last.pt not found, starting from scratch",
    "config file conf.yaml not found, using defaults",
    "3 files are empty, skipped",
    "connection to the tracker timed out, retrying",
    "5 images are truncated and have been dropped",
    "/cache/tokens.npy does not exist, computing",
    "no checkpoint found in runs/a. Training a new model",
    "step 500",
]


KILLED = [
    "removing checkpoint-500 to make room for checkpoint-1000",
    "replay buffer: evicted 300 episodes, capacity 10000",
    "training has been running for 2.5 hours",
    "checkpoint last modified 30 s ago",
    "plotting loss over time",
    "restarted workers to release memory",
    "W&B server is unreachable",
]


@pytest.mark.parametrize("line", KILLED)
def test_work_is_no_reason_for_a_kill(line: str) -> None:
    """Words about the work itself do not say who killed the run."""
    assert resolve_log(f"{START}{line}\n", 137).cause == "killed_unknown"


def test_words_do_not_explain_a_mistake_of_the_program() -> None:
    """A name that is not defined has no cause outside the program."""
    words = "hub: no model of that name"
    raised = KEY_ERROR.replace("KeyError: 'acc'", "NameError: name 'acc' is not defined")
    assert resolve_log(f"{START}{words}\n{KEY_ERROR}\n").cause == "asset"
    assert resolve_log(f"{START}{words}\n{raised}\n").cause == "traceback"


BEHIND = [
    "mail: cannot connect to smtp server: connection refused",
    "wandb: Network error resolved; upload request timed out",
    "cp: cannot stat 'out/model.pt': No such file or directory",
]


@pytest.mark.parametrize("line", BEHIND)
def test_words_behind_an_exception(line: str) -> None:
    """The script around a program does not explain why the program failed."""
    assert resolve_log(f"{START}{KEY_ERROR}\n{line}\n").cause == "traceback"


@pytest.mark.parametrize("line", GOING_ON)
def test_words_of_a_program_that_goes_on(line: str) -> None:
    """Words about what a program does without do not explain a later exception."""
    assert resolve_log(f"{START}{line}\n{KEY_ERROR}\n").cause == "traceback"


def test_named_cause_has_precedence_over_words() -> None:
    """Words do not count against an exception that names a cause."""
    log = f"{START}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    assert resolve_log(f"{log}fatal: option lr is unknown\n").cause == "cuda_oom"


DECODE_ERROR = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
json.decoder.JSONDecodeError: Expecting value: line 1"""

RECORDS = [
    ("assertion", '"reason": "AssertionError: engine serves 55", "message": "job aborted"'),
    ("data", f'"event": "failed", "exception": {json.dumps(DECODE_ERROR)}'),
    ("checkpoint", '"msg": "resume refused"'),
]
NUMBERED = '{"level": 50, "time": 1531171074631, "msg": "resume refused", "pid": 657, "v": 1}'


@pytest.mark.parametrize(("cause", "fields"), RECORDS)
def test_error_records_in_json(cause: str, fields: str) -> None:
    """The error in a JSON record of a logger is read like a line."""
    assert resolve_log(f'{START}{{"level": "error", {fields}}}\n').cause == cause
    assert (
        resolve_log(f'{START}{{"level": "info", "msg": "resume refused"}}\n').cause
        == "runtime_error"
    )


def test_error_level_as_a_number() -> None:
    """Pino and bunyan write 50 for an error, and 30 for information."""
    raised = NUMBERED.replace("resume refused", "AssertionError: engine serves 55")
    assert resolve_log(f"{START}{NUMBERED}\n").cause == "checkpoint"
    assert resolve_log(f"{START}{raised}\n").cause == "assertion"
    assert resolve_log(f"{START}{raised.replace('50', '30')}\n").cause == "runtime_error"


@pytest.mark.parametrize("text", [r"no such option \ud800", r"no such option \u0000 \u001b[31m"])
def test_any_character_in_json(text: str) -> None:
    """An escape for half a character, which no encoding can write, does not stop the verdict."""
    assert resolve_log(f'{START}{{"level": "error", "msg": "{text}"}}\n').cause == "config"


def test_errors_of_julia() -> None:
    """Julia writes ERROR: LoadError: before the type of an exception."""
    assert (
        resolve_log(f"{START}ERROR: LoadError: AssertionError: issorted(knots)\n").cause
        == "assertion"
    )
