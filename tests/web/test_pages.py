"""Pages of the web server by real HTTP: the list, its filters, one run, comparison, downloads."""

from __future__ import annotations

import html
import os
import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpualert_common.record import EXIT, SPEC, VERDICT
from tests.supervised import Lab, exit_of, is_alive, listener, python, shell, until
from tests.web.web_server import WebServer, start_server

SECRET = "sk-proj-" + "Ab3" * 16
OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
TRAINING = """
import itertools, os, time
for step in itertools.count(1):
    print(f"step {step}/1000 loss {2 / step:.4f}", flush=True)
    while os.path.exists("wait"):
        time.sleep(0.01)
    time.sleep(0.02)
"""
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m<img src=x onerror=alert(1)>"


@pytest.fixture
def server(lab: Lab) -> Iterator[WebServer]:
    """A server that lets its pages act."""
    with start_server("--allow-actions", errors=lab.home / "notes") as one:
        yield one


def name_rows(page: str) -> list[str]:
    """Return the names of the runs on the page of the list, in its order."""
    return [
        html.unescape(name)
        for name in re.findall(r'<th scope="row"[^>]*><a [^>]*><bdi>(.*?)</bdi>', page)
    ]


def run_named(lab: Lab, name: str, *command: str) -> None:
    """Run a command to its end under a name."""
    lab.gpualert("run", "--name", name, "--", *command)


def test_list_and_filters(lab: Lab, server: WebServer) -> None:
    """The list has the live runs first, then the newest; each field of the form filters it."""
    run_named(lab, "train oom", *OOM)
    run_named(lab, "train fine", "true")
    lab.launch("sleep", "1000", options=("--name", "eval live"))
    run_named(lab, "last", "false")
    assert name_rows(server.request().text) == ["eval live", "last", "train fine", "train oom"]
    for query, expected in {
        "state=live": ["eval live"],
        "state=failed-all": ["last", "train oom"],
        "state=completed": ["train fine"],
        "cause=cuda_oom": ["train oom"],
        "name=train": ["train fine", "train oom"],
        "name=train*oom": ["train oom"],
        "name=in": ["train fine", "train oom"],
        "since=1h&name=live": ["eval live"],
        "until=1h": [],
        "user=nobody-of-here": [],
        "state=nonsense": ["eval live", "last", "train fine", "train oom"],
        "since=whenever": ["eval live", "last", "train fine", "train oom"],
        "page=99": ["eval live", "last", "train fine", "train oom"],
        "page=-1&state=failed": ["last", "train oom"],
    }.items():
        assert name_rows(server.request(path=f"/?{query}").text) == expected, query
    assert "whenever" in server.request(path="/?since=whenever").text


def test_pages_of_the_list(lab: Lab, server: WebServer) -> None:
    """A long list has pages that keep the filter."""
    run_named(lab, "one of many", "false")
    (source,) = lab.records()
    for number in range(120):
        copy = source.with_name(f"20200101-{number:06d}-000000-aaaa")
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".*"))
    first = server.request(path="/?name=many").text
    assert len(name_rows(first)) == 50
    assert "1 to 50 of 121" in first
    (link,) = re.findall(r'href="([^"]+)" rel="next"', first)
    second = server.request(path=html.unescape(link)).text
    assert "51 to 100 of 121" in second
    assert 'rel="prev"' in second
    assert len(name_rows(server.request(path="/?name=many&page=3").text)) == 21


def test_changes_of_records_are_noticed(lab: Lab, server: WebServer) -> None:
    """A run that ends, a damaged one and a removed one are shown as they are now."""
    run = lab.launch(*shell("until [ -e go ]; do sleep 0.01; done; exit 3"))
    assert ">running<" in server.request().text.replace("</span>", "")
    (lab.home / "go").touch()
    run.wait()
    until(lambda: ">failed<" in server.request().text.replace("</span>", ""), "the new state")
    (path,) = lab.records()
    (path / VERDICT).write_text("{")
    until(lambda: ">damaged<" in server.request().text.replace("</span>", ""), "the damage")
    assert "damaged" in server.get_run(path.name).text
    (path / SPEC).write_text("[]")
    assert server.get_run(path.name).status == 422
    assert server.request().status == 200
    shutil.rmtree(path)
    assert server.get_run(path.name).status == 404
    until(lambda: "No run yet" in server.request().text, "the empty list")


def test_live_page(lab: Lab, server: WebServer) -> None:
    """The page of a live run has its progress, its newest output, and the form of each action."""
    run = lab.launch(*python(TRAINING))
    run.wait_for_output(b"step 20/")
    page = server.get_run(run.record.run_id).text
    assert re.search(r"step <b>\d+</b> of 1000", page)
    assert "<dt>Loss</dt>" in page
    assert "<bdi>step 20/1000 loss 0.1000</bdi>" in page
    assert f'action="/runs/{run.record.run_id}/stop"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    (lab.home / "wait").touch()

    def has_last() -> bool:
        last = run.log().decode().split("\n")[-2]
        return f"<bdi>{last}</bdi>" in server.get_run(run.record.run_id).text

    until(has_last, "the last line on the page")


def test_ended_page(lab: Lab, server: WebServer) -> None:
    """The page of an ended run has its verdict and no action, and links to a report."""
    run_named(lab, "oom", *OOM)
    (path,) = lab.records()
    page = server.get_run(path.name).text
    assert "CUDA out of memory" in page
    assert "What to do" in page
    assert "form_token" not in page
    assert "http-equiv" not in page
    report = server.request(path=f"/runs/{path.name}/report?download=1")
    assert (report.status, report.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert report.headers["content-disposition"].startswith("attachment")
    assert "CUDA out of memory" in report.text


def test_stop(lab: Lab, server: WebServer) -> None:
    """A stop by a page ends the run as gpualert stop does, and names its sender."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    token = server.read_form_token(run.record.run_id)
    answer = server.send_form(f"/runs/{run.record.run_id}/stop", {"form_token": token})
    assert (answer.status, answer.headers["location"]) == (303, f"/runs/{run.record.run_id}")
    run.wait()
    sender = exit_of(run.record)["sender"]
    assert (sender["command"], sender["pid"]) == ("gpualert web", server.process.pid)
    until(lambda: run.record.has(VERDICT), "the verdict")
    page = html.unescape(server.get_run(run.record.run_id).text)
    assert "stopped" in page
    assert "on a page of gpualert web" in page
    again = server.send_form(f"/runs/{run.record.run_id}/stop", {"form_token": token})
    assert again.status == 303


def test_stop_of_a_run_that_takes_its_time(lab: Lab, server: WebServer) -> None:
    """The page answers within the grace, others are served meanwhile, a second stop adds none."""
    run = lab.launch(*listener("SIGUSR1", "SIGTERM"), options=("--grace", "600s"))
    run.wait_for_output(b"ready")
    token = server.read_form_token(run.record.run_id)
    path = f"/runs/{run.record.run_id}"
    with ThreadPoolExecutor(2) as pool:
        fields = {"form_token": token}
        stops = [pool.submit(server.send_form, f"{path}/stop", fields) for _ in range(2)]
        run.wait_for_event("stopping")
        assert server.request().status == 200
        assert not any(stop.done() for stop in stops)
        assert [stop.result().status for stop in stops] == [303, 303]
    assert "stopping" in server.get_run(run.record.run_id).text
    assert sum(event.name == "stopping" for event in run.record.events()) == 1
    assert is_alive(run.leader)


def test_stop_without_a_supervisor(lab: Lab, server: WebServer) -> None:
    """A run whose supervisor died is stopped, too."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    run.process.kill()
    run.process.wait()
    until(lambda: not run.record.is_held, "the lock to be free")
    until(lambda: "continues without it" in server.get_run(run.record.run_id).text, "the state")
    token = server.read_form_token(run.record.run_id)
    server.send_form(f"/runs/{run.record.run_id}/stop", {"form_token": token})
    until(lambda: not is_alive(run.leader), "the end of the run")
    until(lambda: run.record.has(EXIT), "the record")


def test_lost_runs_are_finished(lab: Lab, server: WebServer) -> None:
    """The record of a run that died with its supervisor is completed while the server runs."""
    run = lab.launch(*listener())
    run.wait_for_output(b"ready")
    run.process.kill()
    run.process.wait()
    os.kill(run.leader, signal.SIGKILL)

    def is_finished() -> bool:
        return server.request().status == 200 and run.record.has(VERDICT)

    until(is_finished, "the recovery")


def test_stacks(lab: Lab, server: WebServer) -> None:
    """Stacks by a page are those of now, also when the record takes no more of them."""
    run = lab.launch(*python(TRAINING))
    run.wait_for_output(b"step 2/")
    token = server.read_form_token(run.record.run_id)
    for _ in range(5):
        answer = server.send_form(f"/runs/{run.record.run_id}/stacks", {"form_token": token})
        assert answer.headers["location"].endswith("#stacks")
    page = server.get_run(run.record.run_id).text
    assert "on request" in page
    assert str(run.leader) in page
    path = "/runs/20200101-000000-000000-aaaa/stacks"
    assert server.send_form(path, {"form_token": token}).status == 404
    run.process.terminate()
    run.wait()
    ended = server.send_form(f"/runs/{run.record.run_id}/stacks", {"form_token": token})
    assert ended.status == 409


def test_compare(lab: Lab, server: WebServer) -> None:
    """Two runs stand side by side, with the differences of their commands and their losses."""
    code = "import sys\nfor n in range(1, 40): print(f'step {n}/40 loss {float(sys.argv[1]) / n}')"
    run_named(lab, "first", *python(code), "2.0")
    run_named(lab, "second", *python(code), "9.0")
    one, other = (path.name for path in lab.records())
    page = server.request(path=f"/compare?run={one}&run={other}").text
    assert page.count("stroke-series-") >= 2
    assert "Training loss" in page
    assert re.search(r"2\.0.*9\.0", page, re.DOTALL)
    for query in ("", f"?run={one}", f"?run={one}&run={one}", f"?run={one}&run={other}&run=x"):
        assert server.request(path=f"/compare{query}").status == 400
    assert server.request(path=f"/compare?run={one}&run=nothing").status == 404


def test_hostile_texts(lab: Lab, server: WebServer) -> None:
    """Markup, escape sequences and marks of direction in names and logs are only text."""
    code = f"print({HOSTILE!r}, flush=True); raise RuntimeError({HOSTILE!r})"
    lab.gpualert("run", "--name", HOSTILE, "--", *python(code))
    (path,) = lab.records()
    for page in (server.request().text, server.get_run(path.name).text):
        assert "alert(1)" in page
        assert not re.search("<script>|<img|\u202e|\x1b", page)
    quoted = server.request(path="/?name=%22%3E%3Cscript%3E&since=%3Cb%3E&state=%3Ci%3E").text
    assert not re.search("<script>|<b>|<i>", quoted)


def test_secrets_are_masked(lab: Lab, server: WebServer) -> None:
    """No page and no download has a secret of the command or of the log."""
    command = shell(f"echo api_key={SECRET}; echo MemoryError; exit 1 # {SECRET}")
    run_named(lab, "secret", *command)
    run_named(lab, "other", "true")
    one, other = (path.name for path in lab.records())
    for path in (
        *("/", f"/runs/{one}", f"/runs/{one}/report", f"/runs/{one}/logs/stdout.log"),
        f"/compare?run={one}&run={other}",
    ):
        answer = server.request(path=path)
        assert answer.status == 200
        assert SECRET not in answer.text
    assert "[redacted" in server.request(path=f"/runs/{one}/logs/stdout.log").text


def test_log_download_is_whole(lab: Lab, server: WebServer) -> None:
    """A log of many megabytes arrives whole, with each secret masked, in bounded memory."""
    count = 100_000
    code = (
        f"for n in range({count}): print('line', n, 'key={SECRET}' if n % 9999 == 7 else 'x' * 99)"
    )
    run_named(lab, "long", *python(code))
    (path,) = lab.records()
    before = _read_memory(server)
    answer = server.request(path=f"/runs/{path.name}/logs/stdout.log")
    lines = answer.text.split("\n")
    assert len(lines) == count + 1
    assert sum("key=[redacted" in line for line in lines) == 11
    assert SECRET not in answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert _read_memory(server) - before < len(answer.body)


def _read_memory(server: WebServer) -> int:
    """Return the peak of the server's memory in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def test_without_the_extra(lab: Lab, tmp_path: Path) -> None:
    """Without Starlette the command is an error that names the remedy."""
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = lab.gpualert("web", env=env)
    assert done.returncode == 2
    assert b"pip install 'gpualert-common[web]'" in done.stderr
    assert b"Traceback" not in done.stderr


def test_many_reports_at_once(lab: Lab, server: WebServer) -> None:
    """Reports that many tabs ask for at once all arrive, two at a time."""
    run_named(lab, "oom", *OOM)
    (path,) = lab.records()
    with ThreadPoolExecutor(8) as pool:
        paths = [f"/runs/{path.name}/report"] * 8
        answers = list(pool.map(lambda one: server.request(path=one), paths))
    assert {answer.status for answer in answers} == {200}
