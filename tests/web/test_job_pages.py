"""Pages of jobs by real HTTP: the list, one job with its nodes, and directories that fail."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.record import SPEC
from gpualert_common.web.job_groups import group_jobs
from gpualert_common.web.job_reports import JobReports
from tests.jobs.composed_job import KEY, compose, end
from tests.jobs.silent_store import ADDRESS, start_silent_store
from tests.pages.kinds_of_jobs import write_digests
from tests.supervised import Lab, python, shell, until
from tests.web.test_pages import HOSTILE, name_rows
from tests.web.web_server import WebServer, start_server

OOM = python("raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
LOST = python("raise RuntimeError('[gloo] Connection closed by peer [10.0.0.2]:4321')")


@pytest.fixture
def server(lab: Lab) -> Iterator[WebServer]:
    """A server of the runs in the lab."""
    with start_server(errors=lab.home / "notes") as one:
        yield one


def run_node(lab: Lab, node: int, *command: str) -> str:
    """Run the command on a node of a step of Slurm to its end; return the id of the run."""
    variables = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0", "SLURM_NODEID": str(node)}
    variables |= dict.fromkeys(("SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"), "3")
    known = set(lab.records())
    directory = str(lab.home / "jobs")
    lab.gpualert("run", "--job-dir", directory, "--", *command, env=make_env(lab, **variables))
    (path,) = set(lab.records()) - known
    digest = Path(directory, "slurm-17.0", "digests", f"{path.name}.json")
    until(lambda: digest.exists() and b'"ended"' in digest.read_bytes(), "the last digest")
    return path.name


def make_env(lab: Lab, **variables: str) -> dict[str, str]:
    """Return the environment of a run in the lab."""
    return {**os.environ, **lab.environment(), **variables}


def write_runs(lab: Lab, jobs: Sequence[object]) -> list[str]:
    """Write the record of an ended run for each job; return their ids."""
    lab.gpualert("run", "--", *shell("exit 3"))
    (source,) = lab.records()
    spec = json.loads((source / SPEC).read_text())
    names = []
    for number, job in enumerate(jobs):
        copy = source.with_name(f"20200101-{number:06d}-000000-aaaa")
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(".*"))
        (copy / SPEC).write_text(json.dumps({**spec, "job": job}))
        names.append(copy.name)
    shutil.rmtree(source)
    return names


def wait_for(server: WebServer, path: str, text: str) -> str:
    """Return the page once it has this text: directories are read in the background."""

    def read() -> str:
        page = server.request(path=path).text
        return page if text in page else ""

    return until(read, f"{text!r} on {path}")


def list_jobs(page: str) -> list[str]:
    """Return the names of the jobs on the page of the list."""
    found = re.findall(r'<th scope="row" class="run"><a href="/jobs/[^"]+"><bdi>(.*?)</bdi>', page)
    return [html.unescape(one) for one in found]


@pytest.mark.e2e
def test_job_of_three_nodes(lab: Lab, server: WebServer) -> None:
    """A job has a row and a page, with the culprit, its nodes, and links to and from its runs."""
    culprit = run_node(lab, 1, *OOM)
    others = [run_node(lab, node, *LOST) for node in (0, 2)]
    lab.gpualert("run", "--name", "alone", "--", "true")

    found = wait_for(server, "/jobs", "3 nodes")
    assert list_jobs(found) == ["Slurm job 17.0"]
    assert "<code>cuda_oom</code>" in found

    page = wait_for(server, "/jobs/slurm-17.0", "CUDA out of memory")
    for run_id in (culprit, *others):
        assert f'href="/runs/{run_id}"' in page
    assert "attempt 1, node 1</span>" in page
    table = page[page.index('id="folded"') :]
    assert table.index("> culprit<") < table.index("> cascade<")
    assert table.index(culprit) < min(map(table.index, others))

    assert 'href="/jobs/slurm-17.0?in=' in server.get_run(culprit).text
    assert len(name_rows(server.request(path="/?job=17.0").text)) == 3
    assert len(name_rows(server.request(path="/?job=slurm-1*").text)) == 3
    assert name_rows(server.request(path="/?job=18").text) == []
    report = server.request(path=f"/runs/{others[0]}/report").text
    assert '<section id="job"' in report
    assert "This run failed because" in report


def test_large_job(lab: Lab, server: WebServer) -> None:
    """The nodes of a large job are folded, and stand on pages one by one, the culprit first."""
    write_runs(lab, [{"key": KEY, "name": "17", "directory": str(lab.home / "jobs")}])
    write_digests(lab.home / "jobs", 230)
    first = wait_for(server, f"/jobs/{KEY}", "Nodes one by one")
    assert "230 nodes: 1 culprit, 229 cascade" in first
    assert "1 to 100 of 230" in first
    last = server.request(path=f"/jobs/{KEY}?page=3").text
    assert "201 to 230 of 230" in last
    each = last[last.index('id="all"') :]
    assert each.count("> cascade<") == 30
    assert "> culprit<" not in each
    assert "230 of 230" in server.request(path=f"/jobs/{KEY}?page=99&in=").text


def test_jobs_without_a_directory(lab: Lab, server: WebServer) -> None:
    """A job without a job directory has a page with its runs, which says what it lacks."""
    (run_id,) = write_runs(lab, [{"key": "job-llama", "name": "llama", "origin": "option"}])
    assert list_jobs(server.request(path="/jobs").text) == ["llama"]
    page = server.request(path="/jobs/job-llama").text
    assert "each judges alone" in page
    assert run_id in page
    assert server.request(path="/jobs/job-other").status == 404


def test_jobs_of_one_key(lab: Lab, server: WebServer) -> None:
    """Jobs of one key in two directories have pages of their own, and their runs link to them."""
    folders = [str(lab.home / name) for name in ("first", "second")]
    runs = write_runs(lab, [{"key": KEY, "name": "17", "directory": one} for one in folders])
    page = server.request(path="/jobs").text
    links = [
        html.unescape(one) for one in re.findall(r'<a href="(/jobs/slurm-17[^"]*)"><bdi>', page)
    ]
    assert links[0] == "/jobs/slurm-17"
    assert links[1].startswith("/jobs/slurm-17?in=")
    for link, folder, run_id in zip(links, folders[::-1], runs[::-1], strict=True):
        found = server.request(path=link).text
        assert folder in found
        assert set(re.findall(r'href="/runs/([^"]+)"', found)) == {run_id}
        (own,) = re.findall(r'href="(/jobs/slurm-17[^"]*)"', server.get_run(run_id).text)
        assert folder in server.request(path=html.unescape(own)).text
    assert server.request(path="/jobs/slurm-17?in=beef").status == 404


def test_hostile_jobs(lab: Lab, server: WebServer) -> None:
    """Keys that are none of ours are no jobs, hostile texts are shown as they are."""
    bad = [{"key": key, "name": "x"} for key in ("../x", "a/b", "", "<b>", "x" * 101, "..")]
    directory = lab.home / "jobs"
    folder = directory / "job-bad" / "digests"
    folder.mkdir(parents=True)
    bad_node = compose(1, 4, job="job-bad", host=HOSTILE, name=HOSTILE)
    digest = end(bad_node, "cuda_oom", headline=HOSTILE)
    JobDirectory(open_store(str(directory)), "job-bad").write_digest(digest)
    (folder / "cut.json").write_text('{"job": "job-bad", "ru')
    (folder / "huge.json").write_bytes(b"[" * 5_000_000)
    hostile = {"key": "job-bad", "name": HOSTILE, "directory": str(directory)}
    write_runs(lab, [*bad, hostile, "text", {"key": 7}, None])
    assert "alert(1)" in wait_for(server, "/jobs/job-bad", 'id="folded"')
    for path in ("/", "/jobs", "/jobs/job-bad", "/jobs/job-bad?page=<b>", "/jobs/job-bad?page=-1"):
        answer = server.request(path=path)
        assert answer.status == 200, path
        for part in ("<script>alert", "<img", "\u202e", "\x1b"):
            assert part not in answer.text, path
    assert len(list_jobs(server.request(path="/jobs").text)) == 1
    for path in ("/jobs/..%2Fx", "/jobs/%3Cb%3E", "/jobs/job-bad/../../x"):
        assert server.request(path=path).status == 404
    assert (lab.home / "notes").read_text() == ""


def test_many_jobs(lab: Lab, server: WebServer) -> None:
    """A list of many jobs has pages; a directory that fails is named on the page of its job."""
    gone = str(lab.home / "gone")
    write_runs(lab, [{"key": f"job-{n}", "name": f"n{n}", "directory": gone} for n in range(60)])
    first = server.request(path="/jobs").text
    assert list_jobs(first) == [f"n{number}" for number in range(59, 9, -1)]
    assert "1 to 50 of 60" in first
    assert list_jobs(server.request(path="/jobs?page=2").text)[-1] == "n0"
    page = wait_for(server, "/jobs/job-0", "No such file")
    assert "Its directory has no report" in page


@pytest.mark.e2e
def test_silent_store(lab: Lab) -> None:
    """A store that never answers holds up no page for long, and its pages say what is missing."""
    with start_silent_store() as variables, start_server(env=make_env(lab, **variables)) as server:
        jobs = [{"key": f"job-{n}", "name": f"n{n}", "directory": ADDRESS} for n in range(30)]
        runs = write_runs(lab, jobs)
        began = time.monotonic()
        assert len(list_jobs(server.request(path="/jobs").text)) == 30
        assert "Its directory is being read" in server.request(path="/jobs/job-3").text
        assert server.get_run(runs[0]).status == 200
        assert "it has not answered yet" in server.request(path=f"/runs/{runs[0]}/report").text
        assert time.monotonic() - began < 20.0


def test_last_report_stays(tmp_path: Path) -> None:
    """A directory that is gone leaves the report that was read before, with the reason."""
    write_digests(tmp_path / "jobs", 4)
    reports = JobReports(fresh_s=0.0, settled_s=0.0, rest=0.0)
    place = (str(tmp_path / "jobs"), KEY)
    before = reports.read([place], 20.0)[place]
    assert before.report is not None
    assert before.problem == ""
    shutil.rmtree(tmp_path / "jobs")
    after = until(
        lambda: found if (found := reports.read([place], 1.0)[place]).problem else None,
        "a reading of the directory that is gone",
    )
    assert after.report == before.report
    assert after.read_at == before.read_at


def test_readings_are_bounded(tmp_path: Path) -> None:
    """A thousand jobs are asked for at once: nobody waits, and few are read at a time."""
    assert group_jobs([]) == []
    reports = JobReports()
    places = [(str(tmp_path / "gone"), f"job-{number}") for number in range(1000)]
    began = time.monotonic()
    assert reports.read(places, 0.0) == {}
    assert time.monotonic() - began < 2.0
    found = reports.read(places[:1], 20.0, is_urgent=True)
    assert "job-0" in found[places[0]].problem
