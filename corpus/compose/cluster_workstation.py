"""A lab's own machines: docker, docker compose, systemd units, and their journals."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import dmesg, log, oom_block, stamped
from corpus.compose._gpu_hosts import xid
from corpus.compose._gpu_tape import Tape, bar, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "docker and containerd messages, systemd 249-255 and systemd-oomd, earlyoom 1.6, Linux kernel and FUSE messages, PyTorch sources"
_SITE = "/opt/venv/lib/python3.10/site-packages"
_ROOT = "/home/lab/exp"


def logs() -> Iterator[ComposedLog]:
    """Two boxes with RTX cards under a desk."""
    yield _oomd_took_the_unit()
    yield _earlyoom_first()
    yield _kernel_took_the_container()
    yield _small_shm_of_compose()
    yield _driver_of_last_night()
    yield _overlay_full()
    yield _sshfs_gone()
    yield _files_of_the_daemon()
    yield _volume_of_root()
    yield _exit_137_of_docker()
    yield _closed_the_lid()
    yield _old_processor()
    yield _card_reset_by_power()
    yield _could_not_allocate()
    yield _unit_finished()


def _lines(tape: Tape, first: int, last: int, every: int, *, seconds: float = 31) -> list[str]:
    made = []
    for step in range(first, last + 1, every):
        tape.wait(seconds)
        made.append(
            f"{tape.when('%H:%M:%S')} step {step:6d}  loss {tape.near(2.4 / (1 + step / last), 0.03):.4f}  lr 3.00e-04  vram 21.4/23.6G  ram {tape.near(38, 0.04):.1f}/62.7G"
        )
    return made


def _unit(tape: Tape, *said: str, unit: str = "run-u412.service") -> str:
    return "\n".join(
        f"{tape.when('%b %d %H:%M:%S')} minerva systemd[2211]: {unit}: {one}" for one in said
    )


def _oomd_took_the_unit() -> ComposedLog:
    tape = Tape(4601, "2024-11-14 15:02:10")
    tape.say(
        "Running as unit: run-u412.service; invocation ID: 4b1f0d0c6c5f4a0e8d7d0b8f7f7a9c11",
        *_lines(tape, 100, 1800, 100),
        f"{tape.when('%H:%M:%S')} building eval cache (1.2M samples)",
    )
    tape.wait(44).say(
        "Finished with result: signal",
        "Main processes terminated with: code=killed/status=KILL",
        "Service runtime: 10min 14.211s",
        "CPU time consumed: 31min 2.004s",
        "$ journalctl --user-unit run-u412 -u systemd-oomd -n 12",
        stamped(
            tape,
            "%b %d %H:%M:%S minerva systemd-oomd[911]: ",
            [
                "Killed /user.slice/user-1000.slice/user@1000.service/app.slice/run-u412.service due to memory pressure for /user.slice/user-1000.slice/user@1000.service being 71.33% > 50.00% for > 20s with reclaim activity",
            ],
        ),
        _unit(
            tape,
            "systemd-oomd killed 19 process(es) in this unit.",
            "Main process exited, code=killed, status=9/KILL",
            "Failed with result 'oom-kill'.",
            "Consumed 31min 2.004s CPU time.",
        ),
    )
    return log(
        tape,
        "oomd_took_the_unit",
        "oom_killer",
        -9,
        _BASIS,
        command="systemd-run --user --wait --pipe python train.py",
        systemd="255",
    )


def _earlyoom_first() -> ComposedLog:
    tape = Tape(4602, "2023-08-19 20:11:31")
    tape.say(
        *_lines(tape, 50, 900, 50, seconds=22),
        "Terminated",
        "$ journalctl -u earlyoom --since '20:15' | cut -d' ' -f5-",
        "earlyoom[842]: mem avail:  9311 of 64222 MiB (14.50%), swap free:  612 of 2047 MiB (29.91%)",
        "earlyoom[842]: mem avail:  6204 of 64222 MiB ( 9.66%), swap free:  181 of 2047 MiB ( 8.84%)",
        "earlyoom[842]: low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%",
        'earlyoom[842]: sending SIGTERM to process 60311 uid 1000 "python": badness 1139, VmRSS 41770 MiB',
        "earlyoom[842]: process exited after 1.4 seconds",
    )
    return log(
        tape,
        "earlyoom_first",
        "oom_killer",
        143,
        _BASIS,
        command="python train.py --preload",
        why="a SIGTERM, but earlyoom's own line says it was sent for memory",
        earlyoom="1.6.2",
    )


def _kernel_took_the_container() -> ComposedLog:
    tape = Tape(4603, "2025-01-05 11:00:00")
    tape.say("$ docker run --gpus all --memory 48g --name sd3 trainer:dev python train_lora.py")
    for at in range(10, 221, 30):
        tape.wait(14).say("\r" + bar("Caching latents", at, 4112, 0.47))
    tape.say(
        "$ docker inspect sd3 --format '{{json .State}}' | jq",
        "{",
        '  "Status": "exited",',
        '  "Running": false,',
        '  "OOMKilled": true,',
        '  "Dead": false,',
        '  "Pid": 0,',
        '  "ExitCode": 137,',
        '  "Error": "",',
        '  "FinishedAt": "2025-01-05T11:01:52.117203311Z"',
        "}",
        "$ sudo dmesg | tail -n 40",
        dmesg(
            tape,
            oom_block(
                tape,
                pid=73312,
                rss_kb=49_120_008,
                limit_kb=50331648,
                group="/system.slice/docker-5be0a1c7.scope",
                task="/system.slice/docker-5be0a1c7.scope",
                uid=0,
                kernel="6.8.0-51-generic",
                neighbours=((73201, "tini", 212), (73290, "bash", 801)),
            ),
            19922.5,
        ),
    )
    return log(
        tape,
        "kernel_took_the_container",
        "oom_killer",
        137,
        _BASIS,
        command="docker run --memory 48g trainer:dev python train_lora.py",
        docker="27.4",
    )


def _small_shm_of_compose() -> ComposedLog:
    tape = Tape(4604, "2024-03-03 13:30:30")
    inner = "\n".join(
        [
            "Epoch 1/50",
            *(bar("train", n, 3665, 0.11, f", loss={2.9 - n / 900:.3f}") for n in (1, 40, 81, 122)),
            "Exception in thread Thread-1 (_pin_memory_loop):",
            traceback(
                """
                /usr/lib/python3.10/threading.py:1016 _bootstrap_inner | self.run()
                @torch/utils/data/_utils/pin_memory.py:51 _pin_memory_loop | do_one_step()
                @torch/utils/data/_utils/pin_memory.py:28 do_one_step | r = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
                @torch/multiprocessing/reductions.py:495 rebuild_storage_fd | fd = df.detach()
                /usr/lib/python3.10/multiprocessing/connection.py:502 Client | c = SocketClient(address)
                """,
                "FileNotFoundError: [Errno 2] No such file or directory",
                site=_SITE,
            ),
            traceback(
                """
                @torch/utils/data/_utils/worker.py:317 _worker_loop | data_queue.put((idx, data))
                /usr/lib/python3.10/multiprocessing/queues.py:244 _feed | obj = _ForkingPickler.dumps(obj)
                @torch/multiprocessing/reductions.py:428 reduce_storage | fd, size = storage._share_fd_cpu_()
                @torch/storage.py:297 wrapper | return fn(self, *args, **kwargs)
                """,
                "RuntimeError: unable to write to file </torch_118_2219410034_17>: No space left on device (28)",
                site=_SITE,
            ),
            "DataLoader worker (pid(s) 118) exited unexpectedly",
        ]
    )
    tape.say(
        "[+] Running 2/2",
        " ✔ Container exp-tensorboard-1  Started",
        " ✔ Container exp-trainer-1      Created",
        "Attaching to tensorboard-1, trainer-1",
        "tensorboard-1  | TensorBoard 2.15.1 at http://0.0.0.0:6006/ (Press CTRL+C to quit)",
        marked("trainer-1      | ", inner),
        "trainer-1 exited with code 1",
        "$ docker compose exec tensorboard df -h / /dev/shm",
        "Filesystem      Size  Used Avail Use% Mounted on",
        "overlay         1.8T  611G  1.1T  36% /",
        "shm              64M  4.0K   64M   1% /dev/shm",
    )
    return log(
        tape,
        "small_shm_of_compose",
        "shared_memory",
        1,
        _BASIS,
        command="docker compose up --abort-on-container-exit",
        paper_class="runtime_error",
        why="the file that could not be written is torch's in /dev/shm, the disk is a third full",
        torch="2.1.2",
    )


def _driver_of_last_night() -> ComposedLog:
    tape = Tape(4605, "2024-09-12 08:30:12")
    tape.say(
        "$ docker start -a nightly",
        "Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'",
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
        "Error: failed to start containers: nightly",
        "$ nvidia-smi",
        "Failed to initialize NVML: Driver/library version mismatch",
        "NVML library version: 550.107",
        "$ grep -h 'upgrade nvidia\\|upgrade libnvidia' /var/log/dpkg.log | tail -2",
        "2024-09-12 06:31:40 upgrade libnvidia-compute-550:amd64 550.90.07-0ubuntu0.22.04.1 550.107.02-0ubuntu0.22.04.1",
        "2024-09-12 06:31:52 upgrade nvidia-driver-550:amd64 550.90.07-0ubuntu0.22.04.1 550.107.02-0ubuntu0.22.04.1",
    )
    return log(
        tape,
        "driver_of_last_night",
        "cuda_environment",
        1,
        _BASIS + "; nvidia-container-toolkit",
        command="docker start -a nightly",
        paper_class=None,
    )


def _overlay_full() -> ComposedLog:
    tape = Tape(4606, "2023-12-20 22:00:09")
    tape.say(
        *_lines(tape, 500, 6000, 500),
        "saving ema weights",
        traceback(
            """
            train.py:190 <module> | main()
            train.py:160 main | save_file(ema.state_dict(), f"{out}/ema-{step}.safetensors")
            @safetensors/torch.py:281 save_file | serialize_file(_flatten(tensors), filename, metadata=metadata)
            """,
            'safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })',
            root="/app",
            site=_SITE,
        ),
        "Exception ignored in: <_io.TextIOWrapper name='/app/out/metrics.csv' mode='a' encoding='UTF-8'>",
        "OSError: [Errno 28] No space left on device",
        "$ docker system df",
        "TYPE            TOTAL     ACTIVE    SIZE      RECLAIMABLE",
        "Images          41        3         611.2GB   570.1GB (93%)",
        "Containers      12        1         388.9GB   214.4GB (55%)",
        "Build Cache     207       0         190.3GB   190.3GB",
    )
    return log(
        tape,
        "overlay_full",
        "disk_full",
        1,
        _BASIS + "; safetensors",
        command="docker run --gpus all trainer:dev python train.py",
        paper_class="traceback",
        safetensors="0.4.1",
    )


def _sshfs_gone() -> ComposedLog:
    tape = Tape(4607, "2024-07-02 17:45:00")
    tape.say(
        "data: /mnt/nas/kinetics (sshfs lab@nas:/volume1/kinetics)",
        *_lines(tape, 20, 400, 20, seconds=8),
        traceback(
            """
            train_video.py:140 <module> | main()
            train_video.py:101 main | for clips, labels in loader:
            @torch/_utils.py:722 reraise | raise exception
            """,
            f"""
OSError: Caught OSError in DataLoader worker process 5.
Original Traceback (most recent call last):
  File "{_SITE}/torch/utils/data/_utils/worker.py", line 308, in _worker_loop
    data = fetcher.fetch(index)
  File "{_ROOT}/clips.py", line 52, in __getitem__
    size = os.stat(path).st_size
OSError: [Errno 107] Transport endpoint is not connected: '/mnt/nas/kinetics/train/abseiling/0347ZoDXyP0.mp4'
            """,
            root=_ROOT,
            site=_SITE,
        ),
        "client_loop: send disconnect: Broken pipe",
        "$ ls /mnt/nas/kinetics",
        "ls: cannot access '/mnt/nas/kinetics': Transport endpoint is not connected",
    )
    return log(
        tape,
        "sshfs_gone",
        "filesystem_io",
        1,
        _BASIS,
        command="python train_video.py",
        paper_class="traceback",
        why="the mount of the data went away under the run",
        torch="2.2.2",
    )


def _files_of_the_daemon() -> ComposedLog:
    tape = Tape(4608, "2023-05-11 09:12:00")
    tape.say(
        *_lines(tape, 100, 1500, 100, seconds=5),
        "validation: 40 loaders",
        traceback(
            """
            train.py:190 <module> | main()
            train.py:150 main | validate(model, loaders)
            train.py:88 validate | for batch in loader:
            @torch/utils/data/dataloader.py:633 __next__ | data = self._next_data()
            @torch/utils/data/dataloader.py:1328 _next_data | idx, data = self._get_data()
            @torch/utils/data/dataloader.py:1294 _get_data | success, data = self._try_get_data()
            @torch/utils/data/dataloader.py:1132 _try_get_data | data = self._data_queue.get(timeout=timeout)
            /usr/lib/python3.10/multiprocessing/queues.py:122 get | return _ForkingPickler.loads(res)
            @torch/multiprocessing/reductions.py:330 rebuild_storage_filename | storage = torch.UntypedStorage._new_shared_filename_cpu(manager, handle, size)
            """,
            "RuntimeError: unable to open shared memory object </torch_4410_3301220017_1011> in read-write mode: Too many open files (24)",
            root=_ROOT,
            site=_SITE,
        ),
        _unit(
            tape,
            "Main process exited, code=exited, status=1/FAILURE",
            "Failed with result 'exit-code'.",
            unit="lab-train@exp14.service",
        ),
        "$ systemctl show lab-train@exp14 -p LimitNOFILE",
        "LimitNOFILE=1024",
    )
    return log(
        tape,
        "files_of_the_daemon",
        "too_many_files",
        1,
        _BASIS,
        command="systemctl start lab-train@exp14",
        paper_class="runtime_error",
        why="descriptors ran out while tensors were shared, not /dev/shm",
    )


def _volume_of_root() -> ComposedLog:
    tape = Tape(4609, "2024-02-18 10:20:30")
    tape.say(
        "trainer-1  | groups: cannot find name for group ID 1000",
        "trainer-1  | I have no name!@5f0c5e1ad3b1:/app$ accelerate launch train.py",
        marked(
            "trainer-1  | ",
            traceback(
                """
                train.py:203 <module> | main()
                train.py:58 main | accelerator.init_trackers("exp", config=vars(args))
                @accelerate/tracking.py:209 __init__ | self.writer = tensorboard.SummaryWriter(self.logging_dir, **kwargs)
                @tensorboard/compat/tensorflow_stub/io/gfile.py:196 makedirs | os.makedirs(path, exist_ok=True)
                /usr/lib/python3.10/os.py:225 makedirs | mkdir(name, mode)
                """,
                "PermissionError: [Errno 13] Permission denied: '/app/out/logs'",
                root="/app",
                site=_SITE,
            )
            + "\n"
            + traceback(
                """
                @accelerate/commands/launch.py:1023 launch_command | simple_launcher(args)
                @accelerate/commands/launch.py:643 simple_launcher | raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
                """,
                "subprocess.CalledProcessError: Command '['/opt/venv/bin/python', 'train.py']' returned non-zero exit status 1.",
                site=_SITE,
            ),
        ),
        "trainer-1 exited with code 1",
        "$ ls -ldn out",
        "drwxr-xr-x 2 0 0 4096 Feb 18 10:19 out",
    )
    return log(
        tape,
        "volume_of_root",
        "permission",
        1,
        _BASIS + "; Accelerate",
        command="docker compose run --user 1000:1000 trainer",
        accelerate="0.27.2",
    )


def _exit_137_of_docker() -> ComposedLog:
    tape = Tape(4610, "2024-05-28 23:14:01")
    tape.say(
        *_lines(tape, 1000, 9000, 1000),
        "$ docker wait exp-trainer-1",
        "137",
        "$ docker inspect exp-trainer-1 --format 'OOMKilled={{.State.OOMKilled}} Error={{.State.Error}} Restart={{.RestartCount}}'",
        "OOMKilled=false Error= Restart=0",
        "$ sudo dmesg --since '2 hours ago' | grep -i -E 'oom|killed|xid' ; echo rc=$?",
        "rc=1",
    )
    return log(
        tape,
        "exit_137_of_docker",
        "killed_unknown",
        137,
        _BASIS,
        command="docker compose up -d trainer",
        paper_class=None,
        why="no kill for memory by docker's and the kernel's word; nobody says who sent the signal",
    )


def _closed_the_lid() -> ComposedLog:
    tape = Tape(4611, "2023-02-24 18:02:55")
    tape.say(
        "lab@minerva:~/exp$ python train.py --epochs 100",
        *_lines(tape, 100, 2300, 100),
        "Connection to minerva closed by remote host.",
        "client_loop: send disconnect: Broken pipe",
        "$ ssh minerva 'tail -n 3 exp/out/signal.log; last -n1 lab'",
        "2023-02-24 18:14:53 SIGHUP received, writing stack and leaving",
        "2023-02-24 18:14:53 exit",
        "lab      pts/3        10.8.0.14        Fri Feb 24 18:02 - 18:14  (00:12)",
    )
    return log(
        tape,
        "closed_the_lid",
        "cancelled",
        129,
        _BASIS,
        command="python train.py --epochs 100",
        why="SIGHUP of a closed terminal",
    )


def _old_processor() -> ComposedLog:
    tape = Tape(4612, "2023-06-30 12:12:12")
    tape.say(
        "● lab-train@tf.service - lab training tf",
        "     Loaded: loaded (/etc/systemd/system/lab-train@.service; disabled; vendor preset: enabled)",
        "     Active: failed (Result: core-dump) since Fri 2023-06-30 12:12:19 UTC; 4s ago",
        "    Process: 7712 ExecStart=/opt/venv/bin/python -m exp.tf (code=dumped, signal=ILL)",
        "   Main PID: 7712 (code=dumped, signal=ILL)",
        "        CPU: 3.110s",
        "",
        f"{tape.when('%b %d %H:%M:%S')} hestia python[7712]: importing tensorflow 2.12.0",
        f"{tape.when('%b %d %H:%M:%S')} hestia kernel: traps: python[7712] trap invalid opcode ip:7f10b2c4d3aa sp:7ffc6d04a4e0 error:0 in libtensorflow_framework.so.2[7f10b1fd4000+1f2a000]",
        _unit(
            tape,
            "Main process exited, code=dumped, status=4/ILL",
            "Failed with result 'core-dump'.",
            unit="lab-train@tf.service",
        ),
        "$ grep -m1 'model name' /proc/cpuinfo",
        "model name\t: Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz",
    )
    return log(
        tape,
        "old_processor",
        "segfault",
        -4,
        _BASIS,
        command="systemctl start lab-train@tf",
        paper_class="segfault",
        tensorflow="2.12.0",
    )


def _card_reset_by_power() -> ComposedLog:
    tape = Tape(4613, "2024-01-21 02:02:02")
    tape.say(
        *_lines(tape, 200, 4600, 200),
        traceback(
            """
            train.py:190 <module> | main()
            train.py:141 main | loss_value = loss.item()
            """,
            "RuntimeError: CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
            root=_ROOT,
            site=_SITE,
        ),
        "$ nvidia-smi -L",
        "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-0c3d5f2a-7c0b-8d6e-4f0a-5b1f0d0c6c5f)",
        "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error",
        "$ journalctl -k -n 6 --no-hostname",
        stamped(
            tape,
            "%b %d %H:%M:%S kernel: ",
            [
                "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0",
                xid("0000:41:00", 79, "GPU has fallen off the bus.", pid=9912),
                "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.",
                "NVRM: GPU at PCI:0000:41:00: GPU-7be2b1a0-7c0b-8d6e-4f0a-5b1f0d0c6c5f",
                "thermal thermal_zone2: critical temperature reached (101 C)",
            ],
        ),
    )
    return log(
        tape,
        "card_reset_by_power",
        "gpu_hardware",
        1,
        _BASIS,
        command="python train.py",
        paper_class="cuda_runtime",
        why="the launch failure is what the program saw of the card's loss",
    )


def _could_not_allocate() -> ComposedLog:
    tape = Tape(4614, "2023-04-04 14:04:40")
    tape.say(
        "vm.overcommit_memory = 2 (strict), MemTotal 131 GB, CommitLimit 67 GB",
        "loading features ...",
        *(f"  part {n}/9: 6.2 GB" for n in range(1, 8)),
        traceback(
            """
            train_gbm_nn.py:77 <module> | X = np.concatenate(parts)
            <__array_function__ internals>:180 concatenate
            """,
            "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 43.5 GiB for an array with shape (11400000, 1024) and data type float32",
            root=_ROOT,
            site=_SITE,
        ),
        _unit(
            tape,
            "Main process exited, code=exited, status=1/FAILURE",
            "Failed with result 'exit-code'.",
            "Consumed 2min 11.400s CPU time.",
        ),
    )
    return log(
        tape,
        "could_not_allocate",
        "host_oom",
        1,
        _BASIS + "; NumPy",
        command="systemd-run --user --pipe python train_gbm_nn.py",
        numpy="1.24",
    )


def _unit_finished() -> ComposedLog:
    tape = Tape(4615, "2024-10-10 10:00:00")
    tape.say(
        "Running as unit: run-u77.service",
        "wandb: WARNING Unable to render HTML, can't import display from ipython.core",
        f"{_SITE}/torch/utils/checkpoint.py:295: FutureWarning: `torch.cpu.amp.autocast(args...)` is deprecated.",
        "CUDA out of memory at batch 64, retrying with 48",
        "CUDA out of memory at batch 48, retrying with 32",
        *_lines(tape, 500, 8000, 500),
        "done: best val 1.8812 at step 7500",
        "Finished with result: success",
        "Main processes terminated with: code=exited/status=0",
        "Service runtime: 8min 22.110s",
        "$ journalctl -k -n 4 --no-hostname",
        stamped(
            tape,
            "%b %d %H:%M:%S kernel: ",
            [
                *oom_block(
                    tape,
                    pid=44120,
                    rss_kb=20_110_004,
                    name="chrome",
                    group="/",
                    task="/user.slice/user-1000.slice/session-9.scope",
                    short=True,
                ),
                "INFO: task jbd2/sda2-8:412 blocked for more than 120 seconds.",
            ],
        ),
    )
    return log(
        tape,
        "unit_finished",
        "none",
        0,
        _BASIS,
        command="systemd-run --user --wait --pipe python train.py --auto-batch",
        why="a browser was killed, not the training; the smaller batch fitted",
    )
