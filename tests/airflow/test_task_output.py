"""The log of another operator's task: its program's output, apart from Airflow's own lines.

The lines are those of Airflow 3.3 with the standard provider 1.21, and of Airflow 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gpualert_provider.notifications.gpualert import GPUAlertNotifier
from gpualert_provider.task_log import TaskLog

from tests.airflow.test_notifier import seen_by_processor
from tests.notify.alerting import body, mails
from tests.supervised import Lab

HOOK = "airflow.task.hooks.airflow.providers.standard.hooks.subprocess.SubprocessHook"
VIRTUALENV = "airflow.providers.standard.utils.python_virtualenv"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a"
BASH_FAILED = "Bash command failed. The command returned a non-zero exit code 1."


def event(logger: str, text: str, **fields: Any) -> str:
    """Return a line of a task log."""
    return json.dumps({"level": "info", "event": text, "logger": logger, **fields})


def bash_log(command: str, *output: str, code: int = 1) -> list[str]:
    """Return the log of a BashOperator's task."""
    detail = {"exc_type": "AirflowException", "exc_value": BASH_FAILED, "frames": []}
    return [
        event("task", "::group::Pre Execute"),
        event("airflow.dag_processing.dagbag.BundleDagBag", "Filling up the DagBag from x.py"),
        event("task", "::endgroup::"),
        event(HOOK, "Tmp dir root location: /tmp"),
        event(HOOK, f"Running command: ['/usr/bin/bash', '-c', {command!r}]"),
        event(HOOK, "Output:"),
        *(event(HOOK, line) for line in output),
        event(HOOK, f"Command exited with return code {code}"),
        event("task", "Task failed with exception", error_detail=[detail]),
        event("task", "::group::Post Execute"),
        event("gpualert_provider.notifications.gpualert.GPUAlertNotifier", "alert to mailbox sent"),
    ]


def parse(*lines: str) -> TaskLog:
    """Return the parts of a log."""
    return TaskLog.parse("".join(f"{line}\n" for line in lines).encode())


def output(*lines: str) -> list[str]:
    """Return the program's lines of a log."""
    return parse(*lines).output.decode().splitlines()


@pytest.fixture
def write_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes the log of the task of ``seen_by_processor``."""
    monkeypatch.delenv("GPUALERT_NOTIFY")
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    path = tmp_path / "dag_id=nightly/run_id=manual/task_id=train/attempt=2.log"

    def write(*lines: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    return write


def notify(lab: Lab, error: BaseException | None) -> dict[str, Any]:
    """Call the notifier for the task, and return the verdict."""
    context: Any = {**seen_by_processor(), "exception": error}
    GPUAlertNotifier().notify(context)
    return lab.record().read_json("verdict.json") or {}


def source(verdict: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an evidence source of a verdict."""
    (found,) = (one for one in verdict["sources"] if one["name"] == name)
    return dict(found)


def bash_failed(code: int = 1) -> BaseException:
    """Return the exception of a BashOperator, as Airflow raises it."""
    from airflow.sdk.exceptions import AirflowException

    return AirflowException(BASH_FAILED.replace("1", str(code)))


# -- the verdict -----------------------------------------------------------------------------


def test_command_is_not_output(lab: Lab, write_log: Any) -> None:
    """A command that searches for an error message, and finds none, does not have that error."""
    write_log(*bash_log(f'grep -q "{OOM}" train.log'))
    verdict = notify(lab, bash_failed())
    assert (verdict["cause"], verdict["exit_code"]) == ("runtime_error", 1)
    assert verdict["confidence"] <= 0.5
    assert (source(verdict, "log")["available"], source(verdict, "log")["bytes_read"]) == (True, 0)


def test_output_is_read(lab: Lab, write_log: Any) -> None:
    """The message that the command printed is the cause."""
    write_log(*bash_log("python3 train.py", "step 1", OOM))
    verdict = notify(lab, bash_failed())
    assert (verdict["cause"], verdict["exit_code"]) == ("cuda_oom", 1)


def test_missing_log(lab: Lab, write_log: Any) -> None:
    """Without a log the verdict names it, says no more than the status does, and so the mail."""
    verdict = notify(lab, bash_failed(3))
    assert (verdict["cause"], verdict["exit_code"]) == ("runtime_error", 3)
    assert verdict["confidence"] <= 0.3
    missing = source(verdict, "task_log")
    assert not missing["available"]
    assert "attempt=2.log is not on this host" in missing["why"]
    assert "log" not in [one["name"] for one in verdict["sources"]]
    (mail,) = mails(lab)
    assert "is not on this host" in " ".join(body(mail).split())


def test_missing_log_of_an_exception(lab: Lab, write_log: Any) -> None:
    """Without a log an exception of the program is evidence, with less confidence."""
    write_log(event("task.stdout", "step 1"))
    for task in ("train", "other"):
        context: Any = {**seen_by_processor(task_id=task), "exception": RuntimeError(OOM)}
        GPUAlertNotifier().notify(context)
    verdicts = [json.loads((path / "verdict.json").read_text()) for path in lab.records()]
    without_log, with_log = sorted(verdicts, key=lambda verdict: verdict["confidence"])
    assert without_log["cause"] == with_log["cause"] == "cuda_oom"
    assert not source(without_log, "task_log")["available"]
    assert "task_log" not in [one["name"] for one in with_log["sources"]]
    assert without_log["confidence"] < with_log["confidence"]


def test_killed_task(lab: Lab, write_log: Any) -> None:
    """The line of Airflow's supervisor names the signal; its guess at the reason is no evidence."""
    text = "Process terminated by signal. Likely out of memory error (OOM)."
    write_log(event("task.stdout", "step 1"), event("task", text, signal=-9, signal_name="SIGKILL"))
    verdict = notify(lab, None)
    assert (verdict["cause"], verdict["signal"]) == ("killed_unknown", "SIGKILL")


# -- the lines of Airflow's logs -------------------------------------------------------------


def test_lines_of_a_hook() -> None:
    """Between the start and the end of a command all lines are its own; around it none is."""
    printed = ["Running command: make", "Output:", "::warning::", "Tmp dir root location: /x"]
    assert output(*bash_log("make", *printed)) == printed
    assert parse(*bash_log("make", code=-9)).exit_code == -9


def test_stop_by_the_hook() -> None:
    """The hook's line about its signal is not the command's."""
    stopped = event(HOOK, "Sending SIGTERM signal to process group")
    assert output(event(HOOK, "Output:"), event(HOOK, "begin"), stopped) == ["begin"]


def test_output_of_python() -> None:
    """Printed and logged lines of a Python callable are its own, with exceptions it logged."""
    frame = {"filename": "load.py", "lineno": 7, "name": "load"}
    detail = [{"exc_type": "OSError", "exc_value": "no bucket", "frames": [frame]}]
    assert output(
        event("task.stdout", "printed"),
        event("task.stderr", "to stderr"),
        event("trainer", "load failed", error_detail=detail),
        event("airflow.task.operators.x.PythonOperator", "Got 3 rows"),
        event("airflow.models.dag", "of Airflow"),
    ) == [
        *("printed", "to stderr", "load failed", "Traceback (most recent call last):"),
        *('  File "load.py", line 7, in load', "OSError: no bucket", "Got 3 rows"),
    ]


def test_output_of_a_virtual_environment() -> None:
    """The command of a PythonVirtualenvOperator is not its output."""
    lines = ["Executing cmd: /tmp/venv/bin/python script.py", "Output:", "printed"]
    assert output(*(event(VIRTUALENV, line) for line in lines)) == ["printed"]


def test_lines_of_text() -> None:
    """Lines of Airflow 2 and of custom handlers name their source file; others are kept."""
    at = "[2026-11-24T14:32:56.446+0000]"
    log = f"""{at} {{taskinstance.py:1225}} INFO - Marking task as FAILED
{at} {{subprocess.py:63}} INFO - Running command: ['bash', '-c', 'grep x
{OOM}']
{at} {{subprocess.py:75}} INFO - Output:
{at} {{subprocess.py:86}} INFO - step 1
{at} {{subprocess.py:97}} INFO - Command exited with return code 2
{at} {{logging_mixin.py:188}} INFO - printed
{at} {{taskinstance.py:2728}} ERROR - Task failed with exception
Traceback (most recent call last):
airflow.exceptions.AirflowException: {BASH_FAILED}"""
    assert output(log) == ["step 1", "printed"]
    assert parse(log).exit_code == 2
    assert output("without a head", '{"event') == ["without a head", '{"event']


def test_any_bytes() -> None:
    """Bytes of any kind are read."""
    log = TaskLog.parse(b'\xff\n{"event": "\\ud800", "logger": "task.stdout"}\n[1]\n{"event": 7}\n')
    assert log.output.decode().splitlines() == ["\\xff", "\\ud800", "[1]", "7"]
