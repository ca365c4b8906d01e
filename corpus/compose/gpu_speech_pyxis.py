"""Speech recognition on Slurm: NeMo and ESPnet in enroot containers, with the prefixes of ``srun -l``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import log, sacct
from corpus.compose._gpu_hosts import kernel, xid
from corpus.compose._gpu_tape import Tape, bar, marked, mixed, traceback
from corpus.compose._gpu_torch import cuda_error, oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "pyxis (pyxis_slurmstepd.c, issues 101 and 166), enroot 3.5, srun of Slurm 23.11 (labelled output, step messages), sources and issue threads of NeMo 2.0-2.4 ASR, Lhotse 1.28, Lightning 2.4 and ESPnet2 202402 (trainer and reporter lines), PyTorch 2.4-2.6, NVIDIA Xid catalog"
_NEMO = "/opt/NeMo"
_SITE = "/usr/local/lib/python3.10/dist-packages"
_ESPNET = "/opt/espnet"


def logs() -> Iterator[ComposedLog]:
    """Recipes of one speech group; each line of a task has its number in front."""
    yield _mount_of_a_corpus()
    yield _joint_of_long_cuts()
    yield _decoded_on_the_host()
    yield _espnet_overnight()
    yield _manifest_line()
    yield _key_of_the_data()
    yield _other_vocabulary()
    yield _collate_of_ids()
    yield _second_card()
    yield _cuts_left_out()


def _pyxis(tape: Tape, image: str, tasks: Sequence[int]) -> None:
    for at in tasks:
        tape.say(f"{at}: pyxis: importing docker image: {image}")
    tape.wait(41)
    for at in tasks:
        tape.say(f"{at}: pyxis: imported docker image: {image}")


def _nemo(tape: Tape, tasks: int, *, files: int = 581_104, hours: float = 1966.4) -> None:
    stamp = tape.when()
    tape.say(
        f"0: [NeMo W {stamp} nemo_logging:405] {_SITE}/pydub/utils.py:170: RuntimeWarning: Couldn't find ffmpeg or avconv - defaulting to ffmpeg, but may not work",
        '0:       warn("Couldn\'t find ffmpeg or avconv - defaulting to ffmpeg, but may not work", RuntimeWarning)',
        "0:     ",
        f"0: [NeMo I {stamp} nemo_logging:393] Hydra config: ",
        *(
            f"0:     {line}"
            for line in (
                "name: FastConformer-BPE",
                "model:",
                "  sample_rate: 16000",
                "  log_prediction: true",
                "  skip_nan_grad: false",
                "trainer:",
                f"  devices: {tasks}",
                "  precision: bf16",
            )
        ),
        "0: GPU available: True (cuda), used: True",
        "0: TPU available: False, using: 0 TPU cores",
    )
    tape.wait(9)
    stamp = tape.when()
    tape.say(
        mixed(
            tape,
            *(
                f"{at}: [NeMo I {stamp} nemo_logging:393] Tokenizer SentencePieceTokenizer initialized with 1024 tokens\n"
                f"{at}: Initializing distributed: GLOBAL_RANK: {at}, MEMBER: {at + 1}/{tasks}"
                for at in range(tasks)
            ),
        ),
        f"0: [NeMo I {stamp} nemo_logging:393] Dataset loaded with {files} files totalling {hours:.2f} hours",
        f"0: [NeMo I {stamp} nemo_logging:393] {files // 977} files were filtered totalling {hours / 410:.2f} hours",
        "0: ----------------------------------------------------------------------------------------------------",
        "0: distributed_backend=nccl",
        f"0: All distributed processes registered. Starting with {tasks} processes",
        "0: ----------------------------------------------------------------------------------------------------",
        "0: ",
        "0:   | Name              | Type                              | Params | Mode ",
        "0: --------------------------------------------------------------------------------",
        "0: 0 | preprocessor      | AudioToMelSpectrogramPreprocessor | 0      | train",
        "0: 1 | encoder           | ConformerEncoder                  | 108 M  | train",
        "0: 2 | spec_augmentation | SpectrogramAugmentation           | 0      | train",
        "0: 3 | wer               | WER                               | 0      | train",
    )


def _steps(tape: Tape, epoch: int, numbers: Sequence[int], total: int = 4540) -> None:
    for at in numbers:
        tape.wait(47)
        drawn = bar(
            f"Epoch {epoch}",
            at,
            total,
            0.468,
            f", v_num=0-31, train_step_timing in s={tape.near(0.47, 0.04):.3f}",
        )
        tape.say("0: " + drawn)


def _predicted(tape: Tape, reference: str, said: str) -> None:
    stamp = tape.when()
    tape.say(
        f"0: [NeMo I {stamp} nemo_logging:393] ",
        "0:     ",
        f"0: [NeMo I {stamp} nemo_logging:393] WER reference:{reference}",
        f"0: [NeMo I {stamp} nemo_logging:393] WER predicted:{said}",
    )


def _left(tape: Tape, host: str, others: str, number: int, code: int, job: int) -> None:
    tape.wait(4)
    tape.say(
        f"srun: error: {host}: task {number}: Exited with exit code {code}",
        f"srun: Terminating StepId={job}.0",
        f"0: slurmstepd: error: *** STEP {job}.0 ON {host} CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} ***",
        f"srun: error: {host}: tasks {others}: Terminated",
        f"srun: Force Terminated StepId={job}.0",
    )


def _espnet(tape: Tape, host: str, numbers: Sequence[int], *, epoch: int = 1) -> None:
    for at in numbers:
        tape.wait(38)
        acc = 0.93 - 0.6 / (1 + (at + 2000 * (epoch - 1)) / 900)
        tape.say(
            f"0: [{host}:0/4] {tape.milli()} (trainer:779) INFO: {epoch}epoch:train:{at - 99}-{at}batch: iter_time={tape.near(1.1e-4, 0.2):.3e}, forward_time={tape.near(0.142, 0.05):.3f}, loss_ctc={tape.near(62 * (1 - acc) * 4, 0.06):.3f}, loss_att={tape.near(51 * (1 - acc) * 4, 0.06):.3f}, acc={tape.near(acc, 0.01):.3f}, loss={tape.near(54 * (1 - acc) * 4, 0.06):.3f}, backward_time={tape.near(0.201, 0.05):.3f}, grad_norm={tape.near(38, 0.4):.3f}, clip=100.000, loss_scale={65536 * 2 ** (at // 700):.3e}, optim_step_time={tape.near(0.046, 0.03):.3f}, optim0_lr0={at * 8e-8:.3e}, train_time={tape.near(1.52, 0.04):.3f}"
        )


def _espnet_start(tape: Tape, host: str) -> None:
    tape.say(
        f"0: [{host}:0/4] {tape.milli()} (asr:500) INFO: Vocabulary size: 5000",
        f"0: [{host}:0/4] {tape.milli()} (abs_task:1271) INFO: pytorch.version=2.4.1+cu124, cuda.available=True, cudnn.version=90100, cudnn.benchmark=False, cudnn.deterministic=True",
        f"0: [{host}:0/4] {tape.milli()} (abs_task:1275) INFO: Model summary:",
        "0:     Class Name: ESPnetASRModel",
        "0:     Total Number of model parameters: 116.15 M",
        "0:     Number of trainable parameters: 116.15 M (100.0%)",
        f'0: [{host}:0/4] {tape.milli()} (abs_task:1655) INFO: [train] dataset:\n0: ESPnetDataset(\n0:   speech: {{"path": "dump/raw/train_sp/wav.scp", "type": "kaldi_ark"}}\n0:   text: {{"path": "dump/raw/train_sp/text", "type": "text"}}\n0:   preprocess: espnet2.train.preprocessor.CommonPreprocessor)',
        f"0: [{host}:0/4] {tape.milli()} (abs_task:1656) INFO: [train] Batch sampler: NumElementsBatchSampler(N-batch=20312, batch_bins=160000000, sort_in_batch=descending, sort_batch=descending)",
        f"0: [{host}:0/4] {tape.milli()} (trainer:311) INFO: 1/35epoch started",
    )


def _mount_of_a_corpus() -> ComposedLog:
    tape = Tape(11101, "2025-05-12 09:30:00")
    image = "nvcr.io#nvidia/nemo:25.02"
    _pyxis(tape, image, (0, 4))
    for at in (0, 4):
        tape.say(
            f"{at}: slurmstepd: error: pyxis: container start failed with error code: 1",
            f"{at}: slurmstepd: error: pyxis: printing enroot log file:",
            f"{at}: slurmstepd: error: pyxis:     enroot-mount: failed to mount: /lustre/corpora/mls_german at /raid/enroot/data/user-51172/pyxis_90211.0/data: No such file or directory",
            f"{at}: slurmstepd: error: pyxis:     [ERROR] /etc/enroot/hooks.d/10-localtime.sh exited with return code 1",
            f"{at}: slurmstepd: error: pyxis: couldn't start container",
            f"{at}: slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
            f"{at}: slurmstepd: error: Failed to invoke spank plugin stack",
        )
    tape.say(
        "srun: error: hgx-03: tasks 0-3: Exited with exit code 1",
        "srun: error: hgx-04: tasks 4-7: Exited with exit code 1",
    )
    return log(
        tape,
        "mount_of_a_corpus",
        "file_not_found",
        1,
        _BASIS,
        command="srun -l --container-image=nvcr.io#nvidia/nemo:25.02 --container-mounts=/lustre/corpora/mls_german:/data python train.py",
        why="the folder to be mounted into the container does not exist on the nodes",
        pyxis="0.20.0",
    )


def _joint_of_long_cuts() -> ComposedLog:
    tape = Tape(11102, "2025-06-03 22:10:00")
    _pyxis(tape, "nvcr.io#nvidia/nemo:25.04", (0,))
    _nemo(tape, 4)
    _steps(tape, 0, range(100, 901, 100))
    _predicted(tape, "und dann fuhren wir an die see", "und dan fuhren wir an die se")
    _steps(tape, 0, range(1000, 1201, 100))
    frames = """
        /opt/NeMo/examples/asr/asr_transducer/speech_to_text_rnnt_bpe.py:109 <module> | main()
        /opt/NeMo/nemo/core/config/hydra_runner.py:129 wrapper | _run_hydra(
        /opt/NeMo/examples/asr/asr_transducer/speech_to_text_rnnt_bpe.py:100 main | trainer.fit(asr_model)
        /opt/NeMo/nemo/utils/model_utils.py:477 wrap_training_step | output_dict = wrapped(*args, **kwargs)
        /opt/NeMo/nemo/collections/asr/models/rnnt_models.py:735 training_step | loss_value, wer, _, _ = self.joint(
        CALL 2.6
        /opt/NeMo/nemo/collections/asr/modules/rnnt.py:1423 forward | sub_joint = self.joint(sub_enc, sub_dec)
        /opt/NeMo/nemo/collections/asr/modules/rnnt.py:1581 joint_after_projection | res = self.joint_net(inp)  # [B, T, U, V + 1]
        CALL 2.6
    """
    for number in (2, 0):
        tape.say(
            marked(
                f"{number}: ",
                f"[rank{number}]: "
                + f"\n[rank{number}]: ".join(
                    traceback(
                        frames,
                        oom(
                            "2.6",
                            "14.06 GiB",
                            gpu=number,
                            free="9.31 GiB",
                            used="69.78 GiB",
                            allocated="58.20 GiB",
                            idle="10.77 GiB",
                        ),
                        site=_SITE,
                    ).split("\n")
                ),
            )
        )
    _left(tape, "hgx-11", "1,3", 2, 1, 90544)
    return log(
        tape,
        "joint_of_long_cuts",
        "cuda_oom",
        1,
        _BASIS,
        command="srun -l --container-name=nemo python speech_to_text_rnnt_bpe.py --config-name fastconformer_transducer",
        nemo="2.3.0",
        torch="2.6.0",
    )


def _decoded_on_the_host() -> ComposedLog:
    tape = Tape(11103, "2025-04-22 13:00:00")
    _nemo(tape, 4, files=2_310_556, hours=9870.1)
    _steps(tape, 0, range(50, 551, 50), total=18051)
    tape.say(
        "0: slurmstepd: error: Detected 3 oom_kill events in StepId=88120.0. Some of the step tasks have been OOM Killed.",
        "srun: error: hgx-07: task 3: Out Of Memory",
        "srun: Terminating StepId=88120.0",
        "1: [rank1]:[E422 13:08:44.100287120 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 1] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.23.4",
        f"0: slurmstepd: error: *** STEP 88120.0 ON hgx-07 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} ***",
        "srun: error: hgx-07: tasks 0-2: Terminated",
        "+ sacct -j 88120 --format JobID,JobName%12,State,ExitCode,MaxRSS,Elapsed,NodeList",
        sacct(
            [
                ("88120", "parakeet", "RUNNING", "0:0", "", "00:08:51", "hgx-07"),
                ("88120.batch", "batch", "RUNNING", "0:0", "", "00:08:51", "hgx-07"),
                (
                    "88120.0",
                    "python",
                    "OUT_OF_ME+",
                    "0:125",
                    "515390212K",
                    "00:08:44",
                    "hgx-07",
                ),
            ]
        ),
    )
    return log(
        tape,
        "decoded_on_the_host",
        "oom_killer",
        None,
        _BASIS,
        command="sbatch parakeet.sbatch",
        nemo="2.2.1",
    )


def _espnet_overnight() -> ComposedLog:
    tape = Tape(11104, "2025-02-11 18:00:00")
    _espnet_start(tape, "a100-05")
    _espnet(tape, "a100-05", range(100, 2001, 100))
    tape.say(
        f"0: [a100-05:0/4] {tape.milli()} (trainer:365) INFO: 1epoch results: [train] iter_time=1.102e-04, forward_time=0.143, loss_ctc=71.220, loss_att=60.004, acc=0.633, loss=63.369, backward_time=0.202, optim_step_time=0.046, optim0_lr0=8.000e-05, train_time=1.523, time=50 minutes and 46.11 seconds, total_count=2000, gpu_max_cached_mem_GB=37.611, [valid] loss_ctc=33.018, acc=0.781, cer=0.204, wer=0.611, cer_ctc=0.188, loss=29.442, time=1 minute and 2.4 seconds, total_count=61",
        f"0: [a100-05:0/4] {tape.milli()} (trainer:420) INFO: The best model has been updated: valid.acc",
        f"0: [a100-05:0/4] {tape.milli()} (trainer:302) INFO: 2/35epoch started. Estimated time to finish: 1 day, 5 hours and 22 minutes",
    )
    _espnet(tape, "a100-05", range(100, 1301, 100), epoch=2)
    tape.say(
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        f"0: slurmstepd: error: *** STEP 77012.0 ON a100-05 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} DUE TO TIME LIMIT ***",
        "srun: error: a100-05: tasks 0-3: Terminated",
        "srun: Force Terminated StepId=77012.0",
        f"slurmstepd: error: *** JOB 77012 ON a100-05 CANCELLED AT {tape.when('%Y-%m-%dT%H:%M:%S')} DUE TO TIME LIMIT ***",
    )
    return log(
        tape,
        "espnet_overnight",
        "time_limit",
        143,
        _BASIS,
        command="srun -l python -m espnet2.bin.asr_train --config conf/train_asr_conformer.yaml",
        espnet="202402",
        torch="2.4.1",
    )


def _manifest_line() -> ComposedLog:
    tape = Tape(11105, "2025-03-18 11:05:00")
    stamp = tape.when()
    tape.say(
        f"0: [NeMo I {stamp} nemo_logging:393] Experiments will be logged at /results/FastConformer-CTC-BPE/2025-03-18_11-05-00",
        f"0: [NeMo I {stamp} nemo_logging:393] TensorboardLogger has been set up",
        f"0: [NeMo I {stamp} nemo_logging:393] Tokenizer SentencePieceTokenizer initialized with 512 tokens",
        f"1: [NeMo I {stamp} nemo_logging:393] Tokenizer SentencePieceTokenizer initialized with 512 tokens",
        mixed(
            tape,
            *(
                marked(
                    f"{number}: ",
                    "Error executing job with overrides: ['model.train_ds.manifest_filepath=/data/cv17/train.json', 'trainer.devices=2']\n"
                    + traceback(
                        """
                /opt/NeMo/examples/asr/asr_ctc/speech_to_text_ctc_bpe.py:85 main | asr_model = EncDecCTCModelBPE(cfg=cfg.model, trainer=trainer)
                /opt/NeMo/nemo/collections/asr/models/ctc_bpe_models.py:73 __init__ | super().__init__(cfg=cfg, trainer=trainer)
                /opt/NeMo/nemo/core/classes/modelPT.py:154 __init__ | self.setup_training_data(self._cfg.train_ds)
                /opt/NeMo/nemo/collections/asr/data/audio_to_text.py:480 __init__ | self.manifest_processor = ASRManifestProcessor(
                /opt/NeMo/nemo/collections/common/parts/preprocessing/manifest.py:65 item_iter | item = parse_func(line, manifest_file)
                /opt/NeMo/nemo/collections/common/parts/preprocessing/manifest.py:144 __parse_item | raise ValueError(
                """,
                        'ValueError: Manifest file /data/cv17/train.json has invalid json line structure: {"audio_filepath": "clips/common_voice_de_19736074.wav", "text": "wie spaet ist es"} without proper duration key.',
                        site=_SITE,
                    )
                    + "\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
                )
                for number in (0, 1)
            ),
        ),
        "srun: error: dgx-02: tasks 0-1: Exited with exit code 1",
    )
    return log(
        tape,
        "manifest_line",
        "data",
        1,
        _BASIS,
        command="srun -l python speech_to_text_ctc_bpe.py model.train_ds.manifest_filepath=/data/cv17/train.json",
        paper_class="traceback",
        nemo="2.1.0",
    )


def _key_of_the_data() -> ComposedLog:
    tape = Tape(11106, "2025-09-01 16:40:00")
    _pyxis(tape, "nvcr.io#nvidia/nemo:25.07", (0,))
    for number in range(4):
        tape.say(
            f"{number}: [NeMo W {tape.when()} nemo_logging:405] Megatron num_microbatches_calculator not found, using Apex version.",
        )
    for number in (1, 0, 3, 2):
        tape.say(
            marked(
                f"{number}: ",
                "Could not override 'model.train_ds.max_durations'.\nTo append to your config use +model.train_ds.max_durations=16.7\nKey 'max_durations' is not in struct\n    full_key: model.train_ds.max_durations\n    object_type=dict\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
            )
        )
    tape.say("srun: error: hgx-21: tasks 0-3: Exited with exit code 1")
    return log(
        tape,
        "key_of_the_data",
        "config",
        1,
        _BASIS,
        command="srun -l python speech_to_text_finetune.py model.train_ds.max_durations=16.7",
        paper_class=None,
        nemo="2.4.0",
    )


def _other_vocabulary() -> ComposedLog:
    tape = Tape(11107, "2025-07-09 08:12:00")
    _nemo(tape, 2, files=41_220, hours=61.9)
    stamp = tape.when()
    tape.say(
        f"0: [NeMo I {stamp} nemo_logging:393] Resuming training from checkpoint: /results/fc_de/checkpoints/fc_de-last.ckpt",
        "0: Restoring states from the checkpoint path at /results/fc_de/checkpoints/fc_de-last.ckpt",
    )
    for number in (0, 1):
        tape.say(
            marked(
                f"{number}: ",
                traceback(
                    """
                /opt/NeMo/examples/asr/asr_ctc/speech_to_text_ctc_bpe.py:91 main | trainer.fit(asr_model)
                @lightning/pytorch/trainer/connectors/checkpoint_connector.py:282 restore_model | self.trainer.strategy.load_model_state_dict(
                @lightning/pytorch/strategies/strategy.py:372 load_model_state_dict | self.lightning_module.load_state_dict(checkpoint["state_dict"], strict=strict)
                @torch/nn/modules/module.py:2593 load_state_dict | raise RuntimeError(
                """,
                    "RuntimeError: Error(s) in loading state_dict for EncDecCTCModelBPE:\n\tsize mismatch for decoder.decoder_layers.0.weight: copying a param with shape torch.Size([513, 512, 1]) from checkpoint, the shape in current model is torch.Size([1025, 512, 1]).\n\tsize mismatch for decoder.decoder_layers.0.bias: copying a param with shape torch.Size([513]) from checkpoint, the shape in current model is torch.Size([1025]).",
                    site=_SITE,
                ),
            )
        )
    tape.say("srun: error: hgx-15: tasks 0-1: Exited with exit code 1")
    return log(
        tape,
        "other_vocabulary",
        "checkpoint",
        1,
        _BASIS,
        command="srun -l python speech_to_text_ctc_bpe.py exp_manager.resume_if_exists=true",
        paper_class="runtime_error",
        nemo="2.3.1",
    )


def _collate_of_ids() -> ComposedLog:
    tape = Tape(11108, "2025-01-29 20:20:00")
    _espnet_start(tape, "a100-02")
    tape.say(
        *(
            f"{at}: [W129 20:20:31.{tape.rng.randrange(10**9):09d} Utils.hpp:110] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead (function operator())"
            for at in range(4)
        ),
        mixed(
            tape,
            *(
                marked(
                    f"{number}: ",
                    traceback(
                        """
                /usr/lib/python3.10/runpy.py:86 _run_code | exec(code, run_globals)
                /opt/espnet/espnet2/bin/asr_train.py:23 <module> | main()
                /opt/espnet/espnet2/tasks/abs_task.py:1156 main | cls.main_worker(args)
                /opt/espnet/espnet2/train/trainer.py:318 run | all_steps_are_invalid = cls.train_one_epoch(
                /opt/espnet/espnet2/train/trainer.py:590 train_one_epoch | retval = model(**batch)
                CALL 2.4
                @torch/nn/parallel/distributed.py:1454 _run_ddp_forward | return self.module(*inputs, **kwargs)
                CALL 2.4
                /opt/espnet/espnet2/asr/espnet_model.py:251 forward | self.text_lengths.update(text_lengths, utt_id)
                @torch/nn/modules/module.py:1729 __getattr__ | raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
                """,
                        "AttributeError: 'ESPnetASRModel' object has no attribute 'text_lengths'. Did you mean: 'text_length'?",
                        site=_SITE,
                    ),
                )
                for number in (0, 2)
            ),
        ),
    )
    _left(tape, "a100-02", "1,3", 0, 1, 70333)
    return log(
        tape,
        "collate_of_ids",
        "traceback",
        1,
        _BASIS,
        command="srun -l python -m espnet2.bin.asr_train --config conf/train_asr_utt.yaml",
        espnet="202402",
    )


def _second_card() -> ComposedLog:
    tape = Tape(11109, "2025-08-15 02:00:00")
    _espnet_start(tape, "a100-09")
    _espnet(tape, "a100-09", range(100, 1101, 100))
    tape.say(
        marked(
            "1: ",
            traceback(
                """
            /opt/espnet/espnet2/train/trainer.py:318 run | all_steps_are_invalid = cls.train_one_epoch(
            /opt/espnet/espnet2/train/trainer.py:650 train_one_epoch | scaler.scale(loss).backward()
            @torch/_tensor.py:521 backward | torch.autograd.backward(
            @torch/autograd/graph.py:769 _engine_run_backward | return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
            """,
                cuda_error("2.4", "unspecified launch failure").rstrip("\n"),
                site=_SITE,
            ),
        ),
    )
    _left(tape, "a100-09", "0,2-3", 1, 1, 79901)
    tape.say(
        "+ srun -w a100-09 dmesg -T | grep -i nvrm | tail -n 4",
        kernel(
            tape,
            "a100-09",
            xid(
                "0000:4e:00",
                79,
                "GPU has fallen off the bus.",
                pid=None,
            ),
            "NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.",
            "NVRM: A GPU crash dump has been created. If possible, please run",
            "NVRM: nvidia-bug-report.sh as root to collect this data before",
            form="dmesg -T",
        ),
    )
    return log(
        tape,
        "second_card",
        "gpu_hardware",
        1,
        _BASIS,
        command="bash run.sh --stage 11 --ngpu 4",
        paper_class="cuda_runtime",
        espnet="202402",
        torch="2.4.1",
    )


def _cuts_left_out() -> ComposedLog:
    tape = Tape(11110, "2025-10-06 07:00:00")
    _pyxis(tape, "nvcr.io#nvidia/nemo:25.07", (0,))
    _nemo(tape, 4, files=96_411, hours=151.2)
    _steps(tape, 0, range(100, 401, 100), total=702)
    tape.say(
        "2: WARNING:root:[2] Failed to load audio from cut mls-3391-77: LibsndfileError: Error opening '/data/mls/3391/77.opus': Format not recognised. Skipping it (fault_tolerant=True).",
        f"1: [NeMo W {tape.when()} nemo_logging:405] Exception in thread of tar reader: ReadError('unexpected end of data') in /data/shards/audio_0412.tar, restarting at the next shard",
        "3: audioread.exceptions.NoBackendError\n3: WARNING:root:[3] Failed to load audio from cut mls-881-4: skipping it",
    )
    _steps(tape, 0, range(500, 703, 100), total=702)
    _predicted(tape, "das ist nicht der fehler", "das ist nicht der fehler")
    tape.say(
        "0: Epoch 0, global step 702: 'val_wer' reached 0.14120 (best 0.14120), saving model to '/results/ft/checkpoints/ft--val_wer=0.1412-epoch=0.ckpt' as top 3",
    )
    _steps(tape, 1, range(200, 702, 250), total=702)
    tape.say(
        "0: Epoch 1, global step 1404: 'val_wer' reached 0.12770 (best 0.12770), saving model to '/results/ft/checkpoints/ft--val_wer=0.1277-epoch=1.ckpt' as top 3",
        "0: `Trainer.fit` stopped: `max_epochs=2` reached.",
        f"0: [NeMo I {tape.when()} nemo_logging:393] Saving .nemo file to /results/ft/checkpoints/ft.nemo",
        *(
            f"{at}: [rank{at}]:[W1006 07:08:55.{tape.rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:1476] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())"
            for at in range(4)
        ),
    )
    return log(
        tape,
        "cuts_left_out",
        "none",
        0,
        _BASIS,
        command="srun -l python speech_to_text_finetune.py trainer.max_epochs=2",
        nemo="2.4.0",
        lhotse="1.30.3",
    )
