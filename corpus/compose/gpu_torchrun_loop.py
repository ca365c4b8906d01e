"""A plain PyTorch loop under torchrun on nodes of eight H100, torch 2.1 to 2.6."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import Card, nccl_start, omp, smi, steps
from corpus.compose._gpu_tape import Tape, chained, marked, mixed, rank, traceback
from corpus.compose._gpu_torch import (
    Exit,
    cuda_error,
    oom,
    summary,
    watchdog,
    watchdog_cuda,
)
from corpus.compose.composed_log import ComposedLog

_BASIS = (
    "PyTorch sources (ProcessGroupNCCL.cpp, CUDACachingAllocator.cpp, torch/distributed/elastic)"
)
_STEP = "{milli} | INFO | train | step {step} | loss {loss:.4f} | grad_norm {norm:.3f} | lr {lr:.3e} | {time:.3f} s/step"
_HOST = "gpu-h100-07"
_COMMAND = "torchrun --standalone --nproc_per_node=8 train.py --config configs/base.yaml"


def logs() -> Iterator[ComposedLog]:
    """Two memory failures, a lost rank, faults of data and card, a recovered restart."""
    yield _oom_long_batch()
    yield _oom_gathering_logits()
    yield _label_out_of_range()
    yield _one_rank_never_came()
    yield _data_error_of_one_rank()
    yield _port_taken()
    yield _ecc_in_backward()
    yield _fingerprints_differ()
    yield _restarted_and_finished()
    yield _workers_bus_error()
    yield _half_against_float()


def _start(tape: Tape, version: str, world: int = 8) -> None:
    tape.say(omp(tape, version)).wait(6)
    tape.say(
        f"{tape.milli()} | INFO | train | torch {version}.1+cu121, {world} x NVIDIA H100 80GB HBM3",
        f"{tape.milli()} | INFO | train | config: {{'seed': 17, 'detect_anomaly': False, 'nan_guard': True, 'oom_retry': 0, 'timeout_min': 10, 'amp': 'bf16', 'on_error': 'raise'}}",
        f"{tape.milli()} | INFO | data  | 184 shards, 2,117,340 samples, dropped 0 corrupt",
        f"{tape.milli()} | INFO | model | 1,313,722,368 parameters, activation checkpointing every 2 blocks",
    )
    tape.wait(11)


def _oom_long_batch() -> ComposedLog:
    tape = Tape(101, "2024-11-05 21:40:11")
    _start(tape, "2.4")
    tape.say(steps(tape, _STEP, range(20, 420, 20), seconds=12))
    error = traceback(
        """
        train.py:263 <module> | main()
        train.py:241 main | trainer.fit(loader)
        train.py:158 fit | loss = self.model(batch["tokens"], labels=batch["labels"])
        CALL 2.4
        @torch/nn/parallel/distributed.py:1636 forward | else self._run_ddp_forward(*inputs, **kwargs)
        @torch/nn/parallel/distributed.py:1454 _run_ddp_forward | return self.module(*inputs, **kwargs)  # type: ignore[index]
        CALL 2.4
        model/decoder.py:212 forward | logits = self.head(self.norm(hidden)).float()
        """,
        oom("2.4", "11.78 GiB", gpu=5, free="9.42 GiB", used="69.67 GiB", allocated="66.02 GiB"),
    )
    tape.wait(13).say(rank(5, error)).wait(1.4)
    pids = list(range(41170, 41178))
    tape.say(
        summary(
            tape,
            "2.4",
            "train.py",
            [Exit(5, 1, pids[5])],
            host=_HOST,
            killed=[one for one in pids if one != pids[5]],
        )
    )
    return ComposedLog(
        "oom_long_batch",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.4.1"},
        paper_class="cuda_oom",
    )


def _oom_gathering_logits() -> ComposedLog:
    tape = Tape(102, "2024-03-02 02:11:50")
    _start(tape, "2.2")
    tape.say(steps(tape, _STEP, range(250, 2250, 250), seconds=170))
    tape.say(f"{tape.milli()} | INFO | eval  | epoch 3: evaluating on 51,200 samples")
    tape.wait(44).say(
        traceback(
            """
            train.py:263 <module> | main()
            train.py:250 main | metrics = evaluate(model, heldout)
            evaluate.py:61 evaluate | everything = torch.cat(collected, dim=0)
            """,
            oom("2.2", "29.30 GiB", free="3.11 GiB", used="75.99 GiB", allocated="73.85 GiB"),
        )
    )
    tape.wait(600)
    dogs = [
        watchdog(
            tape,
            "2.2",
            at,
            seq=18204,
            op="ALLGATHER",
            numel=(4096000, 32768000),
            stack=at in (3, 6),
        )
        for at in range(1, 8)
    ]
    tape.say(mixed(tape, *dogs)).wait(3)
    exits = [Exit(3, -6, 88123)] + [Exit(one, -6, 88120 + one) for one in (1, 2, 4, 5, 6, 7)]
    tape.say(summary(tape, "2.2", "train.py", [*exits, Exit(0, 1, 88120)], host=_HOST))
    return ComposedLog(
        "oom_gathering_logits",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.2.1"},
        paper_class="cuda_oom",
        why="rank 0 ran out of memory in eval; the seven time-outs ten minutes later are its echo",
    )


def _label_out_of_range() -> ComposedLog:
    tape = Tape(103, "2024-01-19 13:02:41")
    _start(tape, "2.1", 4)
    tape.say(steps(tape, _STEP, range(10, 90, 10), seconds=8))
    block = "\n".join(
        f"../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [{at},0,0] Assertion `t >= 0 && t < n_classes` failed."
        for at in (3, 7, 11, 12, 20, 21, 28)
    )
    tape.wait(7).say(block)
    tape.say(
        traceback(
            """
            train.py:263 <module> | main()
            train.py:241 main | trainer.fit(loader)
            train.py:166 fit | self.meter.update(loss.item())
            """,
            cuda_error("2.1", "device-side assert triggered"),
        ),
        "",
    )
    tape.say(watchdog_cuda(tape, "2.1", 2, "device-side assert triggered")).wait(2)
    tape.say(
        summary(
            tape,
            "2.1",
            "train.py",
            [Exit(2, -6, 5512)],
            host=_HOST,
            killed=[5510, 5511, 5513],
        )
    )
    return ComposedLog(
        "label_out_of_range",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND.replace("8", "4"),
        versions={"torch": "2.1.2"},
        paper_class="cuda_runtime",
    )


def _one_rank_never_came() -> ComposedLog:
    tape = Tape(104, "2025-01-30 17:20:36")
    _start(tape, "2.5")
    tape.say(steps(tape, _STEP, range(50, 750, 50), seconds=31))
    tape.wait(603)
    dogs = [
        watchdog(tape, "2.5", at, seq=2967, numel=(26214912, 26214912), ahead=3)
        for at in (0, 1, 2, 3, 4, 5, 7)
    ]
    tape.say(mixed(tape, *dogs[:4]), mixed(tape, *dogs[4:])).wait(2)
    exits = [Exit(4, -6, 20914)] + [Exit(one, -6, 20910 + one) for one in (0, 1, 2, 3, 5, 7)]
    tape.say(
        summary(tape, "2.5", "train.py", [*exits, Exit(6, -15, 20916)], host=_HOST, killed=[20916])
    )
    return ComposedLog(
        "one_rank_never_came",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.5.1"},
        paper_class="nccl",
        why="rank 6 never entered the collective and said nothing: no other root is visible",
    )


def _data_error_of_one_rank() -> ComposedLog:
    tape = Tape(105, "2024-12-12 04:44:09")
    _start(tape, "2.5")
    tape.say(steps(tape, _STEP, range(100, 1300, 100), seconds=62))
    inner = traceback(
        """
        @torch/utils/data/_utils/worker.py:351 _worker_loop | data = fetcher.fetch(index)  # type: ignore[possibly-undefined]
        @torch/utils/data/_utils/fetch.py:33 fetch | data.append(next(self.dataset_iter))
        data/shards.py:88 __iter__ | record = json.loads(line)
        /opt/conda/lib/python3.10/json/__init__.py:346 loads | return _default_decoder.decode(s)
        /opt/conda/lib/python3.10/json/decoder.py:337 decode | obj, end = self.raw_decode(s, idx=_w(s, 0).end())
        /opt/conda/lib/python3.10/json/decoder.py:353 raw_decode | obj, end = self.scan_once(s, idx)
        """,
        "json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 10 (char 9)",
    )
    outer = traceback(
        """
        train.py:263 <module> | main()
        train.py:241 main | trainer.fit(loader)
        train.py:151 fit | for batch in loader:
        @torch/utils/data/dataloader.py:701 __next__ | data = self._next_data()
        @torch/utils/data/dataloader.py:1465 _next_data | return self._process_data(data)
        @torch/utils/data/dataloader.py:1491 _process_data | data.reraise()
        @torch/_utils.py:715 reraise | raise exception
        """,
        "json.decoder.JSONDecodeError: Caught JSONDecodeError in DataLoader worker process 3.\nOriginal "
        + inner
        + "\n",
    )
    tape.wait(12).say(rank(2, outer))
    tape.wait(598)
    for at in (0, 3, 6, 7):
        tape.say(
            watchdog(tape, "2.5", at, seq=5213, numel=(26214912, 26214912), stack=at == 3, ahead=1)
        )
    exits = [Exit(0, -6, 3311), Exit(2, 1, 3313), Exit(3, -6, 3314), Exit(6, -6, 3317)]
    tape.wait(1).say(summary(tape, "2.5", "train.py", exits, host=_HOST, killed=[3312, 3315]))
    return ComposedLog(
        "data_error_of_one_rank",
        "data",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.5.0"},
        paper_class="traceback",
        why="a record of one shard does not parse; the summary's first failure is a victim",
    )


def _port_taken() -> ComposedLog:
    tape = Tape(106, "2024-06-04 09:30:00")
    tape.say(
        "+ export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500",
        "+ nvidia-smi",
        smi(
            tape,
            [
                Card(bus=f"00000000:{bus}:00.0", used=61240, temperature=58, watts=512, busy=98)
                for bus in ("1B", "43")
            ]
            + [Card(bus=f"00000000:{bus}:00.0") for bus in ("52", "61")],
            owners=[
                "  0   N/A  N/A      7710      C   /opt/conda/bin/python                       61230MiB"
            ],
        ),
        "+ CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 --master_port 29500 train.py",
    )
    tape.wait(3).say(omp(tape, "2.3"))
    tape.say(
        "[W socket.cpp:464] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 98 - Address already in use).\n"
        "[W socket.cpp:464] [c10d] The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).\n"
        "[E socket.cpp:500] [c10d] The server socket has failed to listen on any local network address.",
        traceback(
            """
            /opt/conda/bin/torchrun:8 <module> | sys.exit(main())
            @torch/distributed/elastic/multiprocessing/errors/__init__.py:347 wrapper | return f(*args, **kwargs)
            @torch/distributed/run.py:879 main | run(args)
            @torch/distributed/run.py:870 run | elastic_launch(
            @torch/distributed/launcher/api.py:132 __call__ | return launch_agent(self._config, self._entrypoint, list(args))
            @torch/distributed/launcher/api.py:255 launch_agent | result = agent.run()
            @torch/distributed/elastic/agent/server/api.py:680 run | result = self._invoke_run(role)
            @torch/distributed/elastic/agent/server/api.py:829 _invoke_run | self._initialize_workers(self._worker_group)
            @torch/distributed/elastic/agent/server/api.py:652 _initialize_workers | self._rendezvous(worker_group)
            @torch/distributed/elastic/agent/server/api.py:489 _rendezvous | rdzv_info = spec.rdzv_handler.next_rendezvous()
            @torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py:66 next_rendezvous | self._store = TCPStore(  # type: ignore[call-arg]
            """,
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use). The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).",
        ),
    )
    return ComposedLog(
        "port_taken",
        "rendezvous",
        1,
        tape.text(),
        _BASIS + "; TCPStore.cpp, socket.cpp",
        command="torchrun --nproc_per_node=2 --master_port 29500 train.py",
        versions={"torch": "2.3.0"},
        paper_class="traceback",
    )


def _ecc_in_backward() -> ComposedLog:
    tape = Tape(107, "2024-05-20 11:05:17")
    _start(tape, "2.3")
    tape.say(steps(tape, _STEP, range(1000, 1900, 100), seconds=55))
    error = traceback(
        """
        train.py:263 <module> | main()
        train.py:241 main | trainer.fit(loader)
        train.py:161 fit | loss.backward()
        @torch/_tensor.py:525 backward | torch.autograd.backward(
        @torch/autograd/__init__.py:267 backward | _engine_run_backward(
        @torch/autograd/graph.py:744 _engine_run_backward | return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
        """,
        cuda_error("2.3", "uncorrectable ECC error encountered"),
    )
    tape.wait(30).say(rank(3, error))
    tape.say(watchdog_cuda(tape, "2.3", 3, "uncorrectable ECC error encountered")).wait(2)
    tape.say(
        summary(
            tape,
            "2.3",
            "train.py",
            [Exit(3, -6, 64403)],
            host=_HOST,
            killed=[64400, 64401, 64402, 64404, 64405, 64406, 64407],
        )
    )
    return ComposedLog(
        "ecc_in_backward",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.3.0"},
        paper_class="runtime_error",
    )


def _fingerprints_differ() -> ComposedLog:
    tape = Tape(108, "2023-12-06 15:51:02")
    _start(tape, "2.1", 2)
    tape.say(f"{tape.milli()} | INFO | train | TORCH_DISTRIBUTED_DEBUG=DETAIL")
    tape.say(steps(tape, _STEP, range(1, 5), seconds=2))
    said = (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank {0} is running collective: CollectiveFingerPrint(SequenceNumber=41, OpType={1}, TensorShape=[{2}], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))), "
        "but Rank {3} is running collective: CollectiveFingerPrint(SequenceNumber=41, OpType={4}, TensorShape=[{5}], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))).Collectives differ in the following aspects: \t Op type: {1}vs {4}\t Tensor Tensor shapes: {2}vs {5}"
    )
    for own, other in ((0, 1), (1, 0)):
        ops = [("ALLREDUCE", "1"), ("BROADCAST", "26214400")]
        where = "169 fit | dist.all_reduce(loss_sum)" if own == 0 else "172 fit | self.ema.sync()"
        tape.say(
            traceback(
                f"""
                train.py:263 <module> | main()
                train.py:241 main | trainer.fit(loader)
                train.py:{where}
                @torch/distributed/c10d_logger.py:47 wrapper | return func(*args, **kwargs)
                """,
                said.format(own, *ops[own], other, *ops[other]),
            )
        )
    tape.wait(2).say(
        summary(tape, "2.1", "train.py", [Exit(0, 1, 911), Exit(1, 1, 912)], host=_HOST)
    )
    return ComposedLog(
        "fingerprints_differ",
        "collective",
        1,
        tape.text(),
        _BASIS + "; ProcessGroupWrapper.cpp",
        command="TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc_per_node=2 train.py",
        versions={"torch": "2.1.1"},
        paper_class="nccl",
        why="the ranks run different collectives: a mismatch within a formed group",
    )


def _restarted_and_finished() -> ComposedLog:
    tape = Tape(109, "2025-02-14 19:00:25")
    _start(tape, "2.6")
    tape.say(
        nccl_start(tape, _HOST, range(7100, 7102), version="2.21.5+cuda12.4", world=8),
        steps(tape, _STEP, range(200, 1400, 200), seconds=140),
    )
    tape.wait(601)
    for at in (1, 5):
        tape.say(
            watchdog(tape, "2.6", at, seq=8014, op="_ALLGATHER_BASE", numel=(1311744, 10493952))
        )
    tape.say(
        f"E{tape.when('%m%d %H:%M:%S')}.118000 7090 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 1 (pid: 7101) of binary: /opt/conda/bin/python",
        f"I{tape.when('%m%d %H:%M:%S')}.131000 7090 torch/distributed/elastic/agent/server/api.py:879] [default] Worker group FAILED. 2/3 attempts left; will restart worker group",
        f"I{tape.when('%m%d %H:%M:%S')}.132000 7090 torch/distributed/elastic/agent/server/api.py:699] [default] Rendezvous'ing worker group",
    )
    tape.wait(24).say(
        f"{tape.milli()} | INFO | train | found checkpoints/step_001200.pt, resuming at step 1200"
    )
    tape.say(steps(tape, _STEP, range(1400, 4000, 200), loss=2.1, floor=1.5, seconds=140))
    tape.say(
        f"{tape.milli()} | INFO | train | reached max_steps=3800, saving final model",
        f"{tape.milli()} | INFO | train | done: best heldout loss 1.6203 at step 3600",
        f"[rank0]:[W{tape.at.month}{tape.when('%d %H:%M:%S')}.554120391 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    )
    return ComposedLog(
        "restarted_and_finished",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="torchrun --nnodes=1 --nproc_per_node=8 --max-restarts=3 train.py",
        versions={"torch": "2.6.0"},
        paper_class=None,
        why="the elastic agent restarted the group after a time-out and training ran to its end",
    )


def _workers_bus_error() -> ComposedLog:
    tape = Tape(110, "2024-08-27 06:12:33")
    _start(tape, "2.4", 4)
    tape.say(
        "[rank1]: UserWarning: This DataLoader will create 16 worker processes in total. Our suggested max number of worker in current system is 12",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    )
    first = traceback(
        """
        @torch/utils/data/dataloader.py:1133 _try_get_data | data = self._data_queue.get(timeout=timeout)
        /opt/conda/lib/python3.10/multiprocessing/queues.py:113 get | if not self._poll(timeout):
        /opt/conda/lib/python3.10/multiprocessing/connection.py:257 poll | return self._poll(timeout)
        /opt/conda/lib/python3.10/multiprocessing/connection.py:424 _poll | r = wait([self], timeout)
        /opt/conda/lib/python3.10/multiprocessing/connection.py:931 wait | ready = selector.select(timeout)
        /opt/conda/lib/python3.10/selectors.py:416 select | fd_event_list = self._selector.poll(timeout)
        @torch/utils/data/_utils/signal_handling.py:67 handler | _error_if_any_worker_fails()
        """,
        "RuntimeError: DataLoader worker (pid 2291) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
    )
    then = traceback(
        """
        train.py:263 <module> | main()
        train.py:241 main | trainer.fit(loader)
        train.py:151 fit | for batch in loader:
        @torch/utils/data/dataloader.py:630 __next__ | data = self._next_data()
        @torch/utils/data/dataloader.py:1329 _next_data | idx, data = self._get_data()
        @torch/utils/data/dataloader.py:1295 _get_data | success, data = self._try_get_data()
        @torch/utils/data/dataloader.py:1146 _try_get_data | raise RuntimeError(f'DataLoader worker (pid(s) {pids_str}) exited unexpectedly') from e
        """,
        "RuntimeError: DataLoader worker (pid(s) 2291) exited unexpectedly",
    )
    tape.say(rank(1, chained(first, then, direct=True)))
    tape.wait(1).say(
        marked(
            "",
            summary(
                tape, "2.4", "train.py", [Exit(1, 1, 2204)], host=_HOST, killed=[2203, 2205, 2206]
            ),
        ),
        "+ df -h /dev/shm",
        "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   64M     0 100% /dev/shm",
    )
    return ComposedLog(
        "workers_bus_error",
        "shared_memory",
        1,
        tape.text(),
        _BASIS + "; torch/utils/data",
        command="torchrun --standalone --nproc_per_node=4 train.py --workers 4",
        versions={"torch": "2.4.0"},
        paper_class="runtime_error",
    )


def _half_against_float() -> ComposedLog:
    tape = Tape(111, "2024-02-08 10:10:44")
    _start(tape, "2.1")
    body = """
        train.py:263 <module> | main()
        train.py:241 main | trainer.fit(loader)
        train.py:158 fit | loss = self.model(batch["tokens"], labels=batch["labels"])
        CALL 2.1
        @torch/nn/parallel/distributed.py:1519 forward | else self._run_ddp_forward(*inputs, **kwargs)
        @torch/nn/parallel/distributed.py:1355 _run_ddp_forward | return self.module(*inputs, **kwargs)  # type: ignore[index]
        CALL 2.1
        model/decoder.py:204 forward | hidden = block(hidden, rotary)
        CALL 2.1
        model/decoder.py:131 forward | gate = self.router(hidden)
        CALL 2.1
        @torch/nn/modules/linear.py:114 forward | return F.linear(input, self.weight, self.bias)
        """
    error = "RuntimeError: mat1 and mat2 must have the same dtype, but got BFloat16 and Float"
    told = [traceback(body, error) for _ in range(3)]
    tape.say(mixed(tape, *told)).wait(4)
    exits = [Exit(0, 1, 700), Exit(1, 1, 701), Exit(2, 1, 702)]
    tape.say(summary(tape, "2.1", "train.py", exits, host=_HOST, killed=[703, 704, 705, 706, 707]))
    return ComposedLog(
        "half_against_float",
        "dtype_mismatch",
        1,
        tape.text(),
        _BASIS,
        command=_COMMAND,
        versions={"torch": "2.1.2"},
        paper_class="runtime_error",
    )
