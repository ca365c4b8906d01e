"""PBS Professional and Torque: the job's output with prologue, epilogue and the server's records."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import dmesg, hung_task, log, stamped
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "OpenPBS 20-23 and Torque 6 sources (pbs_mom messages, tracejob), Linux ext4 and NFS client messages, Open MPI and Horovod output"
_SITE = "/apps/python/3.9.12/lib/python3.9/site-packages"
_ROOT = "/project/ocean/nowcast"


def logs() -> Iterator[ComposedLog]:
    """A weather group's jobs on V100 and A100 nodes."""
    yield _walltime()
    yield _memory_of_the_job()
    yield _preempted_by_requeuing()
    yield _sister_mom_lost()
    yield _deleted()
    yield _scratch_read_only()
    yield _carriage_returns()
    yield _inodes_of_scratch()
    yield _in_the_kernel_for_hours()
    yield _ranks_that_never_met()
    yield _diverged()
    yield _chain_finished()


def _prologue(tape: Tape, job: str, nodes: str, wall: str) -> None:
    tape.say(
        f"===== PBS prologue {tape.when('%a %b %e %H:%M:%S UTC %Y')} =====",
        f"Job ID: {job}   Queue: gpuq   Resources: {nodes},walltime={wall}",
        "node check: gpu ok, scratch ok, lustre ok (0 errors)",
        "=====",
        "Loading python/3.9.12",
        "  Loading requirement: openmpi/4.1.4 cuda/11.7 cudnn/8.5",
    )


def _epilogue(tape: Tape, job: str, code: int, used: str, *more: str) -> None:
    tape.say(
        f"===== PBS epilogue {tape.when('%a %b %e %H:%M:%S UTC %Y')} =====",
        f"Job ID: {job}   Exit status: {code}",
        f"Resources used: {used}",
        *more,
    )


def _keras(tape: Tape, first: int, last: int, total: int, *, loss: float = 0.9) -> None:
    for epoch in range(first, last + 1):
        tape.wait(211)
        value = tape.near(loss / epoch**0.4, 0.02)
        tape.say(
            f"Epoch {epoch}/{total}",
            f"812/812 - 211s - loss: {value:.4f} - mae: {value * 0.61:.4f} - val_loss: {value * 1.07:.4f} - val_mae: {value * 0.66:.4f} - 211s/epoch - 260ms/step",
        )


def _walltime() -> ComposedLog:
    tape = Tape(4401, "2023-03-01 09:15:02")
    _prologue(tape, "48821.pbs01", "select=1:ncpus=12:ngpus=1:mem=96gb", "02:00:00")
    tape.say(
        "2023-03-01 09:15:29.118820: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1613] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 31141 MB memory:  -> device: 0, name: Tesla V100-SXM2-32GB, pci bus id: 0000:1a:00.0, compute capability: 7.0"
    )
    _keras(tape, 1, 33, 120)
    tape.say(
        "=>> PBS: job killed: walltime 7233 exceeded limit 7200",
    )
    _epilogue(
        tape,
        "48821.pbs01",
        271,
        "cput=09:41:13,mem=41220096kb,ngpus=1,vmem=91820220kb,walltime=02:00:35",
    )
    return log(
        tape,
        "walltime",
        "time_limit",
        271,
        _BASIS,
        command="qsub -l walltime=02:00:00 nowcast.pbs",
        paper_class=None,
        tensorflow="2.11",
    )


def _memory_of_the_job() -> ComposedLog:
    tape = Tape(4402, "2022-07-19 22:04:47")
    _prologue(tape, "31790.pbs01", "select=1:ncpus=8:ngpus=1:mem=64gb", "24:00:00")
    for year in range(1979, 2003):
        tape.wait(19).say(
            f"[{tape.when('%H:%M:%S')}] loading era5_{year}.nc  t2m,tp,msl  (8760, 181, 360)  total in memory {1.9 + 2.71 * (year - 1978):.1f} GB"
        )
    tape.say(
        "=>> PBS: job killed: mem 67420588kb exceeded limit 67108864kb",
        "/var/spool/pbs/mom_priv/jobs/31790.pbs01.SC: line 14: 20881 Killed                  python train_unet.py --years 1979-2015 --in-memory",
    )
    _epilogue(
        tape, "31790.pbs01", 137, "cput=00:07:50,mem=67420588kb,vmem=80112004kb,walltime=00:07:58"
    )
    return log(
        tape,
        "memory_of_the_job",
        "oom_killer",
        137,
        _BASIS,
        command="qsub -l select=1:ncpus=8:ngpus=1:mem=64gb train_unet.pbs",
        why="PBS killed it for memory and says so",
    )


def _preempted_by_requeuing() -> ComposedLog:
    tape = Tape(4403, "2023-11-03 01:30:11")
    _prologue(tape, "77120.pbs01", "select=2:ncpus=16:ngpus=4", "12:00:00")
    for step in range(50, 900, 50):
        tape.wait(33).say(
            f"{tape.when()} [1,0]<stdout>: it {step:5d} rmse {tape.near(2.6 / (1 + step / 700), 0.03):.4f} ips {tape.near(211, 0.03):.1f}"
        )
    tape.say(
        "mpirun: Forwarding signal 15 to job",
        "--------------------------------------------------------------------------",
        "mpirun noticed that process rank 5 with PID 0 on node gn012 exited on signal 15 (Terminated).",
        "--------------------------------------------------------------------------",
        "# tracejob 77120",
        "Job: 77120.pbs01",
        "",
        f"{tape.when('%m/%d/%Y')} 01:30:08  L    Job run",
        f"{tape.when('%m/%d/%Y')} 01:30:08  S    Job Run at request of Scheduler@pbs01 on exec_vhost (gn011:ncpus=16:ngpus=4)+(gn012:ncpus=16:ngpus=4)",
        f"{tape.when('%m/%d/%Y')} 01:39:30  L    Employed preemption order: R",
        f"{tape.when('%m/%d/%Y')} 01:39:31  L    Job preempted by requeuing",
        f"{tape.when('%m/%d/%Y')} 01:39:31  S    Job Requeued at request of Scheduler@pbs01, state set to Q",
    )
    return log(
        tape,
        "preempted_by_requeuing",
        "preempted",
        None,
        _BASIS,
        command="mpirun -np 8 python train.py",
        openmpi="4.1.4",
    )


def _sister_mom_lost() -> ComposedLog:
    tape = Tape(4404, "2021-12-08 13:20:55")
    _prologue(tape, "9120331.torque", "nodes=4:ppn=8:gpus=2", "48:00:00")
    for epoch in range(1, 15):
        tape.wait(402).say(
            f"[1,0]<stdout>:Train Epoch: {epoch} \tLoss: {tape.near(3.1 / epoch**0.5, 0.02):.6f}",
            f"[1,0]<stdout>:Test set: Average loss: {tape.near(3.2 / epoch**0.5, 0.02):.4f}, Accuracy: {min(91.0, 40 + epoch * 3.4):.2f}%",
        )
    tape.say(
        "--------------------------------------------------------------------------",
        "ORTE has lost communication with a remote daemon.",
        "",
        "  HNP daemon   : [[20718,0],0] on node gn004",
        "  Remote daemon: [[20718,0],2] on node gn009",
        "",
        "This is usually due to either a failure of the TCP network",
        "connection to the node, or possibly an internal failure of",
        "the daemon itself. We cannot recover from this failure, and",
        "therefore will terminate the job.",
        "--------------------------------------------------------------------------",
        "[1,1]<stderr>:[gn004:22190] *** An error occurred in MPI_Allreduce",
        "[1,1]<stderr>:Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution.",
        "PBS: job killed: node 2 (gn009) requested job terminate, 'EOF' (code 1099) - received SISTER_EOF attempting to communicate with sister MOM's",
    )
    _epilogue(
        tape,
        "9120331.torque",
        265,
        "cput=11:02:10,mem=98220112kb,walltime=01:34:41",
        "pbsnodes -l: gn009                down,offline",
        "momctl -h gn009: ERROR: cannot connect to MOM on node 'gn009', errno=113 (No route to host)",
    )
    return log(
        tape,
        "sister_mom_lost",
        "node_failure",
        265,
        _BASIS,
        command="mpirun -np 8 python train_hvd.py",
        paper_class=None,
        why="MPI and Horovod only lost what ran on gn009, which is down",
        torque="6.1.3",
    )


def _deleted() -> ComposedLog:
    tape = Tape(4405, "2024-02-02 10:44:12")
    _prologue(tape, "90411.pbs01", "select=1:ncpus=8:ngpus=1", "08:00:00")
    tape.say("WARNING:root:learning rate 1e-1 is unusually large")
    _keras(tape, 1, 4, 200, loss=9.1)
    tape.say(
        "Terminated",
        "# tracejob 90411",
        "02/02/2024 10:44:09  S    Job Run at request of Scheduler@pbs01 on exec_vhost (gn003:ncpus=8:ngpus=1)",
        "02/02/2024 10:59:02  S    Job to be deleted at request of met07@login1",
        "02/02/2024 10:59:02  S    Job sent signal TermJob on delete",
        "02/02/2024 10:59:12  S    Exit_status=271 resources_used.cpupercent=712 resources_used.mem=20113004kb resources_used.walltime=00:14:52",
        "02/02/2024 10:59:12  S    dequeuing from gpuq, state 5",
    )
    return log(
        tape,
        "deleted",
        "cancelled",
        271,
        _BASIS,
        command="qsub sweep_lr.pbs",
        openpbs="22.05",
    )


def _scratch_read_only() -> ComposedLog:
    tape = Tape(4406, "2023-08-28 16:33:20")
    _prologue(tape, "70335.pbs01", "select=1:ncpus=16:ngpus=2", "24:00:00")
    for step in range(1000, 9001, 1000):
        tape.wait(300).say(
            f"{tape.milli()} - INFO - step {step} - loss {tape.near(1.2, 0.04):.4f} - wrote /scratch/local/70335/ckpt_{step}.pt"
            if step < 9000
            else f"{tape.milli()} - INFO - step {step} - loss {tape.near(1.1, 0.04):.4f}"
        )
    tape.say(
        traceback(
            """
            train_gan.py:288 <module> | main()
            train_gan.py:251 main | save(state, path)
            train_gan.py:77 save | torch.save(state, path)
            @torch/serialization.py:440 save | with _open_zipfile_writer(f) as opened_zipfile:
            @torch/serialization.py:315 _open_zipfile_writer | return container(name_or_buffer)
            @torch/serialization.py:288 __init__ | super().__init__(torch._C.PyTorchFileWriter(str(name)))
            """,
            "RuntimeError: File /scratch/local/70335/ckpt_9000.pt cannot be opened.",
            root=_ROOT,
            site=_SITE,
        ),
        "cp: cannot create regular file '/scratch/local/70335/stdout.copy': Read-only file system",
    )
    _epilogue(
        tape,
        "70335.pbs01",
        1,
        "cput=02:51:44,mem=31200448kb,walltime=00:45:24",
        dmesg(
            tape,
            [
                "nvme nvme1: I/O 211 QID 9 timeout, aborting",
                "nvme nvme1: Abort status: 0x0",
                "blk_update_request: I/O error, dev nvme1n1, sector 1902331904 op 0x1:(WRITE) flags 0x800 phys_seg 16 prio class 0",
                "EXT4-fs error (device nvme1n1p1): ext4_journal_check_start:83: comm jbd2/nvme1n1p1: Detected aborted journal",
                "EXT4-fs (nvme1n1p1): Remounting filesystem read-only",
            ],
            2_204_119.0,
        ),
    )
    return log(
        tape,
        "scratch_read_only",
        "filesystem_io",
        1,
        _BASIS + "; PyTorch sources",
        command="python train_gan.py",
        paper_class="runtime_error",
        why="it had been writable for eight checkpoints; the disk failed and was remounted",
        torch="1.13.1",
    )


def _carriage_returns() -> ComposedLog:
    tape = Tape(4407, "2022-10-04 08:00:31")
    tape.say(
        "===== PBS prologue Tue Oct  4 08:00:31 UTC 2022 =====",
        "Job ID: 8811204.torque   Queue: gpuq",
        "=====",
        "/var/spool/torque/mom_priv/jobs/8811204.torque.SC: line 2: $'\\r': command not found",
        "/var/spool/torque/mom_priv/jobs/8811204.torque.SC: line 7: $'\\r': command not found",
        ": No such file or directory 7: cd: /project/ocean/nowcast",
        "/var/spool/torque/mom_priv/jobs/8811204.torque.SC: line 9: ./run_train.sh: /bin/bash^M: bad interpreter: No such file or directory",
    )
    _epilogue(tape, "8811204.torque", 126, "cput=00:00:00,mem=0kb,vmem=0kb,walltime=00:00:02")
    return log(
        tape,
        "carriage_returns",
        "command_not_found",
        126,
        _BASIS + "; bash",
        command="qsub train.pbs",
        why="the script was written with DOS line ends, so its interpreter does not exist",
    )


def _inodes_of_scratch() -> ComposedLog:
    tape = Tape(4408, "2023-05-30 11:12:13")
    _prologue(tape, "64010.pbs01", "select=1:ncpus=24:ngpus=1", "06:00:00")
    tape.say("extracting tiles to /scratch/ocean/tiles (1 file per tile)")
    for done in range(200_000, 1_800_001, 200_000):
        tape.wait(61).say(f"  {done:,} tiles written, {done * 0.0000081:.1f} GB")
    tape.say(
        traceback(
            """
            prepare_and_train.py:131 <module> | main()
            prepare_and_train.py:96 main | extract(scene, out)
            prepare_and_train.py:58 extract | np.save(out / f"{key}.npy", tile)
            @numpy/lib/npyio.py:518 save | file_ctx = open(file, "wb")
            """,
            "OSError: [Errno 28] No space left on device: '/scratch/ocean/tiles/S2B_20210711_0031_88204.npy'",
            root=_ROOT,
            site=_SITE,
        ),
    )
    _epilogue(
        tape,
        "64010.pbs01",
        1,
        "cput=00:31:02,mem=9120112kb,walltime=00:09:12",
        "Filesystem            Size  Used Avail Use% Mounted on",
        "beegfs_scratch         55T   22T   34T  40% /scratch",
        "Filesystem           Inodes   IUsed   IFree IUse% Mounted on",
        "beegfs_scratch      2000000 2000000       0  100% /scratch",
    )
    return log(
        tape,
        "inodes_of_scratch",
        "disk_full",
        1,
        _BASIS,
        command="python prepare_and_train.py",
        paper_class="traceback",
        why="34 TB are free, but no inode",
    )


def _in_the_kernel_for_hours() -> ComposedLog:
    tape = Tape(4409, "2024-04-18 20:10:02")
    _prologue(tape, "95002.pbs01", "select=1:ncpus=16:ngpus=1", "06:00:00")
    _keras(tape, 1, 6, 60, loss=0.4)
    tape.wait(20050).say("=>> PBS: job killed: walltime 21634 exceeded limit 21600")
    tape.say("pbs_mom: job 95002.pbs01: 1 process still in state D after SIGKILL")
    _epilogue(
        tape,
        "95002.pbs01",
        271,
        "cput=00:22:41,mem=18220004kb,walltime=06:00:38",
        dmesg(
            tape,
            [
                "nfs: server nas3 not responding, still trying",
                *(
                    line
                    for sec in (122, 245, 368)
                    for line in hung_task(
                        "python",
                        41177,
                        [
                            "__schedule+0x2d1/0x870",
                            "schedule+0x55/0xf0",
                            "io_schedule+0x12/0x40",
                            "wait_on_page_bit+0x137/0x230",
                            "nfs_wait_on_request+0x60/0x90 [nfs]",
                            "nfs_file_fsync+0x9c/0x1d0 [nfs]",
                            "do_fsync+0x38/0x70",
                        ],
                        sec,
                    )
                ),
            ],
            871_200.4,
        ),
    )
    return log(
        tape,
        "in_the_kernel_for_hours",
        "idle_hang",
        271,
        _BASIS,
        command="python train_keras.py",
        paper_class=None,
        why="nothing moved for five and a half hours: the process slept in NFS; the limit only ended it",
    )


def _ranks_that_never_met() -> ComposedLog:
    tape = Tape(4410, "2023-09-12 07:07:07")
    _prologue(tape, "71188.pbs01", "select=2:ncpus=16:ngpus=4", "01:00:00")
    tape.say("MASTER_ADDR=gn007.ib0.cluster MASTER_PORT=29500")
    for host, at in (("gn007", 0), ("gn008", 4)):
        tape.say(
            marked(
                f"[1,{at}]<stderr>:",
                "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 98 - Address already in use).\n"
                "[W socket.cpp:426] [c10d] The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).\n"
                "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.\n"
                + traceback(
                    """
                    train_ddp.py:90 <module> | main()
                    train_ddp.py:34 main | dist.init_process_group("nccl", init_method="env://")
                    @torch/distributed/distributed_c10d.py:761 init_process_group | default_pg = _new_process_group_helper(
                    @torch/distributed/rendezvous.py:241 _env_rendezvous_handler | store = _create_c10d_store(master_addr, master_port, rank, world_size, timeout)
                    """,
                    "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).",
                    root=_ROOT,
                    site=_SITE,
                ),
            )
            if at == 0
            else f"[1,{at}]<stderr>:[W socket.cpp:601] [c10d] The client socket has failed to connect to [gn007.ib0.cluster]:29500 (errno: 111 - Connection refused)."
        )
        tape.say(f"# {host}: rank {at} left")
    tape.say(
        "--------------------------------------------------------------------------",
        "Primary job  terminated normally, but 1 process returned",
        "a non-zero exit code. Per user-direction, the job has been aborted.",
        "--------------------------------------------------------------------------",
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        "  Process name: [[11830,1],0]",
        "  Exit code:    1",
        "--------------------------------------------------------------------------",
    )
    return log(
        tape,
        "ranks_that_never_met",
        "rendezvous",
        1,
        _BASIS,
        command="mpirun -np 8 python train_ddp.py",
        paper_class="runtime_error",
        torch="1.13.1",
    )


def _diverged() -> ComposedLog:
    tape = Tape(4411, "2024-01-10 18:00:44")
    _prologue(tape, "88110.pbs01", "select=1:ncpus=8:ngpus=1", "12:00:00")
    _keras(tape, 1, 3, 40, loss=1.4)
    tape.say(
        "Epoch 4/40",
        "812/812 - 210s - loss: 188.2013 - mae: 9.8120 - val_loss: 40211.5820 - val_mae: 160.9114 - 210s/epoch - 259ms/step",
    )
    for epoch in range(5, 41):
        tape.wait(210).say(
            f"Epoch {epoch}/40",
            "812/812 - 210s - loss: nan - mae: nan - val_loss: nan - val_mae: nan - 210s/epoch - 259ms/step",
        )
    tape.say("saved model to out/nowcast_v3.h5", "training finished")
    _epilogue(tape, "88110.pbs01", 0, "cput=10:11:40,mem=22100812kb,walltime=02:20:31")
    return log(
        tape,
        "diverged",
        "nan_loss",
        0,
        _BASIS + "; Keras",
        command="python train_keras.py --lr 0.5",
        paper_class="nan_loss",
        why="exit 0, but nothing was learnt after epoch 4",
        tensorflow="2.10",
    )


def _chain_finished() -> ComposedLog:
    tape = Tape(4412, "2024-03-04 00:00:58")
    _prologue(tape, "91777.pbs01", "select=1:ncpus=8:ngpus=1", "04:00:00")
    tape.say(
        "restart.log of the jobs before this one:",
        stamped(
            tape,
            "  %m/%d %H:%M ",
            [
                "91523.pbs01 =>> PBS: job killed: walltime 14437 exceeded limit 14400",
                "91601.pbs01 deleted at request of met07@login1 (wrong config)",
                "91640.pbs01 node gn009 down, job requeued",
            ],
        ),
        "resuming from ckpt_61 (val_loss 0.2218)",
    )
    _keras(tape, 62, 80, 80)
    tape.say(
        "Restoring model weights from the end of the best epoch: 77.",
        "WARNING:absl:Found untraced functions such as _jit_compiled_convolution_op while saving (showing 5 of 28). These functions will not be directly callable after loading.",
        "test mae 0.1402, wrote out/nowcast_v4",
    )
    _epilogue(
        tape,
        "91777.pbs01",
        0,
        "cput=05:20:11,mem=22330148kb,walltime=01:08:39",
        "node check: gpu ok, scratch 97% full (warn), 2 zombie processes of other jobs killed",
    )
    return log(
        tape,
        "chain_finished",
        "none",
        0,
        _BASIS,
        command="qsub -W depend=afterany:91640 nowcast.pbs",
        why="what ended the earlier jobs of the chain is not this job's fate",
    )
