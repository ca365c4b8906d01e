"""Cloud TPU slices: JAX (MaxText, T5X, EasyLM) and PyTorch/XLA on several worker VMs."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "JAX and XLA coordination service, PJRT and libtpu messages, MaxText and T5X output, gcloud TPU VM and queued resource states, Orbax sources"
_SITE = "/home/tpu/.local/lib/python3.10/site-packages"
_ROOT = "/home/tpu/maxtext"


def logs() -> Iterator[ComposedLog]:
    """Slices of eight to 256 chips, most of them preemptible."""
    yield _slice_preempted()
    yield _worker_host_lost()
    yield _chips_in_use()
    yield _memory_of_the_chip()
    yield _coordinator_never_reached()
    yield _heartbeat_and_nothing_else()
    yield _half_written_step()
    yield _certificate_of_the_proxy()
    yield _fused_mount_of_the_loader()
    yield _host_memory_of_the_cache()
    yield _loss_went_up()
    yield _maintenance_survived()


def _maxtext(tape: Tape, first: int, last: int, *, loss: float = 3.0, seconds: float = 9.1) -> None:
    for step in range(first, last + 1):
        tape.wait(seconds)
        tape.say(
            f"completed step: {step}, seconds: {tape.near(seconds, 0.01):.3f}, TFLOP/s/device: {tape.near(181, 0.01):.3f}, Tokens/s/device: {tape.near(3601, 0.01):.3f}, total_weights: 1048576, loss: {tape.near(loss, 0.01):.3f}"
        )


def _t5x(tape: Tape, first: int, last: int, every: int) -> None:
    for step in range(first, last + 1, every):
        tape.wait(88)
        tape.say(
            f"I{tape.when('%m%d %H:%M:%S')}.{tape.rng.randrange(10**6):06d} 140641718562816 trainer.py:501] Training: step {step}"
        )


def _coordination(tape: Tape, task: int, code: int = 954) -> str:
    return f"{tape.when()}.{tape.rng.randrange(10**6):06d}: E external/xla/xla/tsl/distributed_runtime/coordination/coordination_service.cc:{code}] /job:jax_worker/replica:0/task:{task} has been set to ERROR in coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:{task} heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly. Check the task logs for an earlier error to debug further. [type.googleapis.com/tensorflow.CoordinationServiceError='']"


def _fatal(tape: Tape) -> str:
    return f"{tape.when()}.{tape.rng.randrange(10**6):06d}: F external/xla/xla/pjrt/distributed/client.h:80] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats)"


def _slice_preempted() -> ComposedLog:
    tape = Tape(5101, "2024-05-14 07:07:01")
    _maxtext(tape, 400, 431)
    tape.say(
        "##### Command execution on worker 2 failed with exit status 255. Continuing.",
        "client_loop: send disconnect: Broken pipe",
        "ERROR: (gcloud.compute.tpus.tpu-vm.ssh) Could not SSH into the instance.  It is possible that your SSH key has not propagated to the instance yet.",
        "$ gcloud compute tpus tpu-vm describe v4-64-b --zone us-central2-b --format='value(state,health,healthDescription)'",
        "PREEMPTED\tUNHEALTHY_MAINTENANCE\tThe TPU had a maintenance event at 2024-05-14T07:12:10Z",
        "$ gcloud compute tpus queued-resources list --zone us-central2-b",
        "NAME       ZONE            NODE_COUNT  ACCELERATOR_TYPE  STATE",
        "qr-v4-64   us-central2-b   1           v4-64             SUSPENDED",
    )
    return log(
        tape,
        "slice_preempted",
        "preempted",
        255,
        _BASIS,
        command="gcloud compute tpus tpu-vm ssh v4-64-b --worker=all --command='python3 MaxText/train.py ...'",
        jax="0.4.26",
    )


def _worker_host_lost() -> ComposedLog:
    tape = Tape(5102, "2022-11-15 15:50:20")
    _t5x(tape, 150, 198, 8)
    tape.wait(160).say(
        _coordination(tape, 37),
        *(marked(f"[worker {n}] ", _fatal(tape)) for n in (0, 5, 11)),
        "Fatal Python error: Aborted",
        "",
        "Current thread 0x00007fe9f0b7c740 (most recent call first):",
        f'  File "{_SITE}/jax/_src/array.py", line 521 in _value',
        '  File "/home/tpu/t5x/t5x/trainer.py", line 388 in train',
        '  File "/home/tpu/t5x/t5x/train.py", line 633 in train',
        "##### worker 9 (tasks 36-39): ssh: connect to host 10.164.0.41 port 22: No route to host",
        "$ gcloud compute operations list --filter='targetLink~t1v-n-88c0-w-9' --limit=1",
        "NAME                        TYPE                              TARGET                      HTTP_STATUS  STATUS  TIMESTAMP",
        "systemevent-1668528170-88c  compute.instances.hostError       t1v-n-88c0-w-9              200          DONE    2022-11-15T16:01:02",
    )
    return log(
        tape,
        "worker_host_lost",
        "node_failure",
        134,
        _BASIS,
        command="python3 -m t5x.train",
        paper_class=None,
        why="the machine of worker 9 had a host error; the aborts of the others follow from it",
        jax="0.3.25",
    )


def _chips_in_use() -> ComposedLog:
    tape = Tape(5103, "2024-03-08 12:01:00")
    tape.say(
        "I0000 00:00:1709899264.101832   51002 tfrt_cpu_pjrt_client.cc:349] TfrtCpuClient created.",
        traceback(
            """
            MaxText/train.py:640 <module> | app.run(main)
            MaxText/train.py:622 main | max_utils.print_system_information()
            @jax/_src/xla_bridge.py:1073 devices | return get_backend(backend).devices()
            @jax/_src/xla_bridge.py:917 backends | backend = _init_backend(platform)
            @jax/_src/xla_bridge.py:1003 _init_backend | backend = registration.factory()
            """,
            "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid 48810. Not attempting to load libtpu.so in this process. (set JAX_PLATFORMS='' to automatically choose an available backend)",
            root=_ROOT,
            site=_SITE,
        ),
        "$ ps -o pid,lstart,cmd 48810",
        "    PID                  STARTED CMD",
        "  48810 Thu Mar  7 19:20:11 2024 python3 notebook_server.py",
    )
    return log(
        tape,
        "chips_in_use",
        "cuda_environment",
        1,
        _BASIS,
        command="python3 MaxText/train.py MaxText/configs/base.yml",
        paper_class="runtime_error",
        why="the accelerator cannot be used as set up: another program holds it",
        jax="0.4.25",
    )


def _memory_of_the_chip() -> ComposedLog:
    tape = Tape(5104, "2024-07-18 18:40:00")
    tape.say(
        "System Information: Jax Version: 0.4.30",
        "System Information: Jaxlib Version: 0.4.30",
        "Config param per_device_batch_size: 16.0",
        "Config param remat_policy: minimal",
        "Config param enable_goodput_recording: False",
        "Memstats: After params initialized:",
        "\tUsing (GB) 6.12 / 15.75 (38.857143%) on TPU_0(process=0,(0,0,0,0))",
        traceback(
            """
            MaxText/train.py:640 <module> | app.run(main)
            MaxText/train.py:571 train_loop | state, metrics = p_train_step(state, example_batch, nextrng)
            """,
            'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 22.41G of 15.75G hbm. Exceeded hbm capacity by 6.67G.\n\nTotal hbm usage >= 22.67G:\n    reserved        264.00M\n    program          16.25G\n    arguments         6.16G\n\nLargest program allocations in hbm:\n\n  1. Size: 4.00G\n     Operator: op_name="jit(train_step)/jit(main)/transpose(jvp(Transformer))/decoder/while/body/mlp"\n     Shape: bf16[16,2048,65536]{2,1,0:T(8,128)(2,1)}\n     Unpadded size: 4.00G\n     XLA label: fusion.1184\n     Allocation type: HLO temp',
            root=_ROOT,
            site=_SITE,
        ),
    )
    return log(
        tape,
        "memory_of_the_chip",
        "cuda_oom",
        1,
        _BASIS,
        command="python3 MaxText/train.py per_device_batch_size=16",
        why="the accelerator's memory, found out when the program was compiled",
        jax="0.4.30",
    )


def _coordinator_never_reached() -> ComposedLog:
    tape = Tape(5105, "2025-02-22 22:02:00")
    for worker in (1, 3):
        tape.say(
            marked(
                f"[worker {worker}] ",
                f"{tape.when()}.400191: I external/xla/xla/pjrt/distributed/client.cc:135] Connecting to distributed JAX controller failed: DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually happens because a task triggered the barrier too early or too slowly.\n"
                + traceback(
                    """
                    train.py:22 <module> | jax.distributed.initialize()
                    @jax/_src/distributed.py:258 initialize | global_state.initialize(coordinator_address, num_processes, process_id,
                    @jax/_src/distributed.py:147 initialize | self.client.connect()
                    """,
                    "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. # of tasks: 4, # tasks that reached the barrier: 3. The first task at the barrier: /job:jax_worker/replica:0/task:1. Some timed out task names: /job:jax_worker/replica:0/task:2",
                    root=_ROOT,
                    site=_SITE,
                ),
            )
        )
    tape.say("##### worker 2: bash: line 1: cd: maxtext: still cloning (git fetch 61%)")
    return log(
        tape,
        "coordinator_never_reached",
        "rendezvous",
        1,
        _BASIS,
        command="python3 train.py",
        paper_class="traceback",
        jax="0.5.0",
    )


def _heartbeat_and_nothing_else() -> ComposedLog:
    tape = Tape(5106, "2023-06-01 04:00:40")
    _t5x(tape, 20000, 20090, 10)
    tape.wait(140).say(
        _coordination(tape, 3, 1170),
        _fatal(tape),
        "Fatal Python error: Aborted",
        "",
        "Thread 0x00007f6a1c9fe700 (most recent call first):",
        '  File "/usr/lib/python3.10/threading.py", line 320 in wait',
        '  File "/home/tpu/t5x/t5x/checkpoints.py", line 1180 in _async_write',
        "##### Command execution on worker 0 failed with exit status 134.",
        "$ gcloud compute tpus tpu-vm describe v3-32-a --format='value(state,health)'",
        "READY\tHEALTHY",
    )
    return log(
        tape,
        "heartbeat_and_nothing_else",
        "collective",
        134,
        _BASIS,
        command="python3 -m t5x.train",
        why="a peer fell silent; its own log is not here and the slice is healthy",
        jax="0.4.10",
    )


def _half_written_step() -> ComposedLog:
    tape = Tape(5107, "2024-09-24 05:15:00")
    tape.say(
        "SIGTERM from the maintenance event of 2024-09-24T03:58 ended the last run while step 8000 was being saved",
        "Found existing checkpoint directory gs://mtext-ckpt/run-31/checkpoints, restoring latest step 8000",
        traceback(
            """
            MaxText/train.py:640 <module> | app.run(main)
            MaxText/checkpointing.py:210 load_state_if_possible | checkpoint_manager.restore(latest_step, args=checkpoint_args)
            @orbax/checkpoint/checkpoint_manager.py:1162 restore | restored = self._checkpointer.restore(restore_directory, args=args)
            @orbax/checkpoint/type_handlers.py:1310 deserialize | raise ValueError(
            """,
            "ValueError: NOT_FOUND: Error opening \"zarr\" driver: Metadata at gs://mtext-ckpt/run-31/checkpoints/8000/items/params.decoder.layers.mlp.wi_0.kernel/.zarray does not exist [source locations='tensorstore/driver/kvs_backed_chunk_driver.cc:1310']",
            root=_ROOT,
            site=_SITE,
        ),
    )
    return log(
        tape,
        "half_written_step",
        "checkpoint",
        1,
        _BASIS,
        command="python3 MaxText/train.py run_name=run-31",
        paper_class="traceback",
        orbax="0.6.4",
    )


def _certificate_of_the_proxy() -> ComposedLog:
    tape = Tape(5108, "2024-01-16 10:10:10")
    tape.say(
        "WARNING:urllib3.connectionpool:Retrying (Retry(total=2)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1007)'))': /storage/v1/b/c4-arrays/o",
        traceback(
            """
            EasyLM/models/llama/llama_train.py:260 <module> | mlxu.run(main)
            EasyLM/data.py:311 __init__ | blob = bucket.get_blob(name)
            @google/cloud/storage/_http.py:72 api_request | return call()
            @google/api_core/retry.py:349 retry_wrapped_func | return retry_target(
            @google/api_core/retry.py:207 retry_target | raise exceptions.RetryError(
            """,
            "google.api_core.exceptions.RetryError: Timeout of 120.0s exceeded, last exception: HTTPSConnectionPool(host='storage.googleapis.com', port=443): Max retries exceeded with url: /storage/v1/b/c4-arrays/o (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1007)')))",
            root="/home/tpu",
            site=_SITE,
        ),
    )
    return log(
        tape,
        "certificate_of_the_proxy",
        "network",
        1,
        _BASIS + "; google-cloud-storage",
        command="python3 -m EasyLM.models.llama.llama_train",
        paper_class="traceback",
    )


def _fused_mount_of_the_loader() -> ComposedLog:
    tape = Tape(5109, "2024-10-02 16:20:00")
    _maxtext(tape, 1, 24)
    tape.say(
        marked(
            "[worker 3] ",
            traceback(
                """
                MaxText/input_pipeline/_grain_data_processing.py:98 __getitem__ | return self._source[index]
                @grain/_src/python/data_sources.py:188 __getitem__ | reader = self._get_reader(reader_idx)
                @array_record/python/array_record_data_source.py:121 _check_group_size | raise
                """,
                "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/arrayrecord/c4/en/3.0.1/c4-train.array_record-00211-of-01024'",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        "[worker 3] gcsfuse[2210]: fatal error: runtime: out of memory",
        _coordination(tape, 3),
        "##### Command execution on worker 3 failed with exit status 1.",
    )
    return log(
        tape,
        "fused_mount_of_the_loader",
        "filesystem_io",
        1,
        _BASIS + "; gcsfuse",
        command="python3 MaxText/train.py dataset_type=grain",
        paper_class="traceback",
        why="the mount's own process died and the loader lost its files",
    )


def _host_memory_of_the_cache() -> ComposedLog:
    tape = Tape(5110, "2023-09-13 21:30:00")
    _t5x(tape, 0, 40, 10)
    tape.say(
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "  what():  std::bad_alloc",
        "https://symbolize.stripped_domain/r/?trace=7f0a1c0a300b,7f0a1c0a308f&map= ",
        "*** SIGABRT received by PID 30112 (TID 31877) on cpu 71 from PID 30112; stack trace: ***",
        "PC: @     0x7f0a1c0a300b  (unknown)  raise",
        "    @     0x7f0a0bd0ca61       1152  tensorflow::data::MemoryCache::Add()",
        "    @     0x7f0a0bd0d1a4        304  tensorflow::data::CacheDatasetOp::MemoryDatasetBase::MemoryWriterIterator::GetNextInternal()",
        "E0913 21:36:02.771233   31877 coredump_hook.cc:393] RAW: Remote crash data gathering hook invoked.",
        "E0913 21:36:03.002210   31877 process_state.cc:784] RAW: Raising signal 6 with default behavior",
        "Aborted (core dumped)",
        "##### Command execution on worker 0 failed with exit status 134.",
    )
    return log(
        tape,
        "host_memory_of_the_cache",
        "host_oom",
        134,
        _BASIS + "; TensorFlow data sources",
        command="python3 -m t5x.train --gin.use_cached_tasks=False",
        why="the host's allocator threw; the abort is how C++ ends on it",
        jax="0.4.14",
    )


def _loss_went_up() -> ComposedLog:
    tape = Tape(5111, "2025-01-28 08:08:08")
    _maxtext(tape, 2000, 2012, loss=2.4)
    _maxtext(tape, 2013, 2016, loss=9.8)
    for step in range(2017, 2030):
        tape.wait(9.1).say(
            f"completed step: {step}, seconds: {tape.near(9.1, 0.01):.3f}, TFLOP/s/device: {tape.near(181, 0.01):.3f}, Tokens/s/device: {tape.near(3601, 0.01):.3f}, total_weights: 1048576, loss: nan"
        )
    tape.say("Process 0: training run complete, 2030 steps", "##### worker 0 exit status 0")
    return log(
        tape,
        "loss_went_up",
        "nan_loss",
        0,
        _BASIS,
        command="python3 MaxText/train.py steps=2030 learning_rate=3e-2",
        jax="0.5.0",
    )


def _maintenance_survived() -> ComposedLog:
    tape = Tape(5112, "2025-04-19 13:00:00")
    tape.say(
        "WARNING:absl:Tiling a dimension across chips that do not divide it; padding.",
        "E0419 13:00:20.011021 tpu_telemetry.cc:88] Failed to export metrics: UNAVAILABLE: monitoring endpoint (ignored)",
    )
    _maxtext(tape, 1, 12)
    tape.say(
        "2025-04-19 13:02:10.118022: W external/xla/xla/tsl/distributed_runtime/preemption/preemption_sync_manager.cc:170] Failed to retrieve preemption notice from coordination service: CANCELLED: call cancelled. This is only expected if one of the tasks is unhealthy. Check the logs for the actual root cause.",
        "WARNING: maintenance event MIGRATE_ON_HOST_MAINTENANCE announced for 13:20, checkpointing early at step 13",
    )
    _maxtext(tape, 13, 40)
    tape.say(
        "maintenance event is over, no device was lost",
        "Finished asynchronous save (blocking) at step 40",
        "Process 0: training run complete, 40 steps",
    )
    return log(
        tape,
        "maintenance_survived",
        "none",
        0,
        _BASIS,
        command="python3 MaxText/train.py steps=40",
        why="the notice came to nothing and the run ended as planned",
        jax="0.5.3",
    )
