"""A job is submitted once, and followed to its end whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.slurm.batch_scene import BatchScene
from tests.slurm_cluster import SlurmCluster, wait_until

pytestmark = pytest.mark.e2e


def test_status_and_output_are_those_of_the_script(scene: BatchScene) -> None:
    """Output and exit status pass through; the user's own comment stays in front of the mark."""
    script = scene.script("#SBATCH --comment='my own'\necho out; echo error >&2; exit 7")
    done = scene.sbatch("--error=%j.err", script)
    assert done.returncode == 7, done
    assert done.stdout == "out\n"
    assert "error\n" in done.stderr
    [mark] = scene.marks()
    [job] = scene.jobs_with(mark)
    assert (
        f"Comment=my own gpualert:{mark}"
        in scene.cluster.run("scontrol", "show", "job", job).stdout
    )
    [run] = scene.runs()
    assert (run["exit_code"], run["name"]) == (7, "train.sh")


def test_processes_of_the_job_are_none_of_the_run(scene: BatchScene) -> None:
    """The job's environment has no variable that marks the processes of the follower's run."""
    done = scene.sbatch(scene.script("env | grep -c ^GPUALERT_MARK_; env | grep GPUALERT_RUN_ID"))
    assert done.stdout == "0\n"


def test_refused_job_is_an_error_at_once(scene: BatchScene) -> None:
    """An invalid partition is reported in the words of sbatch, and nothing is left to recover."""
    done = scene.sbatch("--partition=nope", scene.script("true"))
    assert done.returncode == 125
    assert "Invalid partition name specified" in done.stderr
    assert scene.job_of(scene.marks()[0])["step"] == "refused"
    assert "follows" not in scene.run("recover").stdout


def test_array_ends_with_its_highest_status(scene: BatchScene) -> None:
    """The outputs of all tasks are whole lines of one log, and the status is the highest."""
    body = (
        "for i in 1 2 3; do echo task $SLURM_ARRAY_TASK_ID line $i; done\nexit $SLURM_ARRAY_TASK_ID"
    )
    done = scene.sbatch("--array=0-3", scene.script(body))
    assert done.returncode == 3
    expected = sorted(f"task {task} line {line}" for task in range(4) for line in (1, 2, 3))
    assert sorted(done.stdout.splitlines()) == expected


def test_stop_lets_a_step_save(scene: BatchScene) -> None:
    """Ctrl-C sends SIGTERM to the step alone, and the training stores its checkpoint."""
    training = scene.home / "work" / "train.py"
    training.write_text(
        "import signal, sys, time\n"
        "def save(*_):\n    time.sleep(1); print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    script = scene.script("srun python3 train.py; exit 9")
    front = scene.start("sbatch", "--poll=1s", script)
    assert front.stdout is not None
    assert front.stdout.readline() == "ready\n"
    front.send_signal(signal.SIGINT)
    out, err = front.communicate(timeout=30)
    assert "saved" in out
    assert front.returncode == 9, err
    assert "Stopped by gpualert stop" in err


def test_pending_job_is_cancelled(scene: BatchScene) -> None:
    """A stop cancels a job that waits."""
    front = scene.start("sbatch", "--poll=1s", "--begin=now+1hour", "--wrap=true")
    assert front.stderr is not None
    assert any("PENDING (BeginTime)" in line for line in iter(front.stderr.readline, ""))
    front.send_signal(signal.SIGTERM)
    front.communicate(timeout=30)
    assert front.returncode == 143
    assert scene.job_of(scene.marks()[0])["state"] == "CANCELLED"


def test_dependency_that_is_never_satisfied(scene: BatchScene) -> None:
    """The job waits for ever: a warning says so once, and ``gpualert job``.  If Slurm cancels such
    a job, the verdict names the reason."""
    failed = scene.cluster.submit("exit 3")
    scene.cluster.wait_for(failed, "FAILED")
    depends = f"--dependency=afterok:{failed}"
    notify = ("--warn", "--notify=mailbox")
    front = scene.start("sbatch", "--poll=1s", *notify, depends, "--wrap=true")
    done = scene.sbatch(depends, "--kill-on-invalid-dep=yes", "--wrap=true")
    assert done.returncode == 143
    assert "Cancelled before it started" in done.stderr
    assert "DependencyNeverSatisfied" in done.stderr
    mailbox = scene.home / "state" / "gpualert" / "mailbox" / "new"
    wait_until(lambda: mailbox.exists() and list(mailbox.iterdir()), "no warning", 30.0)
    [message] = mailbox.iterdir()
    job = next(
        state["job_id"] for state in map(scene.job_of, scene.marks()) if state["step"] != "ended"
    )
    text = " ".join(message.read_text().split())
    assert f"job {job} waiting for ever (DependencyNeverSatisfied)" in text
    shown = scene.run("job", job)
    assert shown.returncode != 0
    assert "PENDING (DependencyNeverSatisfied), and waits for ever" in shown.stderr
    front.terminate()
    _out, err = front.communicate(timeout=30)
    assert "may wait for ever" in err
    assert front.returncode == 143


def test_cancellation_by_others_is_the_end(scene: BatchScene) -> None:
    """A job that somebody cancels ends its run with 143."""
    front = scene.start("sbatch", "--poll=1s", "--wrap=echo begun; sleep 60")
    assert front.stdout is not None
    assert front.stdout.readline() == "begun\n"
    scene.cluster.run("scancel", scene.wait_for_job())
    _out, err = front.communicate(timeout=30)
    assert front.returncode == 143, err


def test_requeued_job_is_followed_on(scene: BatchScene) -> None:
    """A requeue ends nothing: the status is that of the second start."""
    body = 'echo start $SLURM_RESTART_COUNT; [ -n "$SLURM_RESTART_COUNT" ] && exit 4; sleep 60'
    front = scene.start("sbatch", "--poll=1s", "--begin=now", scene.script(body))
    assert front.stdout is not None
    assert front.stdout.readline() == "start\n"
    job = scene.wait_for_job()
    scene.cluster.run("scontrol", "requeue", job)
    wait_until(lambda: scene.cluster.state_of(int(job)) == "PENDING", "not requeued", 20.0)
    scene.cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    out, err = front.communicate(timeout=60)
    assert front.returncode == 4, err
    assert out.endswith("start 1\n")


VICTIMS = ("all", "follower", "guardian", "front")
STEPS = {
    "before sbatch": ("sleep 2", ":"),
    "during sbatch": (":", "sleep 2"),
}


@pytest.mark.parametrize("step", STEPS)
def test_death_during_the_submission(scene: BatchScene, step: str) -> None:
    """All but sbatch die while it runs: the job is found by its mark, and not repeated."""
    scene.wrap_sbatch(*STEPS[step])
    front = scene.start("sbatch", "--poll=1s", "--wrap=echo done; exit 3")
    wait_until(lambda: _is_submitting(scene), "no submission", 10.0)
    if step == "during sbatch":
        [mark] = scene.marks()
        wait_until(lambda: scene.jobs_with(mark), "no job", 10.0)
    scene.kill_all()
    front.communicate()
    scene.recover()
    [mark] = scene.marks()
    assert scene.wait_for_end(mark)["exit_status"] == 3
    assert len(scene.jobs_with(mark)) == 1


def test_death_of_sbatch_too(scene: BatchScene) -> None:
    """The next follower submits the job if sbatch died before it reached the controller."""
    scene.wrap_sbatch("exec sleep 60")
    front = scene.start("sbatch", "--poll=1s", "--wrap=exit 3")
    wait_until(lambda: _is_submitting(scene), "no submission", 10.0)
    scene.kill_all()
    front.communicate()
    scene.kill_sbatch()
    (scene.programs / "sbatch").unlink()
    scene.recover()
    [mark] = scene.marks()
    assert scene.wait_for_end(mark)["exit_status"] == 3
    assert len(scene.jobs_with(mark)) == 1


def test_death_while_the_job_runs(slurm: SlurmCluster, tmp_path: Path) -> None:
    """The job goes on whoever dies, and its last run has its status and its whole output."""
    tmp_path.chmod(0o755)
    scenes = {name: BatchScene(slurm, tmp_path / name) for name in VICTIMS}
    fronts = {name: _start_training(scene) for name, scene in scenes.items()}
    for name, scene in scenes.items():
        others = [pid for pid in scene.processes() if pid != fronts[name].pid]
        followers = scene.followers()
        match name:
            case "all":
                scene.kill_all()
                scene.recover()
            case "follower":
                scene.kill(followers)
            case "front":
                fronts[name].kill()
            case _:
                scene.kill([pid for pid in others if pid not in followers])
    for name, scene in scenes.items():
        out, err = fronts[name].communicate(timeout=40)
        [mark] = scene.marks()
        assert scene.wait_for_end(mark)["exit_status"] == 6, name
        assert len(scene.jobs_with(mark)) == 1, name
        if name in ("follower", "guardian"):
            assert fronts[name].returncode == 6, err
            assert out.endswith("end\n")
        last = wait_until(partial(_find_ended, scene), f"{name}: no run ended", 30.0)
        assert last["exit_code"] == 6, name
        log = scene.run("follow", str(last["run_id"])).stdout
        assert "begun\nend\n" in log, name


def _start_training(scene: BatchScene) -> subprocess.Popen[str]:
    front = scene.start("sbatch", "--poll=1s", "--wrap=echo begun; sleep 4; echo end; exit 6")
    assert front.stdout is not None
    assert front.stdout.readline() == "begun\n"
    return front


def test_controller_that_does_not_answer(scene: BatchScene) -> None:
    """A stopped controller delays the submission, and does not double it."""
    daemon = scene.cluster.daemons["slurmctld"]
    os.kill(daemon.pid, signal.SIGSTOP)
    scene.wrap_sbatch()
    file = scene.programs / "sbatch"
    killed = scene.home / "killed"
    kill = f"sleep 2; kill -9 $!; wait $!; status=$?; touch {killed}; (exit $status)"
    file.write_text(file.read_text().replace('"$@"', f'"$@" &\n{kill}'))
    try:
        front = scene.start("sbatch", "--poll=1s", "--wrap=exit 2")
        wait_until(lambda: _is_submitting(scene), "no submission", 10.0)
        wait_until(killed.exists, "sbatch lives", 20.0)  # its request is with the controller
        (scene.programs / "sbatch").unlink()
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    _out, err = front.communicate(timeout=60)
    assert front.returncode == 2, err
    [mark] = scene.marks()
    assert len(scene.jobs_with(mark)) == 1


def _is_submitting(scene: BatchScene) -> bool:
    marks = scene.marks()
    return bool(marks) and scene.job_of(marks[0]).get("step") == "submitting"


def _find_ended(scene: BatchScene) -> dict[str, object]:
    run = scene.runs()[-1]
    return run if run["exit_code"] is not None else {}
