"""JAX 0.5 to 0.7 on several hosts: MaxText on GPUs and TPU slices, multislice, Pathways, Orbax."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of JAX 0.5-0.7 (distributed, multihost_utils), XLA (coordination service, PJRT, BFC allocator), MaxText 2025 releases, Orbax 0.11, Grain 0.2, XPK 0.9, Cloud TPU and Pathways documentation"
_SITE = "/usr/local/lib/python3.12/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Hosts that do not register, slices that stall, checkpoints of another mesh."""
    yield _allocator_of_the_fifth_host()
    yield _signal_of_the_platform()
    yield _libtpu_of_another_day()
    yield _barrier_without_process_three()
    yield _mesh_axes()
    yield _restore_of_other_shapes()
    yield _grain_of_no_records()
    yield _peer_raised_first()
    yield _proxy_of_pathways()
    yield _emergency_and_done()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/deps/src", site=_SITE, carets=True)


def _glog(tape: Tape, level: str, place: str, text: str) -> str:
    tape.wait(0.01)
    return (
        f"{level}{tape.when('%m%d %H:%M:%S.%f')}    {tape.rng.randrange(10, 999)} {place}] {text}"
    )


def _maxtext(
    tape: Tape,
    first: int,
    last: int,
    *,
    devices: str = "Num_devices: 32, shape (4, 8)",
    chip: str = "gpu",
    seconds: float = 4.1,
) -> None:
    tape.say(
        "2025-01-01 00:00:00: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered".replace(
            "2025-01-01 00:00:00", tape.when()
        )
        if chip == "gpu"
        else "WARNING:absl:Type mismatch between restored and target dtype ignored",
        "Updating keys from env and command line: ['run_name', 'per_device_batch_size', 'steps']",
        "Running Model: llama3.1-8b",
        *(
            f"Config param {name}: {value}"
            for name, value in {
                "attention": "cudnn_flash_te" if chip == "gpu" else "flash",
                "async_checkpointing": True,
                "checkpoint_period": 500,
                "dataset_type": "grain",
                "enable_emergency_checkpoint": False,
                "ici_fsdp_parallelism": -1,
                "jax_distributed_initialization_timeout": 300,
                "max_target_length": 8192,
                "remat_policy": "full",
                "steps": 20000,
            }.items()
        ),
        "System Information: Jax Version: 0.6.2\nSystem Information: Jaxlib Version: 0.6.2\nSystem Information: Jax Backend: "
        + (
            "PJRT C API\ncuda 12090"
            if chip == "gpu"
            else "PJRT C API\nTFRT TPU v6 lite\nBuilt on Jun 12 2025 01:33:56"
        ),
        devices,
        "Creating checkpoint manager...",
        "Checkpoint manager created!",
        "number parameters: 8.030 billion",
        "Per train step:\n Total TFLOPs: 439.12 \n split as 92.14% learnable weight flops and 7.86% attention flops",
    )
    _progress(tape, first, last, seconds=seconds)


def _config(tape: Tape, hosts: int = 4, **own: object) -> None:
    tape.say(
        _glog(
            tape,
            "I",
            "distributed.cc:118",
            f"Connecting to JAX distributed service, {hosts} processes",
        ),
        f"INFO:absl:Initializing distributed system, process {tape.rng.randrange(hosts)} of {hosts}",
    )
    values: dict[str, object] = {
        "act_quantization_calibration_method": "absmax",
        "adam_b1": 0.9,
        "adam_eps_root": 0.0,
        "allow_split_physical_axes": False,
        "base_emb_dim": 4096,
        "base_mlp_dim": 14336,
        "base_num_decoder_layers": 32,
        "checkpoint_storage_use_ocdbt": True,
        "compile_topology": "",
        "cosine_learning_rate_final_fraction": 0.1,
        "decoder_block": "DecoderBlockType.LLAMA2",
        "dropout_rate": 0.0,
        "dump_hlo": False,
        "enable_goodput_recording": False,
        "eval_interval": -1,
        "gradient_clipping_threshold": 1.0,
        "hang_on_error_timeout": 600,
        "learning_rate": 3e-05,
        "logits_via_embedding": False,
        "monitor_step_time_deviation": True,
        "opt_type": "adamw",
        "quantization": "",
        "skip_first_n_steps_for_profiler": 1,
        "stack_trace_interval_seconds": 600,
        "warmup_steps_fraction": 0.1,
        "z_loss_multiplier": 0.0,
    }
    values |= own
    kept = [name for name in sorted(values) if name in own or tape.rng.random() < 0.8]
    tape.say(*(f"Config param {name}: {values[name]}" for name in kept))


def _progress(tape: Tape, first: int, last: int, *, seconds: float = 4.1) -> None:
    for at in range(first, last + 1):
        tape.wait(seconds)
        took = tape.near(seconds, 0.01)
        tape.say(
            f"completed step: {at}, seconds: {took:.3f}, TFLOP/s/device: {439.12 / took:.3f}, Tokens/s/device: {8192 / took:.3f}, total_weights: 262144, loss: {tape.near(2.2 + 6 / (1 + at / 50), 0.01):.3f}"
        )


def _allocator_of_the_fifth_host() -> ComposedLog:
    tape = Tape(9951, "2025-07-08 10:00:00")
    _maxtext(tape, 0, 35)
    head = f"{tape.when()}.114021: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] "
    tape.say(
        marked(
            "4: ",
            f"{head}Allocator (GPU_2_bfc) ran out of memory trying to allocate 15.66GiB (rounded to 16814702592)requested by op \n{head.replace('501', '512')}**************************************************************************************______________",
        ),
        marked(
            "4: ",
            _trace(
                """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/train.py:668 train_loop | state, metrics = p_train_step(state, example_batch, nextrng)
            """,
                "jaxlib._jax.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16814702512 bytes.: while running replica 0 and partition 18 of a replicated computation (other replicas may have failed as well).\n--------------------\nFor simplicity, JAX has removed its internal frames from the traceback of the following exception. Set JAX_TRACEBACK_FILTERING=off to include these.",
            ),
        ),
    )
    tape.wait(100)
    for host in (0, 1, 7):
        tape.say(
            marked(
                f"{host}: ",
                _glog(
                    tape,
                    "E",
                    "coordination_service_agent.cc:330",
                    "Polled an error from coordination service (this can be an error from this or another task).",
                )
                + "\n"
                + _glog(
                    tape,
                    "F",
                    "client.h:81",
                    "Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:4\nThe tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.\n\nRPC: /tensorflow.CoordinationService/PollForError [type.googleapis.com/tensorflow.CoordinationServiceError='\"\\x0e\\n\\njax_worker']",
                ),
            )
        )
    tape.say(
        "srun: error: h100-05: task 4: Exited with exit code 1",
        "srun: error: h100-01: task 0: Aborted (core dumped)",
        "srun: error: h100-02: task 1: Aborted (core dumped)",
    )
    return log(
        tape,
        "allocator_of_the_fifth_host",
        "cuda_oom",
        134,
        _BASIS,
        command="srun -l python -u -m MaxText.train configs/base.yml",
        why="host 4 ran out of memory; the others end because of it",
        jax="0.6.2",
    )


def _signal_of_the_platform() -> ComposedLog:
    tape = Tape(9953, "2025-05-21 20:00:42")
    _maxtext(tape, 3000, 3050, devices="Num_devices: 64, shape (64,)", chip="tpu")
    tape.say(
        _glog(
            tape,
            "I",
            "preemption_sync_manager.cc:142",
            "Preemption sync manager received death signal: SIGTERM",
        ),
        _glog(
            tape,
            "W",
            "preemption_notifier.cc:89",
            "SIGTERM caught at 2025-05-21T20:04:11.220+00:00",
        ),
        "Reached preemption sync point at step 3052, saving a checkpoint before exit",
        "I0521 20:04:20.110771 checkpoint_manager.py:1510] [process=0][thread=MainThread] Saving checkpoint at step 3052 (reached_preemption=True)",
        _trace(
            """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/train.py:700 train_loop | checkpointing.maybe_save_checkpoint(checkpoint_manager, state, config, data_iterator, step)
            /deps/src/MaxText/checkpointing.py:471 maybe_save_checkpoint | raise exceptions.StopTraining("Job is preempted.")
            """,
            "MaxText.exceptions.StopTraining: Job is preempted.",
        ),
        "$ gcloud compute tpus queued-resources describe qr-v6e-64 --zone europe-west4-a --format='value(state.state,state.stateInitiator)'",
        "SUSPENDED\tSERVICE",
        "$ gcloud logging read 'resource.type=\"tpu_worker\" AND protoPayload.methodName:\"preempted\"' --limit 1 --format='value(timestamp,protoPayload.status.message)'",
        "2025-05-21T20:04:09Z\tInstance was preempted.",
    )
    return log(
        tape,
        "signal_of_the_platform",
        "preempted",
        1,
        _BASIS,
        command="python -m MaxText.train",
        paper_class="traceback",
        jax="0.5.3",
    )


def _libtpu_of_another_day() -> ComposedLog:
    tape = Tape(9954, "2025-08-29 12:00:00")
    tape.say(
        "+ pip list | grep -i -E 'jax|libtpu'\njax                       0.7.1\njaxlib                    0.7.0\nlibtpu                    0.0.20",
        _glog(
            tape,
            "W",
            "pjrt_api.cc:84",
            "PJRT_Api is set for device type tpu, version 0.70, expected 0.71",
        ),
        _trace(
            """
            /deps/src/MaxText/train.py:20 <module> | import jax
            @jax/__init__.py:25 <module> | from jax import config as _config_module
            @jax/_src/lib/__init__.py:84 <module> | version = check_jaxlib_version(
            @jax/_src/lib/__init__.py:72 check_jaxlib_version | raise RuntimeError(msg)
            """,
            "RuntimeError: jaxlib is version 0.7.0, but this version of jax requires version >= 0.7.1.",
        ),
        "##### Command execution on worker 0 failed with exit status 1. Continuing.",
        *(
            f"##### Command execution on worker {n} failed with exit status 1. Continuing."
            for n in (1, 2, 3)
        ),
    )
    return log(
        tape,
        "libtpu_of_another_day",
        "dependency",
        1,
        _BASIS,
        command="gcloud compute tpus tpu-vm ssh v6e-16 --worker=all --command='python -m MaxText.train'",
        paper_class="runtime_error",
        jax="0.7.1",
    )


def _barrier_without_process_three() -> ComposedLog:
    tape = Tape(9955, "2025-03-12 07:00:00")
    for host in (0, 1, 2):
        tape.say(
            marked(
                f"{host}: ",
                "\n".join(
                    (
                        f"INFO:2025-03-12 07:00:1{host},110:jax._src.distributed:153: Connecting to JAX distributed service on 10.128.0.21:1234"
                        if host
                        else "INFO:2025-03-12 07:00:10,004:jax._src.distributed:125: Starting JAX distributed service on [::]:1234",
                        "INFO:MaxText:Attempting to initialize the jax distributed system for GPU backend...",
                    )
                ),
            )
        )
    tape.wait(300)
    for host in (1, 0, 2):
        tape.say(
            marked(
                f"{host}: ",
                _trace(
                    """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/max_utils.py:240 initialize_jax_for_gpu | jax.distributed.initialize(
            @jax/_src/distributed.py:281 initialize | global_state.initialize(coordinator_address, num_processes, process_id,
            @jax/_src/distributed.py:155 initialize | self.client.connect()
            """,
                    "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.\n# of tasks that reached the barrier: 3/4.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:3\n\nRPC: /tensorflow.CoordinationService/RegisterTask [type.googleapis.com/tensorflow.CoordinationServiceError='']",
                ),
            )
        )
    tape.say(
        "srun: error: a3-0: task 0: Exited with exit code 1",
        "srun: error: a3-[1-2]: tasks 1-2: Exited with exit code 1",
        "3: DEBUG:nccl-tuner: waiting for /run/tcpx/rx_rule_manager (300 s)",
        "srun: error: a3-3: task 3: Terminated",
    )
    return log(
        tape,
        "barrier_without_process_three",
        "rendezvous",
        1,
        _BASIS,
        command="srun -l -N 4 python -m MaxText.train",
        paper_class="runtime_error",
        jax="0.5.2",
    )


def _mesh_axes() -> ComposedLog:
    tape = Tape(9956, "2025-06-02 09:00:00")
    _config(tape, hardware="gpu_multiprocess", run_name="mesh44")
    tape.say(
        "Updating keys from env and command line: ['ici_fsdp_parallelism', 'ici_tensor_parallelism']",
        *(
            f"Config param {n}: {v}"
            for n, v in {
                "dcn_data_parallelism": -1,
                "hardware": "gpu_multiprocess",
                "ici_fsdp_parallelism": 4,
                "ici_tensor_parallelism": 4,
                "num_slices": 4,
                "steps": 5000,
                "use_iota_embed": False,
            }.items()
        ),
        "Num_devices: 32",
        _trace(
            """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/maxtext_utils.py:811 create_device_mesh | ici_parallelism = max_utils.fill_unspecified_mesh_axes(config.ici_parallelism.copy(), num_devices_per_slice, "ICI")
            /deps/src/MaxText/max_utils.py:402 fill_unspecified_mesh_axes | assert np.prod(parallelism_vals) == target_product, f"Number of {target_type} {parallelism_type} does not match the product of the {parallelism_type} parallelism {np.prod(parallelism_vals)}"
            """,
            "AssertionError: Number of devices per slice 8 does not match the product of the ICI parallelism 16",
        ),
        "srun: error: h100-[01-04]: tasks 0-3: Exited with exit code 1",
    )
    return log(
        tape,
        "mesh_axes",
        "config",
        1,
        _BASIS,
        command="srun python -m MaxText.train ici_fsdp_parallelism=4 ici_tensor_parallelism=4",
        paper_class="assertion",
        why="sizes that do not fit the devices, behind an assertion",
    )


def _restore_of_other_shapes() -> ComposedLog:
    tape = Tape(9957, "2025-09-16 14:00:00")
    _config(tape, vocab_size=128256, load_full_state_path="", run_name="m8b-cont")
    tape.say(
        "Creating checkpoint manager...",
        "I0916 14:00:31.110 checkpoint_manager.py:708] [process=0][thread=MainThread] CheckpointManager init: checkpointers=None, item_names=('items', 'iter')",
        "checkpoint manager exists so trying to load this run's existing checkpoint",
        "restoring from this run's directory latest step 9500",
        "I0916 14:00:40.002 base_pytree_checkpoint_handler.py:124] [process=0] Restoring checkpoint with ocdbt: use_zarr3=False, use_ocdbt=True",
        _trace(
            """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/checkpointing.py:388 load_state_if_possible | checkpoint_manager.restore(step, args=args.Composite(items=restore_args))
            @orbax/checkpoint/checkpoint_manager.py:1697 restore | restored = self._checkpointer.restore(restore_directory, args=args)
            @orbax/checkpoint/_src/handlers/base_pytree_checkpoint_handler.py:815 restore | raise ValueError(
            @jax/experimental/array_serialization/serialization.py:378 cb | raise ValueError(
            """,
            "ValueError: Requested shape: (128256, 4096) is not compatible with the stored shape: (128512, 4096). Truncating/padding is disabled by setting of `strict=True`. When using standard Orbax APIs, this behavior can be modified by specifying `strict=False` in `ArrayRestoreArgs` for any array in which padding/truncation is desired.",
        ),
        "I0916 14:00:58.771 checkpointer.py:198] Async thread pool closed",
    )
    return log(
        tape,
        "restore_of_other_shapes",
        "checkpoint",
        1,
        _BASIS,
        command="python -m MaxText.train vocab_size=128256",
        paper_class="traceback",
        orbax="0.11.24",
    )


def _grain_of_no_records() -> ComposedLog:
    tape = Tape(9958, "2025-11-05 05:00:00")
    _config(tape, 16, grain_worker_count_eval=1, packing=True, run_name="c4-13b")
    tape.say(
        "Config param dataset_type: grain\nConfig param grain_train_files: /gcs/corpus/c4/3.0.1/*.array_record\nConfig param grain_worker_count: 4",
        "Found 1024 files for train/eval with grain",
        "I1105 05:00:40.220 array_record_data_source.py:144] reading metadata of 1024 files",
        _trace(
            """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/input_pipeline/_grain_data_processing.py:88 get_datasets | dataset = grain.MapDataset.source(grain.ArrayRecordDataSource(data_files))
            @array_record/python/array_record_data_source.py:279 __init__ | self._read_instructions = _get_read_instructions(paths)
            @array_record/python/array_record_data_source.py:195 _get_read_instruction | reader = _create_reader(path)
            """,
            "ValueError: INVALID_ARGUMENT: Invalid ArrayRecord file: magic number 0x71930e704fdae05e mismatch, read 0x3c21444f43545950; reading /gcs/corpus/c4/3.0.1/c4-train.array_record-00417-of-01024; could not parse footer",
        ),
    )
    return log(
        tape,
        "grain_of_no_records",
        "data",
        1,
        _BASIS,
        command="python -m MaxText.train dataset_type=grain",
        paper_class="traceback",
        why="a file with other content (a page of HTML) among the records",
        grain="0.2.12",
    )


def _peer_raised_first() -> ComposedLog:
    tape = Tape(9959, "2025-04-01 16:00:00")
    _maxtext(tape, 0, 30, devices="Num_devices: 16, shape (2, 8)")
    tape.say(
        marked(
            "1: ",
            _trace(
                """
            /deps/src/custom/train_vlm.py:402 <module> | app.run(main)
            /deps/src/custom/train_vlm.py:355 main | log_metrics(metrics, step)
            /deps/src/custom/train_vlm.py:121 log_metrics | writer.scalar("train/aux", metrics["scalar"]["learning/moe_lb_loss"])
            """,
                "KeyError: 'learning/moe_lb_loss'",
            ),
        ),
        marked(
            "1: ",
            'W0401 16:03:10.410771   410 pjrt_client.cc:1588] WatchJobStateAsync failed for task goo.gle/debugonly  task_name: "jax_worker" task_id: 1: CANCELLED: CANCELLED',
        ),
    )
    tape.wait(60)
    tape.say(
        marked(
            "0: ",
            _glog(
                tape,
                "E",
                "coordination_service.cc:641",
                "/job:jax_worker/replica:0/task:1 has been set to ERROR in coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:1 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly. Check the task logs for an earlier error to debug further.",
            )
            + "\nE0401 16:04:10.771   401 nccl_communicator.cc:118] NCCL operation ncclAllReduce failed: remote process exited or there was a network error. Last NCCL warning(error) log entry (may be unrelated) 'socketProgress: Connection closed by remote peer'.",
        ),
        marked(
            "0: ",
            "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclGroupEnd() failed: unhandled system error (run with NCCL_DEBUG=INFO for details).",
        ),
        "srun: error: gpu-2: task 1: Exited with exit code 1\nsrun: error: gpu-1: task 0: Aborted (core dumped)",
    )
    return log(
        tape,
        "peer_raised_first",
        "traceback",
        134,
        _BASIS,
        command="srun -l -N 2 python -u train_vlm.py",
        why="task 1 raised; heartbeats and NCCL follow",
        jax="0.5.3",
    )


def _proxy_of_pathways() -> ComposedLog:
    tape = Tape(9960, "2025-12-02 11:00:00")
    _maxtext(tape, 400, 440, devices="Num_devices: 256, shape (256,)", chip="tpu")
    tape.say(
        "W1202 11:02:58.100331 1 proxy_client.cc:188] IFRT proxy stream closed: UNAVAILABLE: Connection reset by peer",
        _trace(
            """
            /deps/src/MaxText/train.py:731 <module> | app.run(main)
            /deps/src/MaxText/train.py:690 train_loop | jax.block_until_ready(state)
            @jax/_src/array.py:644 block_until_ready | self._arrays[0].block_until_ready()
            """,
            "jaxlib._jax.XlaRuntimeError: UNAVAILABLE: Connection to IFRT proxy server was terminated: recvmsg:Connection reset by peer",
        ),
        "$ kubectl get pods -l jobset.sigs.k8s.io/jobset-name=pw-llama\nNAME                              READY   STATUS      RESTARTS   AGE\npw-llama-pathways-head-0-0-7kq2   1/3     OOMKilled   0          19m\npw-llama-worker-0-0-n2x1d         1/1     Running     0          19m",
        '$ kubectl get pod pw-llama-pathways-head-0-0-7kq2 -o jsonpath=\'{range .status.containerStatuses[*]}{.name}{" "}{.state.terminated.reason}{" "}{.state.terminated.exitCode}{"\\n"}{end}\'\njax-tpu Error 1\npathways-proxy OOMKilled 137\npathways-rm  ',
    )
    return log(
        tape,
        "proxy_of_pathways",
        "oom_killer",
        1,
        _BASIS,
        command="xpk workload create-pathways --command='python -m MaxText.train'",
        why="the proxy's container was killed for memory; the client's UNAVAILABLE follows",
        jax="0.6.2",
    )


def _emergency_and_done() -> ComposedLog:
    tape = Tape(9961, "2025-10-29 23:00:00")
    _maxtext(tape, 0, 40, devices="Num_devices: 32, shape (4, 8)")
    tape.say(
        "W1029 23:03:10.110 checkpoint_manager.py:2011] [process=0] Failed to delete step 100 (attempt 1): [Errno 16] Device or resource busy, will retry",
        "E1029 23:03:11.200 metrics_uploader.py:77] Failed to upload goodput: 503 The service is currently unavailable; retrying",
        "2025-10-29 23:03:12.001: W external/xla/xla/hlo/transforms/simplifiers/hlo_rematerialization.cc:3023] Can't reduce memory use below 61.02GiB (65520091136 bytes) by rematerialization; only reduced to 64.11GiB (68837000112 bytes), down from 81.90GiB (87939443200 bytes) originally",
        "2025-10-29 23:03:13.441: W external/xla/xla/tsl/framework/bfc_allocator.cc:310] Allocator (GPU_0_bfc) ran out of memory trying to allocate 9.00GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
    )
    _progress(tape, 41, 110)
    tape.say(
        "I1029 23:11:41.020 checkpoint_manager.py:1799] [process=0][thread=MainThread] Finished synchronous save in 31.20 seconds @ gs://runs/m8b/110",
        "E1029 23:11:44.100 coordination_service_agent.cc:441] Failed to disconnect from coordination service with status: UNAVAILABLE: the leader has shut down already",
    )
    return log(
        tape,
        "emergency_and_done",
        "none",
        0,
        _BASIS,
        command="srun python -m MaxText.train steps=111",
        jax="0.6.2",
    )
