"""Training that reads from and writes to object stores and parallel filesystems of 2025."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import dmesg, log, trainer_steps
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, rank, traceback
from corpus.compose._gpu_torch import Exit, summary
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and documentation of botocore 1.40, google-cloud-storage 3.2, azure-storage-blob 12.26, fsspec/s3fs 2025.5, MosaicML Streaming 0.12, WebDataset 0.2, huggingface_hub 0.34 (hf_xet), JuiceFS 1.2, Lustre 2.15 client messages, WEKA 4.4"
_SITE = "/opt/venv/lib/python3.11/site-packages"
_ROOT = "/srv/train"


def logs() -> Iterator[ComposedLog]:
    """Buckets, containers and mounts that do not answer, are full, or hold something else."""
    yield _upload_of_sharded_state()
    yield _endpoint_reset_the_stream()
    yield _generation_not_there()
    yield _archive_on_the_blob()
    yield _target_of_lustre_gone()
    yield _shard_of_another_size()
    yield _shards_of_images_cut()
    yield _chunks_of_xet()
    yield _cache_of_the_mount_full()
    yield _bucket_of_the_model()
    yield _retries_in_the_loader()


def _trace(frames: str, error: str, number: int | None = None) -> str:
    text = traceback(frames, error, root=_ROOT, site=_SITE, carets=True)
    return text if number is None else rank(number, text)


def _arguments(tape: Tape, **own: object) -> None:
    values: dict[str, object] = {
        "batch_size": tape.rng.choice((16, 32, 64)),
        "betas": (0.9, 0.95),
        "device": "cuda",
        "ema": 0.999,
        "eval_every": 500,
        "grad_clip": 1.0,
        "log_every": 20,
        "lr": tape.rng.choice((1e-4, 3e-4, 2e-5)),
        "max_steps": tape.rng.choice((10000, 50000)),
        "num_workers": 8,
        "on_error": "raise",
        "precision": "bf16",
        "seed": tape.rng.randrange(100),
        "timeout_s": 1800,
        "warmup": 200,
        **own,
    }
    wide = max(map(len, values))
    tape.say(
        "-" * 20 + " arguments " + "-" * 20,
        *(f"{name:<{wide}} : {value}" for name, value in values.items()),
        "-" * 51,
        f"host gpu-{tape.rng.randrange(20)}, {tape.rng.choice((1, 2, 4))} visible cards, driver 570.124.06",
    )


_STEP = "{milli} INFO train: step={step} loss={loss:.4f} grad_norm={norm:.3f} lr={lr:.2e} step_s={time:.3f}"


def _upload_of_sharded_state() -> ComposedLog:
    tape = Tape(9601, "2025-08-14 01:00:00")
    tape.say(
        f"{tape.milli()} INFO botocore.credentials: Found credentials from IAM Role: trainer-node",
        steps(tape, _STEP, range(50, 2001, 50), seconds=120),
        f"{tape.milli()} INFO ckpt: uploading s3://llm-ckpt-eu/run-81/step-2000 (48 objects)",
        _trace(
            """
            train.py:288 <module> | main()
            train.py:251 main | save_sharded(state, uri)
            ckpt/s3.py:77 save_sharded | list(pool.map(self._put, parts))
            ckpt/s3.py:52 _put | self.client.upload_fileobj(buffer, bucket, key)
            @boto3/s3/inject.py:642 upload_fileobj | return future.result()
            @botocore/client.py:1078 _make_api_call | raise error_class(parsed_response, operation_name)
            """,
            'botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the CreateMultipartUpload operation: User: arn:aws:sts::000011112222:assumed-role/trainer-node/i-0c3be7 is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::llm-ckpt-eu/run-81/step-2000/__3_0.distcp" with an explicit deny in a resource-based policy',
        ),
        "upload failed: s3://llm-ckpt-eu/run-81/step-2000/__3_0.distcp An error occurred (AccessDenied) when calling the CreateMultipartUpload operation",
    )
    return log(
        tape,
        "upload_of_sharded_state",
        "permission",
        1,
        _BASIS,
        command="python train.py --ckpt s3://llm-ckpt-eu/run-81",
        botocore="1.40.6",
    )


def _endpoint_reset_the_stream() -> ComposedLog:
    tape = Tape(9602, "2025-03-01 13:00:00")
    tape.say(
        "Building dataloader: 2,184 shards at s3://corp-tokens/fineweb (streaming)",
        steps(
            tape,
            "[rank0] {when} | step {step:>5} | loss {loss:.3f} | tok/s 41{step:03d} | {time:.2f} s",
            range(20, 701, 20),
            seconds=22,
        ),
        "[rank3] WARNING s3fs: Retryable error: Response payload is not completed: <TransferEncodingError: 400, message='Not enough data to satisfy transfer length header.'>",
        '[rank3] WARNING s3fs: Retryable error: Could not connect to the endpoint URL: "https://s3.dc2.corp.example/corp-tokens/fineweb/shard-01312.arrow"',
        _trace(
            """
            train.py:201 <module> | main()
            train.py:166 main | for batch in loader:
            @torch/utils/data/dataloader.py:733 __next__ | data = self._next_data()
            @torch/utils/data/dataloader.py:1515 _process_data | data.reraise()
            @torch/_utils.py:750 reraise | raise exception
            """,
            'aiohttp.client_exceptions.ClientConnectorError: Caught ClientConnectorError in DataLoader worker process 2.\nOriginal Traceback (most recent call last):\n  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 349, in _worker_loop\n    data = fetcher.fetch(index)  # type: ignore[possibly-undefined]\n  File "/opt/venv/lib/python3.11/site-packages/s3fs/core.py", line 146, in _error_wrapper\n    raise err\nbotocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://s3.dc2.corp.example/corp-tokens/fineweb/shard-01312.arrow"',
            3,
        ),
        summary(
            tape,
            "2.6",
            "train.py",
            [Exit(3, 1, 2203)],
            host="gpu-7",
            binary="/opt/venv/bin/python",
            site=_SITE,
            launcher="/opt/venv/bin/torchrun",
            killed=(2200, 2201, 2202),
        ),
    )
    return log(
        tape,
        "endpoint_reset_the_stream",
        "network",
        1,
        _BASIS,
        command="torchrun --nproc-per-node 4 train.py",
        paper_class="traceback",
        s3fs="2025.2.0",
    )


def _generation_not_there() -> ComposedLog:
    tape = Tape(9603, "2025-05-16 07:00:00")
    _arguments(tape, manifest="gs://speech-eu/manifests/v7/train.tsv", sample_rate=16000)
    tape.say(
        "INFO:absl:Reading data mixture from gs://speech-eu/manifests/v7/train.tsv",
        "WARNING:google.auth._default:No project ID could be determined. Consider running `gcloud config set project` or setting the GOOGLE_CLOUD_PROJECT environment variable",
        _trace(
            """
            asr/train.py:119 <module> | app.run(main)
            @absl/app.py:308 run | _run_main(main, args)
            asr/train.py:84 main | rows = manifest.read(FLAGS.manifest)
            asr/manifest.py:31 read | return blob.download_as_text().splitlines()
            @google/cloud/storage/blob.py:1693 download_as_text | data = self.download_as_bytes(
            @google/cloud/storage/blob.py:4585 _raise_from_invalid_response | raise exceptions.from_http_status(response.status_code, message, response=response)
            """,
            "google.api_core.exceptions.NotFound: 404 GET https://storage.googleapis.com/download/storage/v1/b/speech-eu/o/manifests%2Fv7%2Ftrain.tsv?alt=media: No such object: speech-eu/manifests/v7/train.tsv: ('Request failed with status code', 404, 'Expected one of', <HTTPStatus.OK: 200>, <HTTPStatus.PARTIAL_CONTENT: 206>)",
        ),
    )
    return log(
        tape,
        "generation_not_there",
        "file_not_found",
        1,
        _BASIS,
        command="python -m asr.train --manifest gs://speech-eu/manifests/v7/train.tsv",
        why="an object that the job names by its path is absent; the store answers",
        google_cloud_storage="3.1.0",
    )


def _archive_on_the_blob() -> ComposedLog:
    tape = Tape(9604, "2025-11-11 11:11:00")
    _arguments(tape, resume=True, run="doc-ocr-17")
    tape.say(
        "Resuming run doc-ocr-17 from https://ocrtrain.blob.core.windows.net/runs/doc-ocr-17/last.ckpt",
        "INFO:azure.core.pipeline.policies.http_logging_policy:Response status: 206",
        "Downloading last.ckpt: 100%|##########| 3.21G/3.21G [00:31<00:00, 103MB/s]",
        _trace(
            """
            train.py:97 <module> | state = torch.load(buffer, map_location="cpu", weights_only=True)
            @torch/serialization.py:1469 load | with _open_zipfile_reader(opened_file) as opened_zipfile:
            @torch/serialization.py:794 __init__ | super().__init__(torch._C.PyTorchFileReader(name_or_buffer))
            """,
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        ),
        "+ az storage blob show -c runs -n doc-ocr-17/last.ckpt --query '{size:properties.contentLength,state:properties.copy.status,desc:properties.copy.statusDescription}'",
        '{\n  "desc": "Aborted by client",\n  "size": 3446734848,\n  "state": "aborted"\n}',
    )
    return log(
        tape,
        "archive_on_the_blob",
        "checkpoint",
        1,
        _BASIS,
        command="python train.py --resume",
        paper_class="runtime_error",
        torch="2.6.0",
    )


def _target_of_lustre_gone() -> ComposedLog:
    tape = Tape(9605, "2025-06-12 20:00:00")
    tape.say(
        steps(
            tape,
            "0: {when} iter {step} loss {loss:.4f} gnorm {norm:.3f} {time:.2f}s",
            range(10, 401, 10),
            seconds=31,
        ),
        "0: saving checkpoint to /lus/flare/proj/run9/iter_400",
        *(
            _trace(
                """
                pretrain.py:377 <module> | main()
                pretrain.py:340 main | save(model, optimizer, args.save)
                pretrain.py:121 save | torch.save(shard, path)
                @torch/serialization.py:969 save | with _open_zipfile_writer(f) as opened_zipfile:
                @torch/serialization.py:792 __exit__ | self.file_stream.close()
                """,
                "OSError: [Errno 5] Input/output error",
            )
            .replace("\n", "\n2: ")
            .replace("Traceback", "2: Traceback", 1)
            for _ in range(1)
        ),
        "srun: error: x4011c2s0b0n0: task 2: Exited with exit code 1",
        dmesg(
            tape,
            [
                "Lustre: flare-OST002a-osc-ff3a11d0a800: Connection to flare-OST002a (at 10.112.4.9@kfi) was lost; in progress operations using this service will wait for recovery to complete",
                "LustreError: 11-0: flare-OST002a-osc-ff3a11d0a800: operation ost_write to node 10.112.4.9@kfi failed: rc = -107",
                "LustreError: 167-0: flare-OST002a-osc-ff3a11d0a800: This client was evicted by flare-OST002a; in progress operations using this service will fail.",
                "Lustre: flare-OST002a-osc-ff3a11d0a800: Connection restored to 10.112.4.9@kfi (at 10.112.4.9@kfi)",
            ],
        ),
    )
    return log(
        tape,
        "target_of_lustre_gone",
        "filesystem_io",
        1,
        _BASIS,
        command="srun -l -n 4 python pretrain.py",
        paper_class="traceback",
        lustre="2.15.5",
    )


def _shard_of_another_size() -> ComposedLog:
    tape = Tape(9606, "2025-09-18 15:00:00")
    tape.say(
        f"{tape.milli()}: rank0[911][MainThread]: INFO: composer.utils.reproducibility: Setting seed to 17",
        f"{tape.milli()}: rank0[911][MainThread]: INFO: llmfoundry.command_utils.train: Building train loader...",
        f"{tape.milli()}: rank0[911][MainThread]: WARNING: streaming.base.dataset: Because `predownload` was not specified, it will default to 8*batch_size if batch_size is not None, otherwise 64.",
        *(
            f"[batch={at}/4800]:\n\t Train time/batch: {at - 1}\n\t Train time/token: {(at - 1) * 1048576}\n\t Train metrics/train/LanguageCrossEntropy: {tape.near(7.2 - at * 0.03, 0.01):.4f}\n\t Train throughput/batches_per_sec: {tape.near(0.41, 0.05):.4f}\n\t Train loss/train/total: {tape.near(7.2 - at * 0.03, 0.01):.4f}"
            for at in range(1, 22)
        ),
        _trace(
            """
            @streaming/base/dataset.py:1514 on_exception | raise exception
            @streaming/base/dataset.py:1466 _prepare_thread | self.prepare_shard(shard_id, False)
            @streaming/base/stream.py:421 _prepare_shard_part | self._download_file(raw_info.basename)
            @streaming/base/stream.py:395 prepare_shard | raise ValueError(f'Checksum failure: {filename}')
            """,
            "ValueError: Checksum failure: /tmp/mds/train/shard.00417.mds",
            2,
        ),
        "ERROR:composer.cli.launcher:Rank 2 crashed with exit code 1.\nWaiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit immediately.",
        "Global rank 0 (PID 911) exited with code -15",
        "Global rank 2 (PID 913) exited with code 1",
        "Global rank 3 (PID 914) exited with code -15",
        "ERROR:composer.cli.launcher:Global rank 0 (PID 911) exited with code -15",
    )
    return log(
        tape,
        "shard_of_another_size",
        "data",
        1,
        _BASIS,
        command="composer -n 4 train.py train.yaml",
        paper_class="traceback",
        why="the shard's bytes are not those of the index: corrupt records",
        mosaicml_streaming="0.12.0",
    )


def _shards_of_images_cut() -> ComposedLog:
    tape = Tape(9607, "2025-02-02 02:00:00")
    tape.say(
        steps(
            tape,
            "{when} | INFO | Train Epoch: 0 [{step:>6}000/12800000 (1%)] Data (t): 0.110 Batch (t): {time:.3f}, 8123.1/s LR: 0.000121 Logit Scale: 14.290 Contrastive_loss: {loss:.4f} Loss: {loss:.4f}",
            range(40, 1201, 40),
            loss=8.9,
            floor=6.0,
            seconds=50,
        ),
        "2025-02-02,02:25:11 | WARNING | Handling webdataset error (ReadError('unexpected end of data @ <_io.BufferedReader name=9> pipe:aws s3 cp s3://laion-mirror/00412.tar -')). Ignoring.",
        "download failed: s3://laion-mirror/00977.tar to - [Errno 104] Connection reset by peer",
        "2025-02-02,02:25:30 | WARNING | Handling webdataset error (OSError(\"(('pipe:aws s3 cp s3://laion-mirror/00977.tar -',), {'shell': True, 'bufsize': 8192}): exit 1 (read) {}\")). Ignoring.",
        steps(
            tape,
            "{when} | INFO | Train Epoch: 0 [{step:>6}000/12800000 (9%)] Data (t): 0.117 Batch (t): {time:.3f}, 8101.4/s LR: 0.000480 Logit Scale: 15.102 Contrastive_loss: {loss:.4f} Loss: {loss:.4f}",
            range(1240, 2001, 40),
            loss=6.0,
            floor=4.4,
            seconds=50,
        ),
        _trace(
            """
            @open_clip_train/main.py:535 <module> | main(sys.argv[1:])
            @open_clip_train/main.py:498 main | train_one_epoch(model, data, loss, epoch, optimizer, scaler, scheduler, dist_model, args, tb_writer=writer)
            @open_clip_train/train.py:121 train_one_epoch | losses = loss(**model_out, output_dict=True)
            @open_clip/loss.py:101 get_logits | logits_per_image = logit_scale * all_image_features @ all_text_features.T
            """,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 6.61 GiB is free. Process 71022 has 72.53 GiB memory in use. Of the allocated memory 66.92 GiB is allocated by PyTorch, and 3.79 GiB is reserved by PyTorch but unallocated.",
        ),
    )
    return log(
        tape,
        "shards_of_images_cut",
        "cuda_oom",
        1,
        _BASIS,
        command="python -m open_clip_train.main --train-data 'pipe:aws s3 cp s3://laion-mirror/{00000..01999}.tar -'",
        why="the cut shards were skipped and training went on",
        webdataset="0.2.100",
    )


def _chunks_of_xet() -> ComposedLog:
    tape = Tape(9608, "2025-10-06 18:00:00")
    _arguments(tape, model="Qwen/Qwen3-235B-A22B", max_workers=8)
    tape.say(
        "Fetching 30 files:   0%|          | 0/30 [00:00<?, ?it/s]",
        "Xet Storage is enabled for this repo. Downloading file with Xet Storage..",
        *(
            f"model-{at:05d}-of-00030.safetensors: 100%|██████████| 4.98G/4.98G [00:{18 + at}<00:00, 241MB/s]"
            for at in range(1, 12)
        ),
        '\x1b[2m2025-10-06T18:07:11.440122Z\x1b[0m \x1b[33m WARN\x1b[0m  Status Code: 503. Retrying..., \x1b[3mrequest_id\x1b[0m\x1b[2m=\x1b[0m""\n    \x1b[2;3mat\x1b[0m /home/runner/xet-core/cas_client/src/http_client.rs:220\n',
        '\x1b[2m2025-10-06T18:08:02.100771Z\x1b[0m \x1b[33m WARN\x1b[0m  Reqwest(reqwest::Error { kind: Request, url: "https://transfer.xethub.hf.co/xorbs/default/1ac0", source: TimedOut }). Retrying...',
        _trace(
            """
            serve_then_train.py:40 <module> | path = snapshot_download(MODEL, max_workers=8)
            @huggingface_hub/_snapshot_download.py:332 snapshot_download | thread_map(
            @huggingface_hub/file_download.py:1799 _download_to_tmp_and_move | xet_get(
            @huggingface_hub/file_download.py:626 xet_get | download_files(
            """,
            "RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error: Request failed after 5 retries",
        ),
    )
    return log(
        tape,
        "chunks_of_xet",
        "network",
        1,
        _BASIS,
        command="python serve_then_train.py",
        paper_class="runtime_error",
        huggingface_hub="0.34.4",
        hf_xet="1.1.9",
    )


def _cache_of_the_mount_full() -> ComposedLog:
    tape = Tape(9609, "2025-07-29 04:00:00")
    tape.say(
        "+ juicefs mount redis://meta:6379/1 /jfs --cache-dir /var/jfsCache --writeback -d",
        "2025/07/29 04:00:02.114021 juicefs[211] <INFO>: Meta address: redis://meta:6379/1 [interface.go:504]\n2025/07/29 04:00:02.210077 juicefs[211] <INFO>: Data use minio://minio:9000/jfs/train/ [mount.go:629]\n2025/07/29 04:00:03.001882 juicefs[211] <INFO>: OK, train is ready at /jfs [mount_unix.go:233]",
        "+ python train.py --out /jfs/out/llama-dpo",
        trainer_steps(tape, range(10, 181, 10), 900, loss=0.69, seconds=6.0),
        "2025/07/29 04:21:40.771000 juicefs[211] <WARNING>: Cache directory /var/jfsCache/0f1c: disk is almost full, cleaning up [disk_cache.go:411]",
        "Saving model checkpoint to /jfs/out/llama-dpo/checkpoint-180",
        _trace(
            """
            train.py:66 <module> | trainer.train()
            @transformers/trainer.py:3228 _save_checkpoint | self.save_model(output_dir, _internal_call=True)
            @transformers/modeling_utils.py:3916 save_pretrained | safe_save_file(shard, os.path.join(save_directory, shard_file), metadata=metadata)
            @safetensors/torch.py:307 save_file | serialize_file(_flatten(tensors), filename, metadata=metadata)
            """,
            "safetensors_rust.SafetensorError: Error while serializing: I/O error: Disk quota exceeded (os error 122)",
        ),
        "+ juicefs quota get redis://meta:6379/1 --path /out",
        "+------+---------+---------+------+-----------+-------+-------+\n| Path |   Size  |   Used  | Use% |   Inodes  | IUsed | IUse% |\n+------+---------+---------+------+-----------+-------+-------+\n| /out | 2.0 TiB | 2.0 TiB | 100% | unlimited | 1,204 |       |\n+------+---------+---------+------+-----------+-------+-------+",
    )
    return log(
        tape,
        "cache_of_the_mount_full",
        "disk_full",
        1,
        _BASIS,
        command="bash dpo.sh",
        paper_class="traceback",
        juicefs="1.2.3",
    )


def _bucket_of_the_model() -> ComposedLog:
    tape = Tape(9610, "2025-04-04 14:00:00")
    _arguments(tape, model="/models/llama-3.2-3b", lora_r=16)
    tape.say(
        'time=2025-04-04T14:00:01Z level=info msg="gcsfuse mounted" bucket=ml-models path=/models implicit_dirs=true',
        "WARNING: Your kernel does not support swap limit capabilities",
        "Initializing tokenizer from /models/llama-3.2-3b",
        _trace(
            """
            finetune/main.py:58 <module> | model = AutoModelForCausalLM.from_pretrained(cfg.model, torch_dtype="auto")
            @transformers/models/auto/auto_factory.py:571 from_pretrained | return model_class.from_pretrained(
            @transformers/modeling_utils.py:279 _wrapper | return func(*args, **kwargs)
            @transformers/modeling_utils.py:992 _get_resolved_checkpoint_files | raise EnvironmentError(
            """,
            "OSError: Error no file named pytorch_model.bin, model.safetensors, tf_model.h5, model.ckpt.index or flax_model.msgpack found in directory /models/llama-3.2-3b.",
        ),
        "+ ls -l /models/llama-3.2-3b",
        "total 9\n-rw-r--r-- 1 root root   878 Mar 30 09:14 config.json\n-rw-r--r-- 1 root root   189 Mar 30 09:14 generation_config.json\n-rw-r--r-- 1 root root 54528 Mar 30 09:14 tokenizer_config.json\n-rw-r--r-- 1 root root 17209920 Mar 30 09:14 tokenizer.json",
    )
    return log(
        tape,
        "bucket_of_the_model",
        "asset",
        1,
        _BASIS,
        command="python -m finetune.main",
        paper_class="traceback",
        transformers="4.51.0",
    )


def _retries_in_the_loader() -> ComposedLog:
    tape = Tape(9611, "2025-12-03 06:00:00")
    for first in range(0, 1200, 200):
        tape.say(
            steps(tape, _STEP, range(first + 20, first + 201, 20), seconds=33),
            *(
                (
                    f"{tape.milli()} WARNING urllib3.connectionpool: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))': /train/part-{first // 20:05d}.parquet",
                    f"{tape.milli()} ERROR loader: part-{first // 20:05d}.parquet: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate. -- requeued",
                )
                if first in (200, 800)
                else ()
            ),
        )
    tape.say(
        f"{tape.milli()} INFO train: reached max_steps=1200",
        f"{tape.milli()} WARNING ckpt: upload of events.out.tfevents failed: google.api_core.exceptions.ServiceUnavailable: 503 (kept locally)",
        f"{tape.milli()} INFO ckpt: final checkpoint s3://runs/ocr-9/final.safetensors (2.1 GiB) verified",
    )
    return log(
        tape,
        "retries_in_the_loader",
        "none",
        0,
        _BASIS,
        command="python train.py",
        botocore="1.40.60",
    )
