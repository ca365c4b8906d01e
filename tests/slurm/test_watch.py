"""Jobs that were submitted without gpualert are followed, judged, and reported once."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import wait_until

pytestmark = pytest.mark.e2e


def test_job_of_others_is_judged_at_its_end(scene: BatchScene) -> None:
    """The output of a running job is printed, and its end has a verdict and its status."""
    job = scene.cluster.submit("echo begun; sleep 2; python3 -c 'import nope'")
    done = scene.run("watch", "--poll=1s", f"slurm:{job}")
    assert done.returncode == 1
    assert done.stdout.startswith("gpualert: following batch job")
    assert "begun\n" in done.stdout
    assert "Module not installed: nope" in done.stderr
    again = scene.run("watch", "--poll=1s", f"slurm:{job}")
    assert "Module not installed: nope" in again.stderr


def test_owner_and_root_cancel_jobs(scene: BatchScene) -> None:
    """The verdict names who cancelled the job of an ordinary user: that user, or root."""
    persons = ("nobody", "root")
    jobs = {who: scene.cluster.submit("sleep 60", user="nobody") for who in persons}
    for who, job in jobs.items():
        scene.cluster.wait_for(job, "RUNNING")
        assert scene.cluster.run("scancel", str(job), user=who).returncode == 0
    for who, job in jobs.items():
        done = scene.run("watch", "--poll=1s", f"slurm:{job}")
        assert done.returncode == 143
        assert f"Cancelled by {who}: job {job}" in done.stderr


def test_end_of_a_watch_ends_no_job(scene: BatchScene) -> None:
    """Neither Ctrl-C nor a stop of the watch's run cancels the job."""
    job = scene.cluster.submit("echo begun; sleep 60")
    front = scene.start("watch", "--poll=1s", f"slurm:{job}")
    assert front.stdout is not None
    assert any(line == "begun\n" for line in iter(front.stdout.readline, ""))
    front.send_signal(signal.SIGINT)
    _out, err = front.communicate(timeout=20)
    assert "the watch goes on" in err
    assert scene.run("stop").returncode == 0
    assert scene.cluster.state_of(job) == "RUNNING"
    scene.cluster.run("scancel", str(job))


def test_unknown_job_is_an_error(scene: BatchScene) -> None:
    """A job that Slurm does not know is an error at once, and nothing is launched."""
    done = scene.run("watch", "slurm:999999")
    assert done.returncode == 125
    assert "does not know the job 999999 (any more), and neither does its accounting" in done.stderr
    done = scene.run("watch", "slurm", "--user=no-such-user")
    assert done.returncode == 125
    assert "does not know the user 'no-such-user'" in done.stderr
    assert scene.runs() == []


def test_each_job_of_a_user_is_reported_once(scene: BatchScene) -> None:
    """A watch that is killed and started again reports each end once, also of meanwhile."""
    scene.cluster.wait_for_nodes()  # jobs of other tests have ended
    earlier = scene.cluster.submit("true")
    scene.cluster.wait_for(earlier, "COMPLETED")
    watch = _start_watch(scene)
    first = scene.cluster.submit("echo a; python3 -c '1/0'", "--job-name=first")
    _wait_for_runs(scene, 1)
    watch.kill()
    watch.communicate()
    second = scene.cluster.submit("sleep 1", "--job-name=second")
    scene.cluster.wait_for(second, "COMPLETED")
    scene.sbatch("--job-name=own", "--wrap=true")
    watch = _start_watch(scene)
    _wait_for_runs(scene, 3)
    third = scene.cluster.submit("sleep 60", "--job-name=third")
    scene.cluster.wait_for(third, "RUNNING")
    scene.cluster.run("scancel", str(third))
    _wait_for_runs(scene, 4)
    wait_until(lambda: len(_list_messages(scene)) >= 2, "no alert", 30.0)
    watch.kill()
    watch.communicate()
    causes = {run["name"]: run["cause"] for run in scene.runs()}
    expected = {"first": "div_zero", "second": "none", "sbatch": "none", "third": "cancelled"}
    assert causes == expected, first
    assert len(_list_messages(scene)) == 2


def _list_messages(scene: BatchScene) -> list[Path]:
    return list((scene.home / "state" / "gpualert" / "mailbox" / "new").iterdir())


def _start_watch(scene: BatchScene) -> subprocess.Popen[str]:
    watch = scene.start("watch", "--poll=2s", "slurm", "--user=root")
    folder = scene.home / "state" / "gpualert" / "watches"
    wait_until(lambda: folder.exists() and any(folder.glob("*.json")), "no turn", 20.0)
    return watch


def _wait_for_runs(scene: BatchScene, count: int) -> None:
    wait_until(lambda: len(scene.runs()) >= count, f"not {count} runs", 40.0)
