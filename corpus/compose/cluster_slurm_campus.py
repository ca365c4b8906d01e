"""A campus cluster: Slurm 20.11 to 22.05, conda environments, home directories on NFS."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import (
    dmesg,
    killed_worker,
    log,
    oom_block,
    sacct,
    scontrol,
    trainer_steps,
)
from corpus.compose._gpu_tape import Tape, bar, chained, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "Slurm 20.11-22.05 sources (slurmstepd, srun, sacct), Linux oom_kill.c, CPython and PyTorch sources"
_HOME = "/home/u51172"
_ROOT = f"{_HOME}/vit-birds"
_SITE = f"{_HOME}/.conda/envs/birds/lib/python3.10/site-packages"
_EPOCH = "Epoch: [{epoch}][{step:4d}/1251]\tTime {time:6.3f} ({time:6.3f})\tData  0.0{data:02d} ( 0.0{data:02d})\tLoss {loss:.4e} ({loss:.4e})\tAcc@1  {acc:5.2f} ({acc:5.2f})"


def logs() -> Iterator[ComposedLog]:
    """One partition that is requeued, small quotas, and the mistakes of first jobs."""
    yield _preempted_without_requeue()
    yield _time_limit_in_an_epoch()
    yield _loader_worker_of_a_small_job()
    yield _conda_not_set_up()
    yield _no_python_on_the_node()
    yield _quota_of_the_home()
    yield _no_gpu_asked_for()
    yield _libstdcxx_of_the_node()
    yield _cancelled_by_its_owner()
    yield _finished_beside_an_old_kill()
    yield _requeued_then_finished()
    yield _stale_handle_of_the_data()


def _head(tape: Tape, job: int, node: str, gpus: str, name: str = "vit-birds") -> None:
    tape.say(
        "-" * 60,
        f"Job {job} ({name}) on {node}, partition gpu-scavenge",
        f"Submitted from login1, {gpus}, mem=64G, cpus=8, started {tape.when('%a %b %d %H:%M:%S UTC %Y')}",
        f"Working directory {_ROOT}",
        "-" * 60,
    )


def _epochs(tape: Tape, epochs: range, loss: float = 6.1, every: int = 250) -> None:
    for epoch in epochs:
        for step in range(0, 1251, every):
            tape.wait(70)
            value = tape.near(loss / (1 + 0.14 * (epoch + step / 1251)), 0.03)
            tape.say(
                _EPOCH.format(
                    epoch=epoch,
                    step=step,
                    time=tape.near(0.28, 0.1),
                    data=tape.rng.randrange(3, 30),
                    loss=value,
                    acc=min(88.0, 4.0 * epoch + 3 * tape.rng.random()),
                )
            )
        tape.say(
            f" *   Acc@1 {min(86.0, 4.1 * epoch + 2 * tape.rng.random()):.3f} Acc@5 {min(97.0, 7.9 * epoch + 4):.3f}"
        )


def _preempted_without_requeue() -> ComposedLog:
    tape = Tape(4101, "2022-11-02 21:40:11")
    _head(tape, 1830442, "gpu11", "gres=gpu:rtx6000:1")
    tape.say("=> creating model 'vit_b_16'", "=> no checkpoint found at 'model_last.pth.tar'")
    _epochs(tape, range(4))
    tape.wait(31).say(
        f"slurmstepd: error: *** JOB 1830442 ON gpu11 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} DUE TO PREEMPTION ***"
    )
    return log(
        tape,
        "preempted_without_requeue",
        "preempted",
        -15,
        _BASIS,
        command="sbatch --no-requeue scavenge.sbatch",
        slurm="21.08.8",
        torch="1.12.1",
    )


def _time_limit_in_an_epoch() -> ComposedLog:
    tape = Tape(4102, "2023-01-16 08:02:40")
    _head(tape, 1904517, "gpu03", "gres=gpu:v100:2", "resnet152")
    tape.say(
        "module load: WARNING: cuda/11.3 is deprecated and will be removed on 2023-03-01",
        "Use GPU: 0 for training",
        "Use GPU: 1 for training",
    )
    _epochs(tape, range(11, 17), every=312)
    tape.wait(12).say(
        "slurmstepd: error: *** STEP 1904517.0 ON gpu03 CANCELLED AT 2023-01-17T08:02:52 DUE TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "slurmstepd: error: *** JOB 1904517 ON gpu03 CANCELLED AT 2023-01-17T08:02:52 DUE TO TIME LIMIT ***",
        "Traceback (most recent call last):",
        f'  File "{_SITE}/torch/multiprocessing/spawn.py", line 240, in spawn',
        "    while not context.join():",
        f'  File "{_SITE}/torch/multiprocessing/spawn.py", line 109, in join',
        "    ready = multiprocessing.connection.wait(",
        "KeyboardInterrupt",
        "srun: error: gpu03: task 0: Terminated",
    )
    return log(
        tape,
        "time_limit_in_an_epoch",
        "time_limit",
        143,
        _BASIS,
        command="srun python main.py -a resnet152 --multiprocessing-distributed",
        paper_class="traceback",
        slurm="21.08.8",
        torch="1.13.1",
    )


def _loader_worker_of_a_small_job() -> ComposedLog:
    tape = Tape(4103, "2023-02-07 13:11:29")
    _head(tape, 1951098, "gpu07", "gres=gpu:a40:1")
    tape.say(
        f"{_SITE}/torch/utils/data/dataloader.py:563: UserWarning: This DataLoader will create 24 worker processes in total. Our suggested max number of worker in current system is 8, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
        "  warnings.warn(_create_warning_msg(",
        "caching decoded images in memory: 118287 files",
    )
    for done in range(6000, 66001, 10000):
        tape.wait(93).say(bar("cache", done, 118287, 0.0093))
    tape.wait(4).say(
        killed_worker(90417, "main.py", site=_SITE, root=_ROOT, old=True),
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        traceback(
            """
            main.py:212 <module> | main()
            main.py:187 main | train_one_epoch(model, loader, optimizer, epoch)
            main.py:121 train_one_epoch | for step, (images, target) in enumerate(loader):
            @torch/utils/data/dataloader.py:628 __next__ | data = self._next_data()
            @torch/utils/data/dataloader.py:1316 _next_data | idx, data = self._get_data()
            @torch/utils/data/dataloader.py:1282 _get_data | success, data = self._try_get_data()
            @torch/utils/data/dataloader.py:1133 _try_get_data | raise RuntimeError('DataLoader worker (pid(s) {}) exited unexpectedly'.format(pids_str)) from e
            """,
            "RuntimeError: DataLoader worker (pid(s) 90417, 90421) exited unexpectedly",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: gpu07: task 0: Exited with exit code 1",
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=1951098.0. Some of your processes may have been killed by the cgroup out-of-memory handler.",
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=1951098.batch. Some of your processes may have been killed by the cgroup out-of-memory handler.",
    )
    return log(
        tape,
        "loader_worker_of_a_small_job",
        "oom_killer",
        1,
        _BASIS,
        command="srun python main.py --cache-images --workers 24",
        why="the loader only names a signal; the step's own last line says who sent it",
        slurm="20.11.9",
        torch="1.13.1",
    )


def _conda_not_set_up() -> ComposedLog:
    tape = Tape(4104, "2022-09-21 10:30:05")
    _head(tape, 1744210, "gpu02", "gres=gpu:1", "first-try")
    tape.say(
        "",
        "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.",
        "To initialize your shell, run",
        "",
        "    $ conda init <SHELL_NAME>",
        "",
        "Currently supported shells are:",
        "  - bash",
        "  - fish",
        "  - tcsh",
        "  - xonsh",
        "  - zsh",
        "  - powershell",
        "",
        "See 'conda init --help' for more information and options.",
        "",
        "IMPORTANT: You may need to close and restart your shell after running 'conda init'.",
        "",
        "",
        "which python: /usr/bin/python",
        "Python 3.6.8",
        traceback(
            """
            train.py:7 <module> | import numpy as np
            """,
            "ModuleNotFoundError: No module named 'numpy'",
            root=_ROOT,
        ),
        f"JobID {1744210} finished with 1",
        sacct(
            [
                ("1744210", "first-try", "FAILED", "1:0", "", "00:00:04", "gpu02"),
                ("1744210.batch", "batch", "FAILED", "1:0", "6132K", "00:00:04", "gpu02"),
                ("1744210.extern", "extern", "COMPLETED", "0:0", "1024K", "00:00:04", "gpu02"),
            ]
        ),
    )
    return log(
        tape,
        "conda_not_set_up",
        "missing_module",
        1,
        _BASIS,
        command="sbatch first.sbatch",
        why="the environment was never entered, so the packages are not there for the interpreter that ran",
        slurm="21.08.8",
        conda="4.12",
    )


def _no_python_on_the_node() -> ComposedLog:
    tape = Tape(4105, "2023-06-12 15:55:18")
    _head(tape, 2093301, "gpu[05-06]", "gres=gpu:2", "ddp-test")
    tape.say(
        scontrol(tape, 2093301, "ddp-test", "gpu[05-06]", "/home/u51172/jobs/ddp-test.sbatch"),
        "The following have been reloaded with a version change:",
        "  1) gcc/8.5.0 => gcc/11.2.0",
        "",
        'Lmod has detected the following error:  The following module(s) are unknown: "anaconda3/2023.03"',
        "",
        'Please check the spelling or version number. Also try "module spider ..."',
        "It is also possible your cache file is out-of-date; it may help to try:",
        '  $ module --ignore_cache load "anaconda3/2023.03"',
        "",
        "MASTER_ADDR=gpu05 MASTER_PORT=29517 WORLD_SIZE=4",
        "slurmstepd: error: execve(): torchrun: No such file or directory",
        "slurmstepd: error: execve(): torchrun: No such file or directory",
        "srun: error: gpu05: task 0: Exited with exit code 2",
        "srun: Terminating StepId=2093301.0",
        "srun: error: gpu06: task 1: Exited with exit code 2",
    )
    return log(
        tape,
        "no_python_on_the_node",
        "command_not_found",
        2,
        _BASIS,
        command="srun torchrun --nnodes 2 --nproc_per_node 2 train.py",
        paper_class=None,
        why="srun found no program of that name; it is not a file that the job names as data",
        slurm="22.05.3",
    )


def _quota_of_the_home() -> ComposedLog:
    tape = Tape(4106, "2023-03-28 18:20:44")
    _head(tape, 2001772, "gpu09", "gres=gpu:a100:1", "bert-reviews")
    tape.say(
        "wandb: WARNING Path /scratch/u51172/wandb wasn't writable, using system temp directory.",
        "Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased and are newly initialized: ['classifier.bias', 'classifier.weight']",
        "You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.",
        "***** Running training *****",
        "  Num examples = 25,000",
        "  Num Epochs = 3",
        "  Instantaneous batch size per device = 16",
        "  Total optimization steps = 4,689",
        trainer_steps(tape, range(100, 1001, 100), 4689, loss=0.66, seconds=0.31, norm=False),
        "Saving model checkpoint to ./out/checkpoint-1000",
        "Configuration saved in ./out/checkpoint-1000/config.json",
    )
    tape.say(
        chained(
            traceback(
                """
                @torch/serialization.py:423 save | _save(obj, opened_zipfile, pickle_module, pickle_protocol)
                @torch/serialization.py:650 _save | zip_file.write_record(name, storage.data_ptr(), num_bytes)
                """,
                "OSError: [Errno 122] Disk quota exceeded",
                root=_ROOT,
                site=_SITE,
            ),
            traceback(
                """
                run_glue.py:611 <module> | main()
                run_glue.py:529 main | train_result = trainer.train(resume_from_checkpoint=checkpoint)
                @transformers/trainer.py:1543 train | return inner_training_loop(
                @transformers/trainer.py:1883 _inner_training_loop | self._maybe_log_save_evaluate(tr_loss, model, trial, epoch, ignore_keys_for_eval)
                @transformers/trainer.py:2135 _maybe_log_save_evaluate | self._save_checkpoint(model, trial, metrics=metrics)
                @transformers/trainer.py:2198 _save_checkpoint | torch.save(self.optimizer.state_dict(), os.path.join(output_dir, OPTIMIZER_NAME))
                @torch/serialization.py:422 save | with _open_zipfile_writer(f) as opened_zipfile:
                @torch/serialization.py:290 __exit__ | self.file_like.write_end_of_file()
                """,
                "RuntimeError: [enforce fail at inline_container.cc:337] . unexpected pos 437190720 vs 437190608",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        " 21%|██▏       | 1000/4689 [05:13<19:15,  3.19it/s]",
        "srun: error: gpu09: task 0: Exited with exit code 1",
        "",
        "-- epilog: quota -s",
        "Disk quotas for user u51172 (uid 51172):",
        "     Filesystem   space   quota   limit   grace   files   quota   limit   grace",
        "nas2:/export/home",
        "                 51200M*  50000M  51200M   6days    211k       0       0",
    )
    return log(
        tape,
        "quota_of_the_home",
        "disk_full",
        1,
        _BASIS + "; Transformers trainer",
        command="srun python run_glue.py --output_dir out --save_steps 1000",
        paper_class="traceback",
        why="the quota stands in the first of two chained errors",
        transformers="4.26.1",
        torch="1.13.1",
    )


def _no_gpu_asked_for() -> ComposedLog:
    tape = Tape(4107, "2023-04-11 09:14:02")
    _head(tape, 2020554, "cpu018", "gres=(null)", "unet")
    tape.say(
        scontrol(tape, 2020554, "unet", "cpu018", "/home/u51172/jobs/unet.sbatch", cards=0),
        "SLURM_JOB_GPUS= CUDA_VISIBLE_DEVICES=",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
        "",
        f"{_SITE}/torch/cuda/amp/grad_scaler.py:120: UserWarning: torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
        '  warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")',
        "2023-04-11 09:14:21 INFO  unet.data: 5,088 pairs in /scratch/u51172/carvana (0 skipped)",
        "2023-04-11 09:14:21 INFO  unet.train: base_channels=64 amp=True max_grad_norm=1.0 device=cuda:0",
        traceback(
            """
            unet/train.py:141 <module> | Trainer(cfg).fit()
            unet/train.py:58 __init__ | self.model = UNet(cfg.channels).to(cfg.device)
            @torch/nn/modules/module.py:1145 to | return self._apply(convert)
            @torch/nn/modules/module.py:797 _apply | module._apply(fn)
            @torch/nn/modules/module.py:820 _apply | param_applied = fn(param)
            @torch/nn/modules/module.py:1143 convert | return t.to(device, dtype if t.is_floating_point() or t.is_complex() else None, non_blocking)
            @torch/cuda/__init__.py:247 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: cpu018: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "no_gpu_asked_for",
        "cuda_environment",
        1,
        _BASIS,
        command="srun python -m unet.train amp=True",
        paper_class="runtime_error",
        torch="2.0.0",
    )


def _libstdcxx_of_the_node() -> ComposedLog:
    tape = Tape(4108, "2022-12-05 11:47:33")
    _head(tape, 1877003, "gpu04", "gres=gpu:rtx6000:1", "det3d")
    tape.say(
        "Currently Loaded Modules:",
        "  1) gcc/8.5.0   2) cuda/11.3   3) openmpi/4.1.1   4) slurm/21.08.8",
        "",
        "OMP_NUM_THREADS=8",
        traceback(
            f"""
            tools/train.py:12 <module> | from det3d.ops import iou3d_nms_utils
            {_HOME}/det3d/ops/iou3d_nms_utils.py:9 <module> | from . import iou3d_nms_cuda
            """,
            f"ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by {_HOME}/det3d/ops/iou3d_nms_cuda.cpython-310-x86_64-linux-gnu.so)",
            root=_ROOT,
        ),
        "srun: error: gpu04: task 0: Exited with exit code 1",
        "srun: launch/slurm: _step_signal: Terminating StepId=1877003.0",
    )
    return log(
        tape,
        "libstdcxx_of_the_node",
        "dependency",
        1,
        _BASIS,
        command="srun python tools/train.py --cfg cfgs/pointrcnn.yaml",
        paper_class="missing_module",
        gcc="8.5.0",
    )


def _cancelled_by_its_owner() -> ComposedLog:
    tape = Tape(4109, "2023-05-03 12:00:51")
    _head(tape, 2044870, "gpu12", "gres=gpu:a40:2")
    tape.say(
        "GPU 0: NVIDIA A40 (UUID: GPU-3c1a7d52-90be-41f7-8a1e-0d7c5e2b9f10)",
        "GPU 1: NVIDIA A40 (UUID: GPU-8f02c6e1-4b7d-4c55-9d3a-b2e1a0c7d644)",
    )
    _epochs(tape, range(2), loss=7.4, every=400)
    tape.say(
        "slurmstepd: error: *** JOB 2044870 ON gpu12 CANCELLED AT 2023-05-03T12:21:02 ***",
        "slurmstepd: error: *** STEP 2044870.0 ON gpu12 CANCELLED AT 2023-05-03T12:21:02 ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: error: gpu12: tasks 0-1: Terminated",
        "-- epilog",
        sacct(
            [
                (
                    "2044870",
                    "vit-birds",
                    "CANCELLED by 51172",
                    "0:0",
                    "",
                    "00:20:11",
                    "gpu12",
                ),
                ("2044870.batch", "batch", "CANCELLED", "0:15", "3204K", "00:20:12", "gpu12"),
                ("2044870.0", "python", "CANCELLED", "0:15", "21832944K", "00:20:12", "gpu12"),
            ]
        ),
    )
    return log(
        tape,
        "cancelled_by_its_owner",
        "cancelled",
        143,
        _BASIS,
        command="sbatch -N1 --ntasks=2 train.sbatch",
        slurm="21.08.8",
    )


def _finished_beside_an_old_kill() -> ComposedLog:
    tape = Tape(4110, "2023-02-20 03:12:10")
    _head(tape, 1966021, "gpu07", "gres=gpu:a40:1")
    tape.say("=> loading checkpoint 'model_last.pth.tar'", "=> loaded checkpoint (epoch 27)")
    _epochs(tape, range(27, 30), every=312)
    tape.say(
        " * best Acc@1 84.117 at epoch 29, wrote model_best.pth.tar",
        "-- epilog gpu07: dmesg | tail -n 8",
        dmesg(
            tape,
            [
                *oom_block(
                    tape,
                    pid=90417,
                    rss_kb=16204112,
                    limit_kb=67108864,
                    group="/slurm/uid_51172/job_1951098",
                    short=True,
                ),
                "slurm.epilog.cl (118842): drop_caches: 3",
                "nfs: server nas2 not responding, still trying",
                "nfs: server nas2 OK",
                "perf: interrupt took too long (3141 > 3138), lowering kernel.perf_event_max_sample_rate to 63000",
            ],
            612_004.1,
        ),
        sacct(
            [
                ("1966021", "vit-birds", "COMPLETED", "0:0", "", "00:21:10", "gpu07"),
                ("1966021.batch", "batch", "COMPLETED", "0:0", "3188K", "00:21:10", "gpu07"),
                ("1966021.0", "python", "COMPLETED", "0:0", "19022112K", "00:21:08", "gpu07"),
            ]
        ),
    )
    return log(
        tape,
        "finished_beside_an_old_kill",
        "none",
        0,
        _BASIS,
        command="srun python main.py --resume model_last.pth.tar",
        why="the kill in the kernel's log is of another, earlier job (1951098)",
        slurm="20.11.9",
    )


def _requeued_then_finished() -> ComposedLog:
    tape = Tape(4111, "2023-05-19 20:31:00")
    _head(tape, 2061190, "gpu11", "gres=gpu:rtx6000:1")
    tape.say("=> no checkpoint found at 'model_last.pth.tar'")
    _epochs(tape, range(2), every=400)
    tape.wait(3).say(
        "slurmstepd: error: *** JOB 2061190 ON gpu11 CANCELLED AT 2023-05-19T20:52:40 DUE TO PREEMPTION ***"
    )
    tape.wait(7213)
    _head(tape, 2061190, "gpu02", "gres=gpu:rtx6000:1")
    tape.say(
        "SLURM_RESTART_COUNT=1",
        "=> loading checkpoint 'model_last.pth.tar'",
        "=> loaded checkpoint 'model_last.pth.tar' (epoch 2)",
    )
    _epochs(tape, range(2, 5), every=400)
    tape.say(" * best Acc@1 19.402 at epoch 4, wrote model_best.pth.tar", "done")
    return log(
        tape,
        "requeued_then_finished",
        "none",
        0,
        _BASIS,
        command="sbatch --requeue --open-mode=append scavenge.sbatch",
        why="the preemption was made good by the second start, which finished",
        slurm="22.05.8",
    )


def _stale_handle_of_the_data() -> ComposedLog:
    tape = Tape(4112, "2022-10-27 05:30:15")
    _head(tape, 1811660, "gpu08", "gres=gpu:v100:1", "asr")
    tape.say("data: /nfs/speech/libri (281,241 utterances, 9 shards)", "amp: O1, seed 17")
    for step in range(100, 2400, 100):
        tape.wait(48).say(
            f"{tape.when('%H:%M:%S')} ep 1 step {step:5d} ctc {tape.near(3.9 / (1 + step / 900), 0.04):.3f} wer {tape.near(0.9 / (1 + step / 1800), 0.03):.3f} lr 3.0e-04 nan_skipped 0"
        )
    tape.say(
        "WARNING: retry 1/3 reading shard-00006.tar: [Errno 116] Stale file handle",
        "WARNING: retry 2/3 reading shard-00006.tar: [Errno 116] Stale file handle",
        "WARNING: retry 3/3 reading shard-00006.tar: [Errno 116] Stale file handle",
        traceback(
            """
            asr/train.py:203 <module> | main()
            asr/train.py:160 main | for batch in loader:
            @torch/utils/data/dataloader.py:530 __next__ | data = self._next_data()
            @torch/utils/data/dataloader.py:1224 _next_data | return self._process_data(data)
            @torch/utils/data/dataloader.py:1250 _process_data | data.reraise()
            @torch/_utils.py:457 reraise | raise exception
            """,
            f"""
OSError: Caught OSError in DataLoader worker process 3.
Original Traceback (most recent call last):
  File "{_SITE}/torch/utils/data/_utils/worker.py", line 287, in _worker_loop
    data = fetcher.fetch(index)
  File "{_SITE}/torch/utils/data/_utils/fetch.py", line 49, in fetch
    data = [self.dataset[idx] for idx in possibly_batched_index]
  File "{_ROOT}/asr/data.py", line 88, in __getitem__
    blob = self._read(shard, offset, size)
  File "{_ROOT}/asr/data.py", line 71, in _read
    with open(path, "rb") as stream:
OSError: [Errno 116] Stale file handle: '/nfs/speech/libri/shard-00006.tar'
            """,
            root=_ROOT,
            site=_SITE,
        ),
        "srun: error: gpu08: task 0: Exited with exit code 1",
    )
    return log(
        tape,
        "stale_handle_of_the_data",
        "filesystem_io",
        1,
        _BASIS,
        command="srun python -m asr.train",
        paper_class="traceback",
        torch="1.12.1",
    )
