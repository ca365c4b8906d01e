"""IBM Spectrum LSF: the job's output after the report that bsub puts before it."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log, lsf_trailer, trainer_steps
from corpus.compose._gpu_tape import Tape, chained, traceback
from corpus.compose._gpu_torch import oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "LSF 10.1 job reports, termination reasons of bhist and bacct; Transformers, datasets, requests and WebDataset sources"
_SITE = "/gpfs/sw/conda/envs/llm/lib/python3.10/site-packages"
_ROOT = "/gpfs/proj/mlops/vit"


def logs() -> Iterator[ComposedLog]:
    """Jobs without a way out to the internet, on shared A100 hosts."""
    yield _run_limit()
    yield _memory_limit()
    yield _killed_by_its_owner()
    yield _preempted_for_another_queue()
    yield _card_too_small()
    yield _signal_from_outside()
    yield _thread_limit()
    yield _working_directory_gone()
    yield _no_way_to_the_hub()
    yield _not_in_the_offline_cache()
    yield _broken_shard()
    yield _count_of_no_variable()
    yield _done_with_warnings()


def _report(
    tape: Tape,
    job: int,
    name: str,
    command: str,
    host: str,
    reason: str,
    *,
    memory_mb: int = 20418,
    run_s: int = 3600,
    above: bool = True,
) -> str:
    return lsf_trailer(
        tape,
        job=job,
        name=name,
        command=command,
        host=host,
        reason=reason,
        cpu_s=tape.near(run_s * 3.1, 0.1),
        memory_mb=memory_mb,
        run_s=run_s,
        above=above,
    )


def _yolo(tape: Tape, first: int, last: int, of: int) -> None:
    tape.say("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size")
    for epoch in range(first, last + 1):
        tape.wait(190).say(
            f"{f'{epoch}/{of}':>11}      21.3G {tape.near(1.3, 0.05):10.4f} {tape.near(1.1, 0.05):10.4f} {tape.near(1.2, 0.03):10.4f} {tape.rng.randrange(40, 300):10d}        640: 100%|██████████| 1849/1849 [03:02<00:00, 10.13it/s]",
            "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 79/79 [00:08<00:00,  9.31it/s]",
            f"                   all       5000      36335 {tape.near(0.6, 0.05):10.3f} {tape.near(0.5, 0.05):10.3f} {tape.near(0.53, 0.05):10.3f} {tape.near(0.37, 0.05):10.3f}",
        )


def _run_limit() -> ComposedLog:
    tape = Tape(4501, "2024-03-19 12:00:12")
    _yolo(tape, 1, 18, 300)
    tape.say("User defined signal 2")
    tape.say(
        _report(
            tape,
            310422,
            "yolo-coco",
            "#BSUB -W 1:00\nyolo detect train data=coco.yaml epochs=300",
            "p9a-012",
            "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.",
        )
    )
    return log(tape, "run_limit", "time_limit", 140, _BASIS, command="bsub < yolo.bsub", lsf="10.1")


def _memory_limit() -> ComposedLog:
    tape = Tape(4502, "2023-07-08 02:19:50")
    tape.say(
        _report(
            tape,
            288113,
            "tok-index",
            "#BSUB -M 64G\n#BSUB -R rusage[mem=64G]\npython build_and_train.py --index in_memory",
            "p9a-020",
            "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.",
            memory_mb=65536,
            run_s=1412,
            above=False,
        ),
        "[rank 0] building token index over 2,048 files ...",
        *(
            f"[rank 0] {done:4d}/2048 files, index {done * 0.031:.1f} GB resident"
            for done in range(128, 2049, 128)
        ),
        "[rank 0] sorting index",
    )
    return log(tape, "memory_limit", "oom_killer", 137, _BASIS, command="bsub < index.bsub")


def _killed_by_its_owner() -> ComposedLog:
    tape = Tape(4503, "2024-05-21 17:31:22")
    _yolo(tape, 1, 3, 300)
    tape.say(
        "Traceback (most recent call last):",
        '  File "/gpfs/sw/conda/envs/llm/bin/yolo", line 8, in <module>',
        "    sys.exit(entrypoint())",
        f'  File "{_SITE}/ultralytics/engine/trainer.py", line 381, in _do_train',
        "    self.scaler.scale(self.loss).backward()",
        "KeyboardInterrupt",
        _report(
            tape,
            330121,
            "yolo-coco",
            "yolo detect train data=coco.yaml epochs=300 lr0=0.5",
            "p9a-004",
            "TERM_OWNER: job killed by owner.\nExited with exit code 130.",
            run_s=601,
        ),
    )
    return log(
        tape,
        "killed_by_its_owner",
        "cancelled",
        130,
        _BASIS,
        command="bsub < yolo.bsub",
        paper_class="traceback",
    )


def _preempted_for_another_queue() -> ComposedLog:
    tape = Tape(4504, "2023-10-10 10:10:44")
    tape.say(
        trainer_steps(tape, range(50, 700, 50), 9375, loss=2.6, seconds=1.1),
        _report(
            tape,
            301998,
            "bert-mlm",
            "#BSUB -q preemptable\npython run_mlm.py conf/mlm.json",
            "p9a-015",
            "TERM_PREEMPT: job killed after preemption.\nExited with exit code 143.",
            run_s=821,
        ),
    )
    return log(
        tape,
        "preempted_for_another_queue",
        "preempted",
        143,
        _BASIS,
        command="bsub < mlm.bsub",
        transformers="4.33.2",
    )


def _card_too_small() -> ComposedLog:
    tape = Tape(4505, "2023-06-15 21:00:08")
    tape.say(
        "The following values were not passed to `accelerate launch` and had defaults used instead:",
        "\t`--num_processes` was set to a value of `1`",
        "\t`--num_machines` was set to a value of `1`",
        "\t`--mixed_precision` was set to a value of `'no'`",
        "06/15/2023 21:00:31 - INFO - __main__ - ***** Running training *****",
        "06/15/2023 21:00:31 - INFO - __main__ -   Instantaneous batch size per device = 8",
        "06/15/2023 21:00:31 - INFO - __main__ -   Total optimization steps = 15000",
        "\r  0%|          | 0/15000 [00:00<?, ?it/s]",
        traceback(
            """
            train_text_to_image.py:1031 <module> | main()
            train_text_to_image.py:862 main | model_pred = unet(noisy_latents, timesteps, encoder_hidden_states).sample
            @diffusers/models/unet_2d_condition.py:905 forward | sample = upsample_block(
            @diffusers/models/attention_processor.py:484 __call__ | attention_probs = attn.get_attention_scores(query, key, attention_mask)
            """,
            oom(
                "2.0",
                "4.00 GiB",
                total="39.39 GiB",
                free="1.21 GiB",
                used="38.18 GiB",
                allocated="35.02 GiB",
                idle="36.81 GiB",
            ),
            root=_ROOT,
            site=_SITE,
        ),
        "\r  0%|          | 0/15000 [00:04<?, ?it/s]",
        _report(
            tape,
            280022,
            "sd-ft",
            "accelerate launch train_text_to_image.py --train_batch_size 8",
            "p9a-007",
            "Exited with exit code 1.",
            run_s=51,
        ),
    )
    return log(
        tape,
        "card_too_small",
        "cuda_oom",
        1,
        _BASIS,
        command="bsub < sd.bsub",
        torch="2.0.1",
        diffusers="0.17",
    )


def _signal_from_outside() -> ComposedLog:
    tape = Tape(4506, "2024-01-27 04:45:01")
    _yolo(tape, 1, 6, 100)
    tape.say(
        "/home/mlops/.lsbatch/1706330701.318870: line 8: 117204 Killed                  yolo detect train data=coco.yaml epochs=100",
        _report(
            tape,
            318870,
            "yolo-x",
            "yolo detect train data=coco.yaml epochs=100",
            "p9a-031",
            "Exited with exit code 137.",
            memory_mb=18402,
            run_s=1180,
        ),
    )
    return log(
        tape,
        "signal_from_outside",
        "killed_unknown",
        137,
        _BASIS,
        command="bsub < yolo.bsub",
        paper_class=None,
        why="18 GB of 64 GB used, no reason of LSF: nobody says who sent the signal",
    )


def _thread_limit() -> ComposedLog:
    tape = Tape(4507, "2022-12-01 09:33:17")
    tape.say(
        "OpenBLAS blas_thread_init: pthread_create failed for thread 61 of 64: Resource temporarily unavailable",
        "OpenBLAS blas_thread_init: RLIMIT_NPROC 512 current, 512 max",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 62 of 64: Resource temporarily unavailable",
        "OpenBLAS blas_thread_init: RLIMIT_NPROC 512 current, 512 max",
        traceback(
            """
            train_ctr.py:66 <module> | loader_iter = iter(loader)
            @torch/utils/data/dataloader.py:444 __iter__ | return self._get_iterator()
            @torch/utils/data/dataloader.py:1077 __init__ | self._pin_memory_thread.start()
            /gpfs/sw/conda/envs/llm/lib/python3.10/threading.py:935 start | _start_new_thread(self._bootstrap, ())
            """,
            "RuntimeError: can't start new thread",
            root=_ROOT,
            site=_SITE,
        ),
        _report(
            tape,
            240031,
            "ctr",
            "python train_ctr.py --workers 32",
            "p9a-002",
            "TERM_THREADLIMIT: job killed after reaching LSF thread limit.\nExited with exit code 1.",
            run_s=14,
        ),
    )
    return log(
        tape,
        "thread_limit",
        "too_many_files",
        1,
        _BASIS + "; OpenBLAS",
        command="bsub -T 512 < ctr.bsub",
        paper_class="runtime_error",
        why="a limit on threads",
    )


def _working_directory_gone() -> ComposedLog:
    tape = Tape(4508, "2024-08-08 08:08:08")
    tape.say(
        _report(
            tape,
            345500,
            "vit-l",
            "python train.py --config conf/vit_l.yaml",
            "p9a-019",
            "TERM_CWD_NOTEXIST: current working directory is not accessible or does not exist on the execution host.\nExited with exit code 2.",
            memory_mb=0,
            run_s=1,
            above=False,
        ),
        "PS:",
        "",
        "Read file <logs/vit-l.345500.err> for stderr output of this job.",
        "",
        "shell-init: error retrieving current directory: getcwd: cannot access parent directories: No such file or directory",
    )
    return log(
        tape,
        "working_directory_gone",
        "file_not_found",
        2,
        _BASIS,
        command="bsub -cwd /gpfs/proj/mlops/vit < vit.bsub",
    )


def _no_way_to_the_hub() -> ComposedLog:
    tape = Tape(4509, "2024-02-14 14:14:14")
    tape.say(
        *(
            f"'(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /datasets/allenai/c4/resolve/main/en/c4-train.{n:05d}-of-01024.json.gz (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel connection failed: 503 Service Unavailable')))\"), '(Request ID: 6f1c2a7e-{n:04d})')' thrown while requesting GET https://huggingface.co/datasets/allenai/c4/resolve/main/en/c4-train.{n:05d}-of-01024.json.gz\nRetrying in {min(8, 2**n)}s [Retry {n}/5]."
            for n in range(1, 6)
        ),
        chained(
            traceback(
                """
                @urllib3/connectionpool.py:776 _prepare_proxy | conn.connect()
                @urllib3/connection.py:625 _connect_tls_proxy | self._tunnel()
                """,
                "OSError: Tunnel connection failed: 503 Service Unavailable",
                site=_SITE,
            ),
            traceback(
                """
                pretrain.py:88 <module> | for batch in stream:
                @datasets/iterable_dataset.py:1379 __iter__ | for key, example in ex_iterable:
                @datasets/utils/file_utils.py:1131 read_with_retries | raise ConnectionError("Server Disconnected") from disconnect_err
                """,
                "requests.exceptions.ProxyError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /datasets/allenai/c4/resolve/main/en/c4-train.00005-of-01024.json.gz (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel connection failed: 503 Service Unavailable')))\"), '(Request ID: 6f1c2a7e-0006)')",
                root=_ROOT,
                site=_SITE,
            ),
        ),
        _report(
            tape,
            320540,
            "c4-stream",
            "export https_proxy=http://proxy:3128\npython pretrain.py --streaming",
            "p9a-009",
            "Exited with exit code 1.",
            run_s=95,
        ),
    )
    return log(
        tape,
        "no_way_to_the_hub",
        "network",
        1,
        _BASIS,
        command="bsub < c4.bsub",
        paper_class="traceback",
        datasets="2.16.1",
    )


def _not_in_the_offline_cache() -> ComposedLog:
    tape = Tape(4510, "2024-04-25 16:40:59")
    tape.say(
        "HF_HUB_OFFLINE=1 HF_HOME=/gpfs/proj/mlops/hf",
        chained(
            traceback(
                """
                @huggingface_hub/file_download.py:1261 hf_hub_download | raise LocalEntryNotFoundError(
                """,
                "huggingface_hub.utils._errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled. To enable hf.co look-ups and downloads online, set 'local_files_only' to False.",
                site=_SITE,
            ),
            traceback(
                """
                sft.py:41 <module> | tokenizer = AutoTokenizer.from_pretrained(args.model)
                @transformers/models/auto/tokenization_auto.py:833 from_pretrained | config = AutoConfig.from_pretrained(
                @transformers/utils/hub.py:441 cached_file | raise EnvironmentError(
                """,
                "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files and it looks like mistralai/Mistral-7B-v0.3 is not the path to a directory containing a file named config.json.\nCheckout your internet connection or see how to run the library in offline mode at 'https://huggingface.co/docs/transformers/installation#offline-mode'.",
                root=_ROOT,
                site=_SITE,
            ),
            direct=True,
        ),
        _report(
            tape,
            325580,
            "sft",
            "python sft.py --model mistralai/Mistral-7B-v0.3",
            "p9a-011",
            "Exited with exit code 1.",
            run_s=22,
        ),
    )
    return log(
        tape,
        "not_in_the_offline_cache",
        "asset",
        1,
        _BASIS,
        command="bsub < sft.bsub",
        paper_class="traceback",
        transformers="4.40.1",
    )


def _broken_shard() -> ComposedLog:
    tape = Tape(4511, "2023-09-01 03:02:01")
    for step in range(100, 1500, 100):
        tape.wait(18).say(
            f"{tape.when('%Y-%m-%d,%H:%M:%S')} | INFO | Train Epoch: 0 [{step * 4096:>8}/12800000 ({step * 4096 / 128000:.0f}%)] Data (t): {tape.near(0.02, 0.3):.3f} Batch (t): {tape.near(0.18, 0.05):.3f}, 22511.2/s LR: {step * 5e-7:.6f} Logit Scale: 14.{step % 97:02d} Contrastive_loss: {tape.near(7.1, 0.03):.4g} ({tape.near(7.6, 0.01):.4g}) Loss: {tape.near(7.1, 0.03):.4g}"
        )
    tape.say(
        traceback(
            """
            /gpfs/proj/mlops/open_clip/src/training/main.py:508 <module> | main(sys.argv[1:])
            /gpfs/proj/mlops/open_clip/src/training/train.py:84 train_one_epoch | for i, batch in enumerate(dataloader):
            @torch/_utils.py:644 reraise | raise exception
            """,
            f"""
tarfile.ReadError: Caught ReadError in DataLoader worker process 2.
Original Traceback (most recent call last):
  File "{_SITE}/webdataset/tariterators.py", line 140, in tar_file_iterator
    for tarinfo in stream:
  File "{_SITE}/webdataset/tariterators.py", line 178, in tar_file_expander
    for sample in tar_file_iterator(source["stream"]):
  File "/gpfs/sw/conda/envs/llm/lib/python3.10/tarfile.py", line 2367, in next
    raise ReadError(str(e)) from None
tarfile.ReadError: ('unexpected end of data @ <_io.BufferedReader name=\\'/gpfs/proj/mlops/cc12m/00417.tar\\'>', <webdataset.gopen.Pipe object>, '/gpfs/proj/mlops/cc12m/00417.tar')
            """,
            root=_ROOT,
            site=_SITE,
        ),
        _report(
            tape,
            297000,
            "openclip",
            "torchrun --nproc_per_node 4 -m training.main --train-data '/gpfs/proj/mlops/cc12m/{00000..01099}.tar'",
            "p9a-016",
            "Exited with exit code 1.",
            run_s=310,
        ),
    )
    return log(
        tape,
        "broken_shard",
        "data",
        1,
        _BASIS,
        command="bsub < clip.bsub",
        paper_class="traceback",
        webdataset="0.2.57",
    )


def _count_of_no_variable() -> ComposedLog:
    tape = Tape(4512, "2023-05-05 15:15:00")
    tape.say(
        "LSB_HOSTS=p9a-001 p9a-001 p9a-001 p9a-001",
        "GPUS=LSB_GPUS",
        traceback(
            """
            /gpfs/sw/conda/envs/llm/bin/torchrun:8 <module> | sys.exit(main())
            @torch/distributed/run.py:785 run | config, cmd, cmd_args = config_from_args(args)
            @torch/distributed/run.py:666 config_from_args | nproc_per_node = determine_local_world_size(args.nproc_per_node)
            @torch/distributed/run.py:626 determine_local_world_size | raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")
            """,
            "ValueError: Unsupported nproc_per_node value: LSB_GPUS",
            site=_SITE,
        ),
        _report(
            tape,
            268003,
            "resnet50",
            "GPUS=LSB_GPUS\ntorchrun --nproc_per_node=$GPUS imagenet.py",
            "p9a-001",
            "Exited with exit code 1.",
            memory_mb=412,
            run_s=6,
        ),
    )
    return log(
        tape,
        "count_of_no_variable",
        "config",
        1,
        _BASIS,
        command="bsub < imagenet.bsub",
        paper_class="traceback",
        torch="2.0.1",
    )


def _done_with_warnings() -> ComposedLog:
    tape = Tape(4513, "2024-06-01 06:01:00")
    tape.say(
        "wandb: Network error (ProxyError), entering retry loop.",
        "wandb: W&B API key is configured. Use `wandb login --relogin` to force relogin",
        trainer_steps(tape, range(500, 3001, 500), 3000, loss=1.2, seconds=0.5),
        "{'eval_loss': 0.8210, 'eval_accuracy': nan, 'eval_runtime': 31.02, 'epoch': 3.0}",
        "{'train_runtime': 1533.2, 'train_samples_per_second': 31.3, 'train_steps_per_second': 1.957, 'train_loss': 0.8733, 'epoch': 3.0}",
        "Error in atexit._run_exitfuncs:",
        traceback(
            """
            @wandb/sdk/lib/service_connection.py:94 teardown | self._svc.join()
            """,
            "BrokenPipeError: [Errno 32] Broken pipe",
            site=_SITE,
        ),
        _report(
            tape,
            336120,
            "cls-final",
            "python train_cls.py || exit $?",
            "p9a-028",
            "Successfully completed.",
            run_s=1588,
        ),
        "PS: 1 earlier attempt of this job ended with TERM_REQUEUE_ADMIN: job killed and requeued by root or LSF administrator.",
    )
    return log(
        tape,
        "done_with_warnings",
        "none",
        0,
        _BASIS,
        command="bsub -r < cls.bsub",
        why="the training ended; the tracking client's goodbye failed and changed nothing",
    )
