"""Slurm through submitit and Apptainer: a research group's sweeps, each task with its own log."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import dmesg, log, oom_block, sacct, scontrol
from corpus.compose._gpu_tape import Tape, chained, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "submitit 1.4-1.5 log lines, Slurm 22.05-24.05, Apptainer 1.1-1.3 messages, Hydra and DINOv2-style metric lines"
_SITE = "/opt/micromamba/envs/ssl/lib/python3.11/site-packages"
_ROOT = "/checkpoint/ssl/code"


def logs() -> Iterator[ComposedLog]:
    """Array jobs of self-supervised training."""
    yield _preempted_and_not_asked_again()
    yield _timed_out_without_checkpoint()
    yield _requeued_and_done()
    yield _all_tasks_cancelled()
    yield _image_not_there()
    yield _image_cannot_unpack()
    yield _no_libraries_of_the_driver()
    yield _loader_of_another_libc()
    yield _package_left_out_of_the_image()
    yield _override_of_no_key()
    yield _killed_rank_of_a_node()
    yield _forked_too_often()
    yield _squashed_root()
    yield _others_failed_in_the_array()


def _start(tape: Tape, job: str, host: str, rank: int = 0, world: int = 8) -> None:
    tape.say(
        f"submitit INFO ({tape.milli()}) - Starting with JobEnvironment(job_id={job}, hostname={host}, local_rank={rank % 8}({min(world, 8)}), node={rank // 8}({max(world // 8, 1)}), global_rank={rank}({world}))",
        f"submitit INFO ({tape.milli()}) - Loading pickle: /checkpoint/ssl/jobs/{job}/{job}_submitted.pkl",
        f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 ssl config.py:59] git: sha 0d5c2f, has uncommitted changes, branch main",
        f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 ssl config.py:60] crash_on_nan: true, fail_fast: true, log_errors: all, kill_stragglers: false",
    )


def _train(tape: Tape, first: int, last: int, every: int = 50, total: int = 125000) -> None:
    for at in range(first, last + 1, every):
        tape.wait(every * 0.41)
        tape.say(
            f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 ssl helpers.py:103] Training  [{at:6d}/{total}]  eta: 14:{at % 60:02d}:11  lr: 0.0010 (0.0006)  wd: 0.0402 (0.0401)  total_loss: {tape.near(11.2 / (1 + at / 40000), 0.02):.4f} ({tape.near(11.9 / (1 + at / 40000), 0.01):.4f})  dino_global_crops_loss: {tape.near(4.1, 0.02):.4f} ({tape.near(4.4, 0.01):.4f})  koleo_loss: -1.{tape.rng.randrange(1000, 9999)}  time: {tape.near(0.41, 0.02):.6f}  data: 0.000{tape.rng.randrange(1000, 9999)}  max mem: 31877"
        )


def _preempted_and_not_asked_again() -> ComposedLog:
    tape = Tape(5201, "2023-09-14 02:10:03")
    _start(tape, "8120044", "learn0293")
    _train(tape, 0, 900)
    tape.say(
        f"submitit WARNING ({tape.milli()}) - Bypassing signal SIGCONT",
        f"submitit INFO ({tape.milli()}) - Job has not timed out. Ran 6 minutes out of requested 2880 minutes.",
        f"submitit WARNING ({tape.milli()}) - Caught signal SIGUSR2 on learn0293: this job is preempted.",
        f"submitit INFO ({tape.milli()}) - Job not requeued because: preempted and not checkpointable.",
        traceback(
            """
            @submitit/core/submission.py:55 process_job | result = delayed.result()
            @submitit/core/utils.py:133 result | self._result = self.function(*self.args, **self.kwargs)
            train/train.py:201 do_train | loss_dict = model.forward_backward(data, teacher_temp=teacher_temp)
            @submitit/core/job_environment.py:226 checkpoint_and_try_requeue | raise utils.UncompletedJobError(message)
            """,
            "submitit.core.utils.UncompletedJobError: Job not requeued because: preempted and not checkpointable.",
            root=_ROOT,
            site=_SITE,
        ),
        f"slurmstepd: error: *** STEP 8120044.0 ON learn0293 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} ***",
    )
    return log(
        tape,
        "preempted_and_not_asked_again",
        "preempted",
        1,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/8120044",
        paper_class="traceback",
        submitit="1.4.5",
    )


def _timed_out_without_checkpoint() -> ComposedLog:
    tape = Tape(5202, "2024-02-20 11:00:00")
    _start(tape, "9003310_4", "learn0511")
    _train(tape, 0, 1300, 100)
    tape.say(
        f"submitit INFO ({tape.milli()}) - Job has timed out. Ran 59 minutes out of requested 60 minutes.",
        f"submitit WARNING ({tape.milli()}) - Caught signal SIGUSR2 on learn0511: this job is timed-out.",
        traceback(
            """
            @submitit/core/submission.py:55 process_job | result = delayed.result()
            train/train.py:201 do_train | loss_dict = model.forward_backward(data, teacher_temp=teacher_temp)
            @submitit/core/job_environment.py:226 checkpoint_and_try_requeue | raise utils.UncompletedJobError(message)
            """,
            "submitit.core.utils.UncompletedJobError: Job not requeued because: timed-out too many times.",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: learn0511: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "timed_out_without_checkpoint",
        "time_limit",
        1,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/9003310_4",
        paper_class="traceback",
        why="the exception is only submitit's way to leave at the limit",
        submitit="1.5.1",
    )


def _requeued_and_done() -> ComposedLog:
    tape = Tape(5203, "2024-05-08 23:12:12")
    _start(tape, "9120112", "learn0100")
    _train(tape, 0, 600)
    tape.say(
        f"submitit WARNING ({tape.milli()}) - Caught signal SIGUSR2 on learn0100: this job is preempted.",
        f"submitit INFO ({tape.milli()}) - Requeued job 9120112 (3 remaining timeouts)",
        f"slurmstepd: error: *** JOB 9120112 ON learn0100 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} DUE TO JOB REQUEUE ***",
        f"submitit WARNING ({tape.milli()}) - Bypassing signal SIGTERM",
        "slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection refused",
    )
    tape.wait(340)
    _start(tape, "9120112", "learn0877")
    tape.say(
        f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 fvcore.common.checkpoint checkpoint.py:150] [Checkpointer] Loading from /checkpoint/ssl/exp/9120112/model_0000599.rank_0.pth ..."
    )
    _train(tape, 600, 1200, 50, 1200)
    tape.say(
        f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 ssl train.py:240] Training done",
        f"submitit INFO ({tape.milli()}) - Job completed successfully",
        f"submitit INFO ({tape.milli()}) - Exiting after successful completion",
    )
    return log(
        tape,
        "requeued_and_done",
        "none",
        0,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/9120112",
        why="requeued once, completed",
        submitit="1.5.1",
    )


def _all_tasks_cancelled() -> ComposedLog:
    tape = Tape(5204, "2022-03-31 21:00:00")
    _start(tape, "71606", "kilo1")
    _train(tape, 0, 800, 100)
    tape.say(
        f"submitit WARNING ({tape.milli()}) - Bypassing signal SIGCONT",
        "slurmstepd: error: *** STEP 71606.0 ON kilo1 CANCELLED AT 2022-03-31T21:25:40 ***",
        f"submitit WARNING ({tape.milli()}) - Bypassing signal SIGTERM",
        "slurmstepd: error: *** JOB 71606 ON kilo1 CANCELLED AT 2022-03-31T21:25:40 ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: error: kilo1: task 0: Killed",
        sacct(
            [
                ("71606", "ssl", "CANCELLED by 5011", "0:0", "", "00:25:37", "kilo1"),
                ("71606.batch", "batch", "CANCELLED", "0:15", "2011K", "00:25:38", "kilo1"),
                ("71606.0", "python", "CANCELLED", "0:9", "9120440K", "00:26:11", "kilo1"),
            ]
        ),
    )
    return log(
        tape,
        "all_tasks_cancelled",
        "cancelled",
        137,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/71606",
        why="the SIGKILL came 32 s after the scancel, because submitit bypasses SIGTERM",
    )


def _image_not_there() -> ComposedLog:
    tape = Tape(5205, "2024-01-09 09:00:00")
    tape.say(
        scontrol(tape, 8803110, "ssl", "learn0020", "/checkpoint/ssl/jobs/run.sbatch"),
        "INFO:    underlay of /etc/localtime required more than 50 (81) bind mounts",
        "FATAL:   could not open image /checkpoint/ssl/images/ssl-2024.01.sif: failed to retrieve path for /checkpoint/ssl/images/ssl-2024.01.sif: lstat /checkpoint/ssl/images/ssl-2024.01.sif: no such file or directory",
        "srun: error: learn0020: tasks 0-7: Exited with exit code 255",
        "srun: Terminating StepId=8803110.0",
        "+ ls /checkpoint/ssl/images",
        "ssl-2023.10.sif  ssl-2023.12.sif",
    )
    return log(
        tape,
        "image_not_there",
        "file_not_found",
        255,
        _BASIS,
        command="srun apptainer exec --nv /checkpoint/ssl/images/ssl-2024.01.sif python -m ssl.train",
        why="the image is a file that the job names",
        apptainer="1.2.5",
    )


def _image_cannot_unpack() -> ComposedLog:
    tape = Tape(5206, "2023-07-03 18:40:00")
    tape.say(
        scontrol(tape, 8290017, "ssl", "learn0033", "/checkpoint/ssl/jobs/run.sbatch"),
        "INFO:    Converting OCI blobs to SIF format",
        "WARNING: 'nodev' mount option set on /local, it could be a source of failure during build process",
        "INFO:    Starting build...",
        "Copying blob sha256:846c0b181fff done",
        "Copying blob sha256:f1e1f3e1f7b2 done",
        "Copying config sha256:ca8e3cb27b done",
        "Writing manifest to image destination",
        "INFO:    Extracting OCI image...",
        '2023/07/03 18:44:12  warn rootless{usr/bin/ping} ignoring (usually) harmless EPERM on setxattr "security.capability"',
        "INFO:    Creating SIF file...",
        "FATAL:   While making image from oci registry: error fetching image to cache: while building SIF from layers: while creating squashfs: create command failed: exit status 1: Write failed because No space left on device",
        "FATAL ERROR: Failed to write to output filesystem",
        "srun: error: learn0033: task 0: Exited with exit code 255",
    )
    return log(
        tape,
        "image_cannot_unpack",
        "disk_full",
        255,
        _BASIS,
        command="srun apptainer run --nv docker://nvcr.io/nvidia/pytorch:23.06-py3 python train.py",
        paper_class=None,
        apptainer="1.1.9",
    )


def _no_libraries_of_the_driver() -> ComposedLog:
    tape = Tape(5207, "2024-03-28 07:07:07")
    tape.say(
        scontrol(tape, 9050021, "ssl", "learn0700", "/checkpoint/ssl/jobs/run.sbatch"),
        "INFO:    Could not find any nv files on this host!",
        "INFO:    Environment variable SINGULARITYENV_WANDB_MODE is set, but APPTAINERENV_WANDB_MODE is preferred",
    )
    _start(tape, "9050021", "learn0700", world=1)
    tape.say(
        traceback(
            """
            @submitit/core/submission.py:55 process_job | result = delayed.result()
            train/setup.py:31 setup | torch.cuda.set_device(local_rank)
            @torch/cuda/__init__.py:408 set_device | torch._C._cuda_setDevice(device)
            @torch/cuda/__init__.py:302 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
            root=_ROOT,
            site=_SITE,
        ),
        f"submitit ERROR ({tape.milli()}) - Submitted job triggered an exception",
        "srun: error: learn0700: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "no_libraries_of_the_driver",
        "cuda_environment",
        1,
        _BASIS,
        command="srun apptainer exec --nv ssl.sif python -m submitit.core._submit /checkpoint/ssl/jobs/9050021",
        paper_class="runtime_error",
        torch="2.2.1",
    )


def _loader_of_another_libc() -> ComposedLog:
    tape = Tape(5208, "2023-11-21 12:21:12")
    tape.say(
        scontrol(tape, 8511902, "ssl", "learn0108", "/checkpoint/ssl/jobs/run.sbatch"),
        "WARNING: Skipping mount /usr/local/cuda/lib64 [files]: doesn't exist in container",
        "+ LD_LIBRARY_PATH=/host/usr/lib64:/usr/local/nvidia/lib",
        "python: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /host/usr/lib64/libstdc++.so.6)",
        "python: /lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.29' not found (required by /host/usr/lib64/libstdc++.so.6)",
        "srun: error: learn0108: tasks 0-7: Exited with exit code 1",
        "srun: Terminating StepId=8511902.0",
    )
    return log(
        tape,
        "loader_of_another_libc",
        "dependency",
        1,
        _BASIS + "; glibc's dynamic loader",
        command="srun apptainer exec --nv -B /usr/lib64:/host/usr/lib64 ssl.sif python -m ssl.train",
        paper_class=None,
        why="libraries of the host over those of the image",
    )


def _package_left_out_of_the_image() -> ComposedLog:
    tape = Tape(5209, "2024-06-27 16:16:16")
    _start(tape, "9301188_0", "learn0422", world=1)
    tape.say(
        "xFormers not available",
        "xFormers not available",
        "/opt/micromamba/envs/ssl/lib/python3.11/site-packages/torch/amp/autocast_mode.py:250: UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling",
        f"submitit ERROR ({tape.milli()}) - Submitted job triggered an exception",
        traceback(
            """
            /opt/micromamba/envs/ssl/lib/python3.11/runpy.py:198 _run_module_as_main | return _run_code(code, main_globals, None,
            @submitit/core/submission.py:72 submitit_main | process_job(args.folder)
            @submitit/core/submission.py:54 process_job | delayed = utils.DelayedSubmission.load(paths.submitted_pickle)
            @submitit/core/utils.py:154 load | obj = pickle_load(filepath)
            @submitit/core/utils.py:271 pickle_load | return pickle.load(ifile)
            """,
            "ModuleNotFoundError: No module named 'evals'",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: learn0422: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "package_left_out_of_the_image",
        "missing_module",
        1,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/9301188_0",
        why="the pickle names a module that is not where the job runs",
        submitit="1.5.1",
    )


def _override_of_no_key() -> ComposedLog:
    tape = Tape(5210, "2023-04-06 14:00:12")
    tape.say(
        "[2023-04-06 14:00:12,311][HYDRA] Submitit 'slurm' sweep output dir : multirun/2023-04-06/14-00-11",
        "[2023-04-06 14:00:12,312][HYDRA] \t#0 : optim.lr=0.001 optim.warmup_epochs=10",
        "[2023-04-06 14:00:12,330][HYDRA] \t#1 : optim.lr=0.002 optim.warmup_epochs=10",
    )
    _start(tape, "7300510_0", "learn0615", world=1)
    tape.say(
        f"submitit ERROR ({tape.milli()}) - Submitted job triggered an exception",
        traceback(
            """
            @submitit/core/submission.py:54 process_job | result = delayed.result()
            @hydra_plugins/hydra_submitit_launcher/submitit_launcher.py:73 __call__ | return run_job(
            @hydra/core/utils.py:126 run_job | ret.return_value = task_function(task_cfg)
            train/main.py:44 main | schedule = build_schedule(cfg.optim)
            train/schedule.py:17 build_schedule | total = cfg.epochs * cfg.steps_per_epoch
            @omegaconf/dictconfig.py:355 __getattr__ | self._format_and_raise(
            """,
            "omegaconf.errors.ConfigAttributeError: Key 'steps_per_epoch' is not in struct\n    full_key: optim.steps_per_epoch\n    object_type=dict",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: learn0615: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "override_of_no_key",
        "config",
        1,
        _BASIS + "; OmegaConf",
        command="python train/main.py -m optim.lr=0.001,0.002",
        paper_class="traceback",
        hydra="1.3.2",
    )


def _killed_rank_of_a_node() -> ComposedLog:
    tape = Tape(5211, "2024-08-30 01:01:30")
    _start(tape, "9404040", "learn0310", rank=3)
    _train(tape, 0, 2500, 250)
    tape.say(
        f"I{tape.when('%Y%m%d %H:%M:%S')} 90211 ssl eval.py:88] gathering features of 1281167 images on every rank",
        "[rank3]:[E830 01:31:10.221100412 ProcessGroupGloo.cpp:143] Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5. Please check rank 5 logs for faulty rank.",
        chained(
            traceback(
                """
                train/eval.py:91 gather | dist.monitored_barrier(timeout=timedelta(minutes=10))
                @torch/distributed/distributed_c10d.py:4170 monitored_barrier | return group_to_use.monitored_barrier(
                """,
                "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.33.3.10]:21844",
                root=_ROOT,
                site=_SITE,
            ),
            traceback(
                """
                @submitit/core/submission.py:55 process_job | result = delayed.result()
                train/train.py:233 do_train | results = do_eval(cfg, model, iteration)
                """,
                "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5. Please check rank 5 logs for faulty rank.\n Original exception: \n[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.33.3.10]:21844",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        "srun: error: learn0310: task 5: Out Of Memory",
        "srun: Terminating StepId=9404040.0",
        "slurmstepd: error: *** STEP 9404040.0 ON learn0310 CANCELLED AT 2024-08-30T01:31:12 ***",
        "srun: error: learn0310: task 3: Exited with exit code 1",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9404040.0. Some of the step tasks have been OOM Killed.",
    )
    return log(
        tape,
        "killed_rank_of_a_node",
        "oom_killer",
        1,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/9404040",
        paper_class="oom_killer",
        why="the barrier of rank 3 failed because task 5 had been killed for memory",
        slurm="23.02",
    )


def _forked_too_often() -> ComposedLog:
    tape = Tape(5212, "2023-02-13 20:20:02")
    _start(tape, "7110003", "learn0045", world=1)
    _train(tape, 0, 300)
    tape.say(
        "bash: fork: retry: Resource temporarily unavailable",
        "bash: fork: retry: Resource temporarily unavailable",
        traceback(
            """
            @submitit/core/submission.py:54 process_job | result = delayed.result()
            train/train.py:222 do_train | for sample in eval_loader:
            @torch/utils/data/dataloader.py:435 __iter__ | return self._get_iterator()
            @torch/utils/data/dataloader.py:1041 __init__ | w.start()
            /opt/micromamba/envs/ssl/lib/python3.11/multiprocessing/popen_fork.py:66 _launch | self.pid = os.fork()
            """,
            "BlockingIOError: [Errno 11] Resource temporarily unavailable",
            root=_ROOT,
            site=_SITE,
        ),
        f"submitit ERROR ({tape.milli()}) - Submitted job triggered an exception",
        "srun: error: learn0045: task 0: Exited with exit code 1",
        "# epilog: dmesg | tail -1",
        dmesg(
            tape,
            [
                "cgroup: fork rejected by pids controller in /slurm/uid_5011/job_7110003/step_0/task_0"
            ],
            40_112.4,
        ),
    )
    return log(
        tape,
        "forked_too_often",
        "too_many_files",
        1,
        _BASIS + "; Linux pids controller",
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/7110003",
        paper_class="traceback",
        why="a limit on processes",
    )


def _squashed_root() -> ComposedLog:
    tape = Tape(5213, "2024-10-14 10:14:10")
    tape.say(
        scontrol(tape, 9510030, "ssl", "learn0205", "/checkpoint/ssl/jobs/run.sbatch"),
        "INFO:    Using --fakeroot: uid 0 in the container is 5011 outside",
        "chown: changing ownership of '/checkpoint/ssl/exp/ablate-3': Operation not permitted",
    )
    _start(tape, "9510030", "learn0205", world=1)
    tape.say(
        f"submitit ERROR ({tape.milli()}) - Submitted job triggered an exception",
        traceback(
            """
            @submitit/core/submission.py:55 process_job | result = delayed.result()
            train/train.py:140 do_train | periodic = PeriodicCheckpointer(checkpointer, period=500, max_iter=max_iter)
            train/utils.py:51 save | with open(path + ".lock", "w") as lock:
            """,
            "PermissionError: [Errno 1] Operation not permitted: '/checkpoint/ssl/exp/ablate-3/last.lock'",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: learn0205: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "squashed_root",
        "permission",
        1,
        _BASIS,
        command="srun apptainer exec --fakeroot --nv ssl.sif python -m submitit.core._submit /checkpoint/ssl/jobs/9510030",
    )


def _others_failed_in_the_array() -> ComposedLog:
    tape = Tape(5214, "2024-12-05 05:05:05")
    _start(tape, "9610022_7", "learn0333", world=1)
    _train(tape, 0, 1000, 100, 1000)
    tape.say(
        f"submitit INFO ({tape.milli()}) - Job completed successfully",
        f"submitit INFO ({tape.milli()}) - Exiting after successful completion",
        "# epilog of array 9610022 (all tasks that ended so far)",
        sacct(
            [
                ("9610022_2", "sweep", "OUT_OF_MEMORY", "0:125", "", "00:03:11", "learn0333"),
                ("9610022_5", "sweep", "NODE_FAIL", "0:0", "", "00:01:02", "learn0119"),
                ("9610022_6", "sweep", "FAILED", "1:0", "", "00:00:20", "learn0334"),
                ("9610022_7", "sweep", "COMPLETED", "0:0", "", "00:07:40", "learn0333"),
            ]
        ),
        dmesg(
            tape,
            oom_block(
                tape,
                pid=61200,
                rss_kb=30_000_112,
                limit_kb=33_554_432,
                group="/slurm/uid_5011/job_9610024",
                uid=5011,
                short=True,
            ),
            990_001.3,
        ),
    )
    return log(
        tape,
        "others_failed_in_the_array",
        "none",
        0,
        _BASIS,
        command="python -m submitit.core._submit /checkpoint/ssl/jobs/9610022_7",
        why="task 7 of the array completed; the kill and the lost node were others'",
    )
