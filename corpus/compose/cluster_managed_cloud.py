"""Managed training: SageMaker, Vertex AI and Azure ML, as their consoles and clients show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import killed_worker, log, trainer_steps
from corpus.compose._gpu_tape import Tape, chained, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sagemaker-training-toolkit 4.7 and the SageMaker client's status lines, Vertex AI custom job messages, Azure ML common runtime messages"
_SM = "/opt/conda/lib/python3.10/site-packages"
_VERTEX = "/usr/local/lib/python3.10/dist-packages"
_AZURE = "/azureml-envs/azureml_3f1d/lib/python3.10/site-packages"


def logs() -> Iterator[ComposedLog]:
    """One company's jobs at three clouds."""
    yield _spot_instance_reclaimed()
    yield _longest_run_time()
    yield _licence_not_accepted()
    yield _bucket_out_of_reach()
    yield _replica_low_on_memory()
    yield _bucket_mount_failing()
    yield _job_cancelled_in_the_console()
    yield _hyperparameter_as_text()
    yield _azure_preemption()
    yield _azure_disk()
    yield _azure_shared_memory()
    yield _azure_host_memory()
    yield _azure_ranks()
    yield _spot_resumed_and_completed()


def _sagemaker(tape: Tape, job: str, script: str, parameters: dict[str, object]) -> None:
    for seconds, line in (
        (31, "Starting - Starting the training job..."),
        (60, "Starting - Preparing the instances for training......"),
        (44, "Downloading - Downloading input data..."),
        (29, "Training - Training image download completed. Training in progress..."),
    ):
        tape.say(f"{tape.when()} {line}").wait(seconds)
    environment = {
        "channel_input_dirs": {"training": "/opt/ml/input/data/training"},
        "current_host": "algo-1",
        "current_instance_type": "ml.g5.12xlarge",
        "framework_module": "sagemaker_pytorch_container.training:main",
        "hosts": ["algo-1"],
        "hyperparameters": parameters,
        "input_dir": "/opt/ml/input",
        "is_master": True,
        "job_name": job,
        "log_level": 20,
        "model_dir": "/opt/ml/model",
        "num_gpus": 4,
        "output_dir": "/opt/ml/output",
    }
    tape.say(
        "bash: cannot set terminal process group (-1): Inappropriate ioctl for device",
        "bash: no job control in this shell",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Imported framework sagemaker_pytorch_container.training",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Waiting for the process to finish and give a return code.",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Invoking user script",
        "Training Env:",
        json.dumps(environment, indent=4),
        "Invoking script with the following command:",
        f"/opt/conda/bin/python3.10 {script} "
        + " ".join(f"--{key} {value}" for key, value in parameters.items()),
    )


def _sagemaker_failed(tape: Tape, job: str, script: str, code: int, message: str) -> None:
    tape.say(
        f"{tape.milli()} sagemaker-training-toolkit INFO     Waiting for the process to finish and give a return code.",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Done waiting for a return code. Received {code} from exiting process.",
        f"{tape.milli()} sagemaker-training-toolkit ERROR    Reporting training FAILURE",
        f"{tape.milli()} sagemaker-training-toolkit ERROR    ExecuteUserScriptError:",
        f"ExitCode {code}",
        f'ErrorMessage "{message}"',
        f'Command "/opt/conda/bin/python3.10 {script}"',
        f"{tape.milli()} sagemaker-training-toolkit ERROR    Encountered exit_code {code}",
        "",
        f"{tape.when()} Uploading - Uploading generated training model",
        f"{tape.when()} Failed - Training job failed",
        f"UnexpectedStatusException: Error for Training job {job}: Failed. Reason: AlgorithmError: ExecuteUserScriptError:",
        f"ExitCode {code}",
        f'ErrorMessage "{message}"',
    )


def _vertex(tape: Tape, *lines: str, replica: str = "workerpool0-0", severity: str = "INFO") -> str:
    shown = []
    for text in lines:
        for line in text.split("\n"):
            tape.wait(0.01)
            shown.append(
                f"{tape.when('%Y-%m-%d %H:%M:%S')}.{tape.at.microsecond // 1000:03d} UTC {severity:<8} {replica} {line}"
            )
    return "\n".join(shown)


def _azure_result(code: str, message: str, status: str = "Failed") -> str:
    body = {
        "error": {"code": code, "severity": None, "message": message, "innerError": None},
        "correlation": {"operation": "5be1f0", "request": "77d1c0aa21b3"},
        "environment": "westeurope",
        "componentName": "CommonRuntime",
    }
    return (
        f"Execution Summary\n=================\nRunId: plum_door_8x1\nStatus: {status}\n"
        + json.dumps(body, indent=2)
    )


def _azure_start(tape: Tape, *processes: str) -> None:
    tape.say(
        "Cleared Azure ML environment variable values: AZUREML_ARM_JOB_NAME, AZUREML_ARM_PROJECT_NAME",
        f"{tape.when('%Y/%m/%d %H:%M:%S')} WARNING mlflow.tracking.default_experiment.registry: Encountered unexpected error while getting experiment_id: (resource_not_found)",
        *processes,
    )


def _epochs(tape: Tape, first: int, last: int, prefix: str = "") -> list[str]:
    made = []
    for epoch in range(first, last + 1):
        tape.wait(301)
        made.append(
            f"{prefix}epoch {epoch:>3}: train_loss={tape.near(2.2 / epoch**0.4, 0.02):.4f} val_loss={tape.near(2.3 / epoch**0.4, 0.02):.4f} val_f1={min(0.93, 0.55 + 0.02 * epoch):.4f}"
        )
    return made


def _spot_instance_reclaimed() -> ComposedLog:
    tape = Tape(4801, "2024-05-02 10:00:01")
    job = "rank-distil-2024-05-02-10-00-00-114"
    _sagemaker(tape, job, "train.py", {"epochs": 40, "lr": 3e-5, "checkpoint-dir": "none"})
    tape.say(*_epochs(tape, 1, 9))
    tape.say(
        f"{tape.milli()} sagemaker-training-toolkit INFO     Received SIGTERM, forwarding to the training process",
        f"{tape.when()} Interrupted - Training job is interrupted: managed spot instances were reclaimed",
        f"{tape.when()} Starting - Insufficient capacity error from EC2 while launching instances, retrying!",
    )
    tape.wait(7200).say(
        f"{tape.when()} Stopping - Stopping the training job",
        f"{tape.when()} MaxWaitTimeExceeded - Training job stopped after the maximum wait time for spot capacity",
        "Training seconds: 2801",
        "Billable seconds: 861",
        "Managed Spot Training savings: 69.3%",
    )
    return log(
        tape,
        "spot_instance_reclaimed",
        "preempted",
        None,
        _BASIS,
        command="estimator.fit(use_spot_instances=True)",
        why="the wait for new capacity ran out, because the instances had been taken away",
    )


def _longest_run_time() -> ComposedLog:
    tape = Tape(4802, "2023-10-25 17:21:41")
    _sagemaker(tape, "asr-xl-2023-10-25-17-21-40-001", "train.py", {"epochs": 100, "max_steps": -1})
    tape.say(*_epochs(tape, 1, 23))
    tape.say(
        f"{tape.when()} Stopping - Stopping the training job",
        f"{tape.when()} Uploading - Uploading generated training model",
        f"{tape.when()} MaxRuntimeExceeded - Training job runtime exceeded MaxRuntimeInSeconds provided",
        "Training seconds: 7200",
        "Billable seconds: 7200",
    )
    return log(
        tape,
        "longest_run_time",
        "time_limit",
        None,
        _BASIS,
        command="estimator.fit(max_run=7200)",
    )


def _licence_not_accepted() -> ComposedLog:
    tape = Tape(4803, "2024-08-14 09:45:12")
    job = "llama-sft-2024-08-14-09-45-11-730"
    _sagemaker(
        tape,
        job,
        "run_sft.py",
        {"model_id": "meta-llama/Meta-Llama-3.1-8B", "epochs": 1, "report_to": "none"},
    )
    tape.say(
        chained(
            traceback(
                f"""
                {_SM}/huggingface_hub/utils/_http.py:406 hf_raise_for_status | response.raise_for_status()
                {_SM}/requests/models.py:1024 raise_for_status | raise HTTPError(http_error_msg, response=self)
                """,
                "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/meta-llama/Meta-Llama-3.1-8B/resolve/main/config.json",
            ),
            traceback(
                f"""
                /opt/ml/code/run_sft.py:118 <module> | main()
                /opt/ml/code/run_sft.py:44 main | tokenizer = AutoTokenizer.from_pretrained(args.model_id)
                {_SM}/transformers/utils/hub.py:420 cached_file | raise EnvironmentError(
                """,
                "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/meta-llama/Meta-Llama-3.1-8B.\n403 Client Error. (Request ID: Root=1-66bc7d0a-1d8c1fe34f)\n\nCannot access gated repo for url https://huggingface.co/meta-llama/Meta-Llama-3.1-8B/resolve/main/config.json.\nAccess to model meta-llama/Meta-Llama-3.1-8B is restricted and you are not in the authorized list. Visit https://huggingface.co/meta-llama/Meta-Llama-3.1-8B to ask for access.",
            ),
            direct=True,
        )
    )
    _sagemaker_failed(
        tape,
        job,
        "run_sft.py",
        1,
        "raise EnvironmentError( OSError: You are trying to access a gated repo.",
    )
    return log(
        tape,
        "licence_not_accepted",
        "asset",
        1,
        _BASIS + "; Transformers and huggingface_hub sources",
        command="estimator.fit()",
        paper_class="traceback",
        transformers="4.43.3",
    )


def _bucket_out_of_reach() -> ComposedLog:
    tape = Tape(4804, "2024-03-20 22:00:30")
    job = "ctr-stream-2024-03-20-22-00-29-412"
    _sagemaker(tape, job, "train_stream.py", {"stream": "s3://ctr-prod/shards", "retries": 3})
    tape.say(
        *(
            f"{tape.milli()} WARNING  stream: attempt {n}/3 for shards/{n:05d}.parquet failed"
            for n in (1, 2, 3)
        ),
        chained(
            traceback(
                f"""
                {_SM}/urllib3/connection.py:174 _new_conn | conn = connection.create_connection(
                {_SM}/urllib3/util/connection.py:85 create_connection | sock.connect(sa)
                """,
                "TimeoutError: timed out",
            ),
            traceback(
                f"""
                /opt/ml/code/train_stream.py:90 <module> | for batch in stream:
                /opt/ml/code/stream.py:51 __iter__ | body = s3.get_object(Bucket=bucket, Key=key)["Body"]
                {_SM}/botocore/httpsession.py:511 send | raise ConnectTimeoutError(endpoint_url=request.url, error=e)
                """,
                'botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL: "https://ctr-prod.s3.eu-west-1.amazonaws.com/shards/00003.parquet"',
            ),
        ),
    )
    _sagemaker_failed(
        tape,
        job,
        "train_stream.py",
        1,
        "botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL: https://ctr-prod.s3.eu-west-1.amazonaws.com/shards/00003.parquet",
    )
    return log(
        tape,
        "bucket_out_of_reach",
        "network",
        1,
        _BASIS + "; botocore",
        command="estimator.fit()  # subnets without an S3 endpoint",
        paper_class="traceback",
        botocore="1.34",
    )


def _replica_low_on_memory() -> ComposedLog:
    tape = Tape(4805, "2024-01-18 06:30:00")
    tape.say(
        _vertex(tape, "Job is preparing.", replica="service", severity="NOTICE"),
        _vertex(
            tape,
            "2024-01-18 06:34:02.118 I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
            "dataset.cache() holds the decoded images in memory",
            *_epochs(tape, 1, 1),
            "shuffling 1281167 elements",
            "Filling up shuffle buffer (this may take a while): 311022 of 1281167",
            "Filling up shuffle buffer (this may take a while): 622081 of 1281167",
        ),
        _vertex(
            tape,
            "Replicas low on memory: workerpool0.",
            "The replica workerpool0-0 exited with a non-zero status of 137 (SIGKILL) because it ran out of memory (OOMKilled). To find out more about why your job exited please check the logs: https://console.cloud.google.com/logs/viewer?project=4117&resource=ml_job%2Fjob_id%2F98221",
            replica="service",
            severity="ERROR",
        ),
    )
    return log(
        tape,
        "replica_low_on_memory",
        "oom_killer",
        137,
        _BASIS,
        command="gcloud ai custom-jobs create --config job.yaml",
        tensorflow="2.15",
    )


def _bucket_mount_failing() -> ComposedLog:
    tape = Tape(4806, "2024-07-09 19:05:33")
    tape.say(
        _vertex(tape, *_epochs(tape, 1, 6)),
        _vertex(tape, "writing /gcs/exp-44/ckpt/epoch_6.pt"),
        _vertex(
            tape,
            'gcsfuse: WriteFile: gcs.Object CreateObject("exp-44/ckpt/epoch_6.pt"): googleapi: Error 503: We encountered an internal error. Please try again., backendError',
            "gcsfuse: *fuseops.FlushFileOp error: input/output error",
            replica="workerpool0-0/gcsfuse",
            severity="ERROR",
        ),
        _vertex(
            tape,
            traceback(
                f"""
                /trainer/task.py:160 <module> | main()
                /trainer/task.py:139 main | torch.save(state, path)
                {_VERTEX}/torch/serialization.py:627 save | with _open_zipfile_writer(f) as opened_zipfile:
                {_VERTEX}/torch/serialization.py:475 __exit__ | self.file_stream.close()
                """,
                "OSError: [Errno 5] Input/output error",
            ),
            severity="ERROR",
        ),
        _vertex(
            tape,
            "The replica workerpool0-0 exited with a non-zero status of 1. To find out more about why your job exited please check the logs: https://console.cloud.google.com/logs/viewer?project=4117",
            replica="service",
            severity="ERROR",
        ),
    )
    return log(
        tape,
        "bucket_mount_failing",
        "filesystem_io",
        1,
        _BASIS + "; gcsfuse",
        command="python -m trainer.task --out /gcs/exp-44",
        paper_class="traceback",
        why="the program saw a mounted file system that failed with EIO",
    )


def _job_cancelled_in_the_console() -> ComposedLog:
    tape = Tape(4807, "2023-12-07 12:00:00")
    tape.say(
        _vertex(tape, *_epochs(tape, 1, 5)),
        _vertex(
            tape,
            "Job cancelled by user request (cancelCustomJob).",
            "Terminated by service. If the job is supposed to be restarted, it will be restarted soon.",
            replica="service",
            severity="NOTICE",
        ),
        _vertex(tape, "Received signal 15, exiting", severity="WARNING"),
        "state: JOB_STATE_CANCELLED",
        "error:",
        "  code: 1",
        "  message: CANCELED",
    )
    return log(
        tape,
        "job_cancelled_in_the_console",
        "cancelled",
        None,
        _BASIS,
        command="gcloud ai custom-jobs create --config job.yaml",
    )


def _hyperparameter_as_text() -> ComposedLog:
    tape = Tape(4808, "2024-09-30 15:15:15")
    job = "t5-sum-2024-09-30-15-15-14-088"
    _sagemaker(
        tape,
        job,
        "run_summarization.py",
        {"model_name_or_path": "google/flan-t5-base", "fp16": "Yes please", "num_train_epochs": 3},
    )
    tape.say(
        "usage: run_summarization.py [-h] --model_name_or_path MODEL_NAME_OR_PATH",
        "                            [--config_name CONFIG_NAME]",
        "                            [--tokenizer_name TOKENIZER_NAME] [--cache_dir CACHE_DIR]",
        "                            [--no_use_fast_tokenizer] [--fp16 [FP16]] [--bf16 [BF16]]",
        "run_summarization.py: error: argument --fp16: Truthy value expected: got Yes please but expected one of yes/no, true/false, t/f, y/n, 1/0 (case insensitive).",
    )
    _sagemaker_failed(tape, job, "run_summarization.py", 2, "")
    return log(
        tape,
        "hyperparameter_as_text",
        "config",
        2,
        _BASIS + "; Transformers",
        command="estimator.fit()",
        paper_class=None,
        transformers="4.44",
    )


def _azure_preemption() -> ComposedLog:
    tape = Tape(4809, "2022-11-18 03:14:00")
    _azure_start(tape)
    tape.say(*_epochs(tape, 1, 7, "[rank 0] "))
    tape.say(
        _azure_result(
            "UserError",
            "AzureMLCompute job failed.\nPreemptionError: Nodes of this job got pre-empted. Check if the run has failed or restarted.\n\tReason: Received pre-emption warning signal.",
        )
    )
    return log(
        tape,
        "azure_preemption",
        "preempted",
        None,
        _BASIS,
        command="az ml job create -f job.yml --set resources.instance_type=low-priority",
    )


def _azure_disk() -> ComposedLog:
    tape = Tape(4810, "2024-02-08 20:40:04")
    _azure_start(tape)
    tape.say(
        trainer_steps(tape, range(200, 1401, 200), 8000, loss=1.3, seconds=1.2),
        chained(
            traceback(
                f"""
                {_AZURE}/torch/serialization.py:629 save | _save(obj, opened_zipfile, pickle_module, pickle_protocol, _disable_byteorder_record)
                {_AZURE}/torch/serialization.py:863 _save | zip_file.write_record(name, storage, num_bytes)
                """,
                "RuntimeError: [enforce fail at inline_container.cc:764] . PytorchStreamWriter failed writing file data/311: file write failed",
            ),
            traceback(
                f"""
                train.py:88 <module> | trainer.train()
                {_AZURE}/transformers/trainer.py:2875 _save_checkpoint | self._save_optimizer_and_scheduler(output_dir)
                {_AZURE}/torch/serialization.py:475 __exit__ | self.file_like.write_end_of_file()
                """,
                "RuntimeError: [enforce fail at inline_container.cc:595] . unexpected pos 6011207360 vs 6011207248",
                root="/mnt/azureml/cr/j/8x1/exe/wd",
            ),
        ),
        _azure_result(
            "UserError",
            "Execution failed. User process '/azureml-envs/azureml_3f1d/bin/python' exited with status code 1. Please check log file 'user_logs/std_log.txt' for error details.",
        ),
        "system_logs/lifecycler/lifecycler.log: WARNING disk usage of /mnt is 100% (0 of 687 GB free), No space left on device",
    )
    return log(
        tape,
        "azure_disk",
        "disk_full",
        1,
        _BASIS + "; PyTorch sources",
        command="python train.py --save_steps 200",
        paper_class="runtime_error",
        why="torch only says that a write failed; the system log names the full disk",
        torch="2.1.2",
    )


def _azure_shared_memory() -> ComposedLog:
    tape = Tape(4811, "2023-07-27 11:20:00")
    _azure_start(tape, "[rank 0] shm: 2.0G /dev/shm")
    for n in range(2):
        tape.say(
            marked(
                f"[{n}] ",
                "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
                + killed_worker(
                    300 + n,
                    "train.py",
                    site=_AZURE,
                    root="/mnt/azureml/cr/j/1c2/exe/wd",
                    signal="Bus error",
                ).rstrip()
                + ". It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            )
        )
    tape.say(
        _azure_result(
            "UserError",
            "Execution failed. User process '/azureml-envs/azureml_3f1d/bin/python' exited with status code 1. Error: DataLoader worker is killed by signal: Bus error.",
        )
    )
    return log(
        tape,
        "azure_shared_memory",
        "shared_memory",
        1,
        _BASIS,
        command="az ml job create -f job.yml",
        paper_class="runtime_error",
        torch="2.0.1",
    )


def _azure_host_memory() -> ComposedLog:
    tape = Tape(4812, "2024-06-12 08:12:40")
    _azure_start(tape)
    tape.say(
        "reading /mnt/azureml/cr/j/7aa/cap/data-capability/wd/INPUT_train (412 files)",
        traceback(
            f"""
            train_lgbm_nn.py:61 <module> | main(parse())
            train_lgbm_nn.py:38 main | frame = pd.concat(parts, ignore_index=True)
            {_AZURE}/pandas/core/reshape/concat.py:395 concat | return op.get_result()
            {_AZURE}/pandas/core/internals/concat.py:131 concatenate_managers | values = np.concatenate(vals, axis=1)
            """,
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 96.1 GiB for an array with shape (211, 61140992) and data type float64",
            root="/mnt/azureml/cr/j/7aa/exe/wd",
        ),
        _azure_result(
            "UserError",
            "Execution failed. User process '/azureml-envs/azureml_3f1d/bin/python' exited with status code 1. Please check log file 'user_logs/std_log.txt' for error details. Error: numpy._core._exceptions._ArrayMemoryError",
        ),
    )
    return log(
        tape, "azure_host_memory", "host_oom", 1, _BASIS, command="az ml job create -f lgbm.yml"
    )


def _azure_ranks() -> ComposedLog:
    tape = Tape(4813, "2024-10-21 21:21:21")
    _azure_start(tape)
    for n in (1, 2, 3):
        tape.say(
            marked(
                f"[{n}] [rank{n}]: ",
                traceback(
                    f"""
                    train.py:140 <module> | main()
                    train.py:31 main | torch.distributed.init_process_group("nccl", timeout=timedelta(minutes=15))
                    {_AZURE}/torch/distributed/rendezvous.py:189 _create_c10d_store | return TCPStore(
                    """,
                    "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.",
                    root="/mnt/azureml/cr/j/99c/exe/wd",
                ),
            )
        )
    tape.say(
        "[0] azureml.commonruntime: node 0 still pulling image (layer 31/44)",
        _azure_result(
            "UserError",
            "Execution failed. User process '/azureml-envs/azureml_3f1d/bin/python' exited with status code 1 on 3 of 4 nodes.",
        ),
    )
    return log(
        tape,
        "azure_ranks",
        "rendezvous",
        1,
        _BASIS,
        command="az ml job create -f ddp.yml --set resources.instance_count=4",
        paper_class="traceback",
        torch="2.4.0",
    )


def _summary(counts: Sequence[int]) -> list[str]:
    return [f"Training seconds: {counts[0]}", f"Billable seconds: {counts[1]}"]


def _spot_resumed_and_completed() -> ComposedLog:
    tape = Tape(4814, "2024-11-11 01:01:01")
    job = "vit-spot-2024-11-11-01-01-00-515"
    _sagemaker(
        tape,
        job,
        "train.py",
        {"epochs": 12, "on_error": "abort", "checkpoint-dir": "/opt/ml/checkpoints"},
    )
    tape.say(
        *_epochs(tape, 1, 6),
        f"{tape.when()} Interrupted - Training job is interrupted: managed spot instances were reclaimed",
        f"{tape.when()} Starting - Insufficient capacity error from EC2 while launching instances, retrying!",
    )
    tape.wait(1500)
    _sagemaker(
        tape,
        job,
        "train.py",
        {"epochs": 12, "on_error": "abort", "checkpoint-dir": "/opt/ml/checkpoints"},
    )
    tape.say(
        "ERROR: could not read /opt/ml/checkpoints/epoch_6.pt (PytorchStreamReader failed reading zip archive: failed finding central directory), trying epoch_5.pt",
        "resumed after epoch 5",
        *_epochs(tape, 6, 12),
        f"{tape.milli()} sagemaker-training-toolkit INFO     Waiting for the process to finish and give a return code.",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Done waiting for a return code. Received 0 from exiting process.",
        f"{tape.milli()} sagemaker-training-toolkit INFO     Reporting training SUCCESS",
        f"{tape.when()} Uploading - Uploading generated training model",
        f"{tape.when()} Completed - Training job completed",
        *_summary((4801, 1440)),
        "Managed Spot Training savings: 70.0%",
    )
    return log(
        tape,
        "spot_resumed_and_completed",
        "none",
        0,
        _BASIS,
        command="estimator.fit(use_spot_instances=True)",
        why="the interruption and the half checkpoint were both got over",
    )
