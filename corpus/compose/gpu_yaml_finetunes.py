"""Fine-tuning from a settings file on one workstation card or node: Axolotl, LLaMA-Factory, Unsloth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, bar, chained, traceback
from corpus.compose._gpu_torch import oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources and issue threads of LLaMA-Factory 0.9.1-0.9.3 (parser, converter, loader; issues 7577, 6924, 5503), Axolotl 0.8-0.12 (log format, pydantic schema), Unsloth 2025.2-2025.9 (banner), bitsandbytes 0.45-0.48 (cextension.py), Transformers 4.46-4.55 (Trainer, logging, dependency check), safetensors 0.5"
_SITE = "/home/user/miniforge3/envs/tune/lib/python3.11/site-packages"
_FACTORY = "/home/user/LLaMA-Factory/src/llamafactory"
_AXOLOTL = "/workspace/axolotl/src/axolotl"
_CLI = """
/home/user/miniforge3/envs/tune/bin/llamafactory-cli:8 <module> | sys.exit(main())
/home/user/LLaMA-Factory/src/llamafactory/cli.py:151 main | COMMAND_MAP[command]()
/home/user/LLaMA-Factory/src/llamafactory/train/tuner.py:110 run_exp | _training_function(config={"args": args, "callbacks": callbacks})
/home/user/LLaMA-Factory/src/llamafactory/train/tuner.py:72 _training_function | run_sft(model_args, data_args, training_args, finetuning_args, generating_args, callbacks)
"""


def logs() -> Iterator[ComposedLog]:
    """The usual week of somebody who tunes adapters with settings files."""
    yield _unknown_rank_key()
    yield _closed_model()
    yield _column_of_turns()
    yield _no_binary_for_the_toolkit()
    yield _pinned_transformers()
    yield _attention_package()
    yield _longer_sequences()
    yield _norms_gone()
    yield _last_save()
    yield _merged_in_the_end()
    yield _dropped_key()


def _hf(tape: Tape, module: str, text: str) -> str:
    return f"[INFO|{module}] {tape.milli()} >> {text}"


def _factory(tape: Tape, dataset: str, *, count: int = 18_211) -> None:
    stamp = tape.when()
    tape.say(
        f"[INFO|{stamp}] llamafactory.hparams.parser:401 >> Process rank: 0, world size: 1, device: cuda:0, distributed training: False, compute dtype: torch.bfloat16",
        _hf(tape, "tokenization_utils_base.py:2023", "loading file vocab.json"),
        _hf(tape, "tokenization_utils_base.py:2023", "loading file merges.txt"),
        _hf(tape, "tokenization_utils_base.py:2023", "loading file tokenizer.json"),
        _hf(tape, "tokenization_utils_base.py:2023", "loading file added_tokens.json"),
        f"[INFO|{tape.when()}] llamafactory.data.loader:143 >> Loading dataset {dataset}...",
        f"\rGenerating train split: 0 examples [00:00, ? examples/s]\rGenerating train split: {count} examples [00:00, 88231.20 examples/s]",
    )


def _trainer(
    tape: Tape,
    numbers: Sequence[int],
    total: int,
    *,
    seconds: float = 2.4,
    gone: int = 10**9,
    start: float = 1.9,
) -> None:
    for at in numbers:
        tape.wait(seconds * 10)
        broken = at >= gone
        loss = 0.0 if broken else round(start * (0.55 + 0.45 / (1 + 5 * at / total)), 4)
        norm = "nan" if broken else f"{tape.near(0.9, 0.4):.8f}"
        tape.say(
            "\r" + bar("", at, total, seconds),
            f"{{'loss': {loss if broken else round(tape.near(loss, 0.03), 4)}, 'grad_norm': {norm}, 'learning_rate': {2e-4 * (1 - at / total):.6g}, 'epoch': {3 * at / total:.2f}}}",
        )


def _sloth(
    tape: Tape, model: str, *, card: str = "NVIDIA GeForce RTX 4090", memory: str = "23.65"
) -> None:
    tape.say(
        "🦥 Unsloth: Will patch your computer to enable 2x faster free finetuning.",
        "🦥 Unsloth Zoo will now patch everything to make training faster!",
        f"==((====))==  Unsloth 2025.6.8: Fast {model} patching. Transformers: 4.52.4.",
        f"   \\\\   /|    {card}. Num GPUs = 1. Max memory: {memory} GB. Platform: Linux.",
        "O^O/ \\_/ \\    Torch: 2.7.0+cu126. CUDA: 8.9. CUDA Toolkit: 12.6. Triton: 3.3.0",
        "\\        /    Bfloat16 = TRUE. FA [Xformers = 0.0.30. FA2 = False]",
        ' "-____-"     Free license: http://github.com/unslothai/unsloth',
        "Unsloth: Fast downloading is enabled - ignore downloading bars which are red colored!",
        "\r" + bar("Loading checkpoint shards", 2, 2, 1.9),
        "Unsloth 2025.6.8 patched 28 layers with 28 QKV layers, 28 O layers and 28 MLP layers.",
        'Unsloth: Tokenizing ["text"] (num_proc=16): 100%|██████████| 9100/9100 [00:03<00:00, 2871.52 examples/s]',
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1",
        "   \\\\   /|    Num examples = 9,100 | Num Epochs = 3 | Total steps = 1,707",
        "O^O/ \\_/ \\    Batch size per device = 4 | Gradient accumulation steps = 4",
        "\\        /    Data Parallel GPUs = 1 | Total batch size (4 x 4 x 1) = 16",
        ' "-____-"     Trainable parameters = 40,370,176/7,000,000,000 (0.58% trained)',
    )


def _axolotl(tape: Tape, level: str, place: str, text: str) -> str:
    return f"[{tape.milli()}] [{level}] [axolotl.{place}] [PID:2214] [RANK:0] {text}"


_LETTERS = """
     #@@ #@@      @@# @@#
    @@  @@          @@  @@           =@@#                               @@                 #@    =@@#.
    @@    #@@@@@@@@@    @@           #@#@=                              @@                 #@     .=@@
      #@@@@@@@@@@@@@@@@@            =@# @#     ##=     ##    =####=+    @@      =#####+  =#@@###.   @@
"""


def _unknown_rank_key() -> ComposedLog:
    tape = Tape(11201, "2025-05-21 10:00:00")
    tape.say(
        "usage: llamafactory-cli [-h] --model_name_or_path MODEL_NAME_OR_PATH [--adapter_name_or_path ADAPTER_NAME_OR_PATH]\n                        [--lora_alpha LORA_ALPHA] [--lora_dropout LORA_DROPOUT] [--lora_rank LORA_RANK]\n                        [--lora_target LORA_TARGET] [--template TEMPLATE] [--dataset DATASET]",
        "Got unknown args, potentially deprecated arguments: ['--lora_r', '16', '--save_every', '200']",
        traceback(
            """
            /home/user/miniforge3/envs/tune/bin/llamafactory-cli:8 <module> | sys.exit(main())
            /home/user/LLaMA-Factory/src/llamafactory/cli.py:151 main | COMMAND_MAP[command]()
            /home/user/LLaMA-Factory/src/llamafactory/train/tuner.py:52 _training_function | model_args, data_args, training_args, finetuning_args, generating_args = get_train_args(args)
            /home/user/LLaMA-Factory/src/llamafactory/hparams/parser.py:90 _parse_args | raise ValueError(f"Some specified arguments are not used by the HfArgumentParser: {unknown_args}")
            """,
            "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--lora_r', '16', '--save_every', '200']",
            site=_SITE,
        ),
    )
    return log(
        tape,
        "unknown_rank_key",
        "config",
        1,
        _BASIS,
        command="llamafactory-cli train --stage sft --lora_r 16 --save_every 200",
        paper_class="traceback",
        llamafactory="0.9.2",
    )


def _closed_model() -> ComposedLog:
    tape = Tape(11202, "2025-02-27 19:22:00")
    model = "meta-llama/Llama-3.1-8B-Instruct"
    tape.say(
        f"[INFO|{tape.when()}] llamafactory.hparams.parser:359 >> Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: False, compute dtype: torch.bfloat16",
        chained(
            traceback(
                """
                @huggingface_hub/utils/_http.py:406 hf_raise_for_status | response.raise_for_status()
                @requests/models.py:1024 raise_for_status | raise HTTPError(http_error_msg, response=self)
                """,
                f"requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/{model}/resolve/main/config.json",
                site=_SITE,
            ),
            traceback(
                _CLI
                + dedent("""
                /home/user/LLaMA-Factory/src/llamafactory/train/sft/workflow.py:48 run_sft | tokenizer_module = load_tokenizer(model_args)
                @transformers/utils/hub.py:426 cached_file | raise EnvironmentError(
                """),
                f"OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/{model}.\n403 Client Error. (Request ID: Root=1-67c0bb8e-4f0c;a1)\n\nCannot access gated repo for url https://huggingface.co/{model}/resolve/main/config.json.\nYour request to access model {model} is awaiting a review from the repo authors.",
                site=_SITE,
            ),
            direct=True,
        ),
    )
    return log(
        tape,
        "closed_model",
        "asset",
        1,
        _BASIS,
        command="llamafactory-cli train llama31_lora.yaml",
        paper_class="traceback",
        llamafactory="0.9.1",
    )


def _column_of_turns() -> ComposedLog:
    tape = Tape(11203, "2025-04-04 08:41:00")
    _factory(tape, "support_chats.json")
    tape.say(
        "\rConverting format of dataset (num_proc=16):   0%|          | 0/18211 [00:00<?, ? examples/s]\rConverting format of dataset (num_proc=16):   0%|          | 0/18211 [00:00<?, ? examples/s]",
        'multiprocess.pool.RemoteTraceback: \n"""\n'
        + traceback(
            """
            @multiprocess/pool.py:125 worker | result = (True, func(*args, **kwds))
            @datasets/utils/py_utils.py:680 _write_generator_to_queue | for i, result in enumerate(func(**kwargs)):
            @datasets/arrow_dataset.py:3497 _map_single | for i, example in iter_outputs(shard_iterable):
            /home/user/LLaMA-Factory/src/llamafactory/data/converter.py:155 __call__ | if message[self.dataset_attr.role_tag] not in accept_tags[turn_idx % 2]:
            """,
            "KeyError: 'from'",
            site=_SITE,
            carets=True,
        )
        + '\n"""\n\nThe above exception was the direct cause of the following exception:\n',
        traceback(
            _CLI
            + dedent("""
            /home/user/LLaMA-Factory/src/llamafactory/train/sft/workflow.py:51 run_sft | dataset_module = get_dataset(template, model_args, data_args, training_args, stage="sft", **tokenizer_module)
            /home/user/LLaMA-Factory/src/llamafactory/data/loader.py:197 _get_merged_dataset | datasets[dataset_name] = _load_single_dataset(dataset_attr, model_args, data_args, training_args)
            /home/user/LLaMA-Factory/src/llamafactory/data/converter.py:279 align_dataset | return dataset.map(
            @multiprocess/pool.py:774 get | raise self._value
            """),
            "KeyError: 'from'",
            site=_SITE,
            carets=True,
        ),
    )
    return log(
        tape,
        "column_of_turns",
        "data",
        1,
        _BASIS,
        command="llamafactory-cli train qwen_chats.yaml",
        paper_class="traceback",
        why="the turns of the chats have other keys than the format that the program converts",
        llamafactory="0.9.3",
    )


def _no_binary_for_the_toolkit() -> ComposedLog:
    tape = Tape(11204, "2025-11-03 12:00:00")
    tape.say(
        f"bitsandbytes library load error: Configured CUDA binary not found at {_SITE}/bitsandbytes/libbitsandbytes_cuda130.so",
        traceback(
            """
            @bitsandbytes/cextension.py:318 <module> | lib = get_native_library()
            @bitsandbytes/cextension.py:282 get_native_library | raise RuntimeError(f"Configured {BNB_BACKEND} binary not found at {cuda_binary_path}")
            """,
            f"RuntimeError: Configured CUDA binary not found at {_SITE}/bitsandbytes/libbitsandbytes_cuda130.so",
            site=_SITE,
        ),
        _LETTERS,
        _axolotl(
            tape,
            "INFO",
            "utils.schemas.config",
            "explicitly setting `eval_sample_packing` to match `sample_packing`",
        ),
        _axolotl(tape, "INFO", "loaders.model", "Loading model in 4-bit"),
        "\rLoading checkpoint shards:   0%|          | 0/4 [00:00<?, ?it/s]",
        traceback(
            """
            /workspace/axolotl/src/axolotl/cli/train.py:121 <module> | fire.Fire(do_cli)
            /workspace/axolotl/src/axolotl/train.py:66 setup_model_and_tokenizer | model, peft_config = model_loader.load()
            /workspace/axolotl/src/axolotl/loaders/model.py:702 _build_model | self.model = self.auto_model_loader.from_pretrained(
            @transformers/quantizers/quantizer_bnb_4bit.py:237 create_quantized_param | new_value = bnb.nn.Params4bit(new_value, requires_grad=False, **kwargs).to(target_device)
            @bitsandbytes/backends/cuda/ops.py:351 _ | lib.cquantize_blockwise_bf16_nf4(*args)
            @bitsandbytes/cextension.py:265 throw_on_call | raise RuntimeError(f"{self.formatted_error}Native code method attempted to call: lib.{name}()")
            """,
            """
            RuntimeError:
            🚨 CUDA VERSION MISMATCH 🚨
            Requested CUDA version:          13.0
            Detected PyTorch CUDA version:   13.0
            Available pre-compiled versions:
              - 11.8
              - 12.0
              - 12.6
              - 12.8
              - 12.9

            This means:
            The version you're trying to use is NOT distributed with this package
            Native code method attempted to call: lib.cquantize_blockwise_bf16_nf4()
            """,
            site=_SITE,
        ),
    )
    return log(
        tape,
        "no_binary_for_the_toolkit",
        "cuda_environment",
        1,
        _BASIS,
        command="axolotl train qlora-8b.yml",
        paper_class="runtime_error",
        why="the installed bitsandbytes has no library for this version of CUDA",
        bitsandbytes="0.47.0",
        torch="2.9.0",
    )


def _pinned_transformers() -> ComposedLog:
    tape = Tape(11205, "2025-01-14 15:10:00")
    tape.say(
        f"[INFO|{tape.when()}] llamafactory.cli:157 >> Initializing distributed tasks at: 127.0.0.1:24173",
        "[WARNING] torch.distributed.run: \n*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. \n*****************************************",
        traceback(
            """
            /home/user/LLaMA-Factory/src/llamafactory/launcher.py:23 <module> | launch()
            /home/user/LLaMA-Factory/src/llamafactory/launcher.py:19 launch | run_exp()
            /home/user/LLaMA-Factory/src/llamafactory/hparams/parser.py:66 <module> | check_dependencies()
            /home/user/LLaMA-Factory/src/llamafactory/extras/misc.py:81 check_dependencies | require_version("transformers>=4.41.2,<=4.46.1", "To fix: pip install transformers>=4.41.2,<=4.46.1")
            @transformers/utils/versions.py:44 _compare_versions | raise ImportError(
            """,
            "ImportError: transformers>=4.41.2,<=4.46.1 is required for a normal functioning of this module, but found transformers==4.48.0.\nTo fix: pip install transformers>=4.41.2,<=4.46.1",
            site=_SITE,
        ),
        "E0114 15:10:29.882000 40110 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 40177) of binary: /home/user/miniforge3/envs/tune/bin/python",
        "============================================================",
        f"{_FACTORY}/launcher.py FAILED",
        "------------------------------------------------------------",
        "Failures:\n  <NO_OTHER_FAILURES>",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):\n[0]:\n  time      : 2025-01-14_15:10:29\n  host      : ws-rtx\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 40177)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
        "============================================================",
    )
    return log(
        tape,
        "pinned_transformers",
        "dependency",
        1,
        _BASIS,
        command="FORCE_TORCHRUN=1 llamafactory-cli train gemma.yaml",
        paper_class="missing_module",
        llamafactory="0.9.1",
        transformers="4.48.0",
    )


def _attention_package() -> ComposedLog:
    tape = Tape(11206, "2025-08-08 21:00:00")
    tape.say(
        _LETTERS,
        _axolotl(
            tape,
            "INFO",
            "cli.config",
            'config:\n{\n  "base_model": "Qwen/Qwen3-8B",\n  "flash_attention": true,\n  "micro_batch_size": 2,\n  "sample_packing": true\n}',
        ),
        _axolotl(tape, "DEBUG", "loaders.tokenizer", "EOS: 151645 / <|im_end|>"),
        _axolotl(tape, "DEBUG", "loaders.tokenizer", "PAD: 151643 / <|endoftext|>"),
        _axolotl(
            tape,
            "INFO",
            "utils.data.shared",
            "Loading prepared dataset from disk at last_run_prepared/0c19d0a4...",
        ),
        _axolotl(tape, "DEBUG", "loaders.model", "Loading model"),
        traceback(
            """
            /usr/local/bin/axolotl:8 <module> | sys.exit(main())
            /workspace/axolotl/src/axolotl/cli/train.py:43 do_train | model, tokenizer, trainer = train(cfg=cfg, dataset_meta=dataset_meta)
            /workspace/axolotl/src/axolotl/loaders/model.py:702 _build_model | self.model = self.auto_model_loader.from_pretrained(
            @transformers/modeling_utils.py:2453 _flash_attn_2_can_dispatch | raise ImportError(f"{preface} the package flash_attn seems to be not installed. {install_message}")
            """,
            "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed. Please refer to the documentation of https://huggingface.co/docs/transformers/perf_infer_gpu_one#flashattention-2 to install Flash Attention 2.",
            site=_SITE,
            carets=True,
        ),
        traceback(
            """
            /usr/local/bin/accelerate:8 <module> | sys.exit(main())
            @accelerate/commands/launch.py:1198 launch_command | simple_launcher(args)
            @accelerate/commands/launch.py:785 simple_launcher | raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
            """,
            "subprocess.CalledProcessError: Command '['/usr/bin/python3', '-m', 'axolotl.cli.train', 'qwen3-8b.yml']' returned non-zero exit status 1.",
            site=_SITE,
        ),
    )
    return log(
        tape,
        "attention_package",
        "missing_module",
        1,
        _BASIS,
        command="axolotl train qwen3-8b.yml",
        axolotl="0.11.0",
    )


def _longer_sequences() -> ComposedLog:
    tape = Tape(11207, "2025-06-30 17:45:00")
    _sloth(tape, "Qwen2")
    _trainer(tape, range(10, 221, 10), 1707)
    tape.say(
        "Unsloth: Will smartly offload gradients to save VRAM!",
        traceback(
            """
            /home/user/tune/sft_long.py:88 <module> | stats = trainer.train()
            @transformers/trainer.py:2240 train | return inner_training_loop(
            <string>:323 _fast_inner_training_loop
            <string>:25 _unsloth_training_step
            /home/user/tune/unsloth_compiled_cache/UnslothSFTTrainer.py:748 compute_loss | outputs = super().compute_loss(
            @unsloth/models/llama.py:1214 _CausalLM_fast_forward | loss = fused_linear_cross_entropy(
            @unsloth_zoo/loss_utils.py:288 fast_cross_entropy_loss | logits = logits.float()
            """,
            oom(
                "2.7",
                "4.64 GiB",
                total="23.65 GiB",
                free="2.87 GiB",
                used="20.77 GiB",
                allocated="17.90 GiB",
                idle="2.40 GiB",
            ),
            site=_SITE,
        ),
        "\r" + bar("", 228, 1707, 2.4),
    )
    return log(
        tape,
        "longer_sequences",
        "cuda_oom",
        1,
        _BASIS,
        command="python sft_long.py",
        unsloth="2025.6.8",
        torch="2.7.0",
    )


def _norms_gone() -> ComposedLog:
    tape = Tape(11208, "2025-03-09 23:30:00")
    _factory(tape, "alpaca_de.json", count=51_760)
    tape.say(
        f"[INFO|{tape.when()}] llamafactory.model.adapter:143 >> Upcasting trainable params to float32.",
        f"[INFO|{tape.when()}] llamafactory.model.loader:143 >> trainable params: 20,185,088 || all params: 7,635,801,600 || trainable%: 0.2643",
        _hf(tape, "trainer.py:2409", "***** Running training *****"),
        _hf(tape, "trainer.py:2411", "  Num Epochs = 3"),
        _hf(tape, "trainer.py:2418", "  Total optimization steps = 400"),
    )
    _trainer(tape, range(10, 401, 10), 400, gone=70)
    tape.say(
        _hf(
            tape,
            "trainer.py:3942",
            "Saving model checkpoint to saves/qwen-7b/lora/sft/checkpoint-400",
        ),
        "{'train_runtime': 969.4118, 'train_samples_per_second': 6.602, 'train_steps_per_second': 0.413, 'train_loss': 0.24118, 'epoch': 3.0}",
        "***** train metrics *****\n  epoch                    =     2.9976\n  total_flos               = 71203GF\n  train_loss               =     0.2412\n  train_runtime            = 0:16:09.41",
        "Figure saved at: saves/qwen-7b/lora/sft/training_loss.png",
    )
    return log(
        tape,
        "norms_gone",
        "nan_loss",
        0,
        _BASIS,
        command="llamafactory-cli train qwen_fp16.yaml",
        why="from step 70 on the norm is nan and the loss is 0.0, as the trainer prints a loss that is not finite",
        llamafactory="0.9.2",
    )


def _last_save() -> ComposedLog:
    tape = Tape(11209, "2025-09-16 03:00:00")
    _sloth(tape, "Llama", card="NVIDIA RTX A6000", memory="47.413")
    _trainer(tape, range(1620, 1708, 20), 1707, start=1.2)
    tape.say(
        "{'train_runtime': 4102.551, 'train_samples_per_second': 6.654, 'train_steps_per_second': 0.416, 'train_loss': 0.8811, 'epoch': 3.0}",
        "Unsloth: Merging 4bit and LoRA weights to 16bit...",
        "Unsloth: Will use up to 44.1 out of 62.7 RAM for saving.",
        "Unsloth: Saving model... This might take 5 minutes ...",
        "\r 75%|███████▌  | 24/32 [00:09<00:03,  2.44it/s]\r100%|██████████| 32/32 [00:12<00:00,  2.50it/s]",
        traceback(
            """
            /home/user/tune/sft_8b.py:97 <module> | model.save_pretrained_merged("merged", tokenizer, save_method="merged_16bit")
            @unsloth/save.py:1302 unsloth_save_pretrained_merged | unsloth_save_model(**arguments)
            @unsloth/save.py:735 unsloth_save_model | internal_model.save_pretrained(**save_pretrained_settings)
            @transformers/modeling_utils.py:3715 save_pretrained | safe_save_file(shard, os.path.join(save_directory, shard_file), metadata={"format": "pt"})
            @safetensors/torch.py:286 save_file | serialize_file(_flatten(tensors), filename, metadata=metadata)
            """,
            'safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })',
            site=_SITE,
        ),
    )
    return log(
        tape,
        "last_save",
        "disk_full",
        1,
        _BASIS,
        command="python sft_8b.py",
        paper_class="traceback",
        unsloth="2025.6.8",
    )


def _merged_in_the_end() -> ComposedLog:
    tape = Tape(11210, "2025-10-02 06:20:00")
    tape.say(
        "bitsandbytes library load error: /usr/lib/libcudart.so: cannot open shared object file, trying /usr/local/cuda/lib64",
        _LETTERS,
        _axolotl(
            tape,
            "WARNING",
            "utils.schemas.config",
            "`pad_to_sequence_len: true` is recommended when using sample_packing",
        ),
        _axolotl(
            tape,
            "INFO",
            "utils.data.sft",
            "Unable to find prepared dataset in last_run_prepared/77aa01",
        ),
        _axolotl(
            tape,
            "WARNING",
            "utils.data.sft",
            "Processing datasets during training can lead to VRAM instability. Please use `axolotl preprocess`",
        ),
        "\rDropping Long Sequences (num_proc=8): 100%|██████████| 20110/20110 [00:01<00:00, 12311.52 examples/s]",
        _axolotl(tape, "WARNING", "utils.data.utils", "Dropped 212 long samples from dataset"),
        "huggingface_hub.utils._http - WARNING - '(ReadTimeoutError(\"HTTPSConnectionPool(host='cas-bridge.xethub.hf.co', port=443): Read timed out.\"), '(Request ID: 0f0e)')' thrown while requesting GET https://huggingface.co/Qwen/Qwen3-4B/resolve/main/model-00002-of-00003.safetensors\nRetrying in 1s [Retry 1/5].",
        "\r" + bar("Loading checkpoint shards", 3, 3, 1.1),
        _axolotl(tape, "INFO", "loaders.model", "Converting modules to torch.bfloat16"),
        _axolotl(tape, "INFO", "train", "Starting trainer..."),
    )
    _trainer(tape, range(10, 341, 30), 340)
    tape.say(
        _axolotl(
            tape,
            "WARNING",
            "utils.callbacks",
            "CUDA out of memory while running the sample generation callback, skipping it",
        ),
        "{'train_runtime': 812.4403, 'train_samples_per_second': 6.688, 'train_steps_per_second': 0.418, 'train_loss': 1.2107, 'epoch': 3.0}",
        _axolotl(
            tape, "INFO", "train", "Training completed! Saving trained model to ./outputs/qwen3-4b."
        ),
        _axolotl(tape, "INFO", "train", "Model successfully saved to ./outputs/qwen3-4b"),
    )
    return log(
        tape,
        "merged_in_the_end",
        "none",
        0,
        _BASIS,
        command="axolotl train qwen3-4b.yml",
        axolotl="0.12.2",
    )


def _dropped_key() -> ComposedLog:
    tape = Tape(11211, "2025-07-18 14:05:00")
    _sloth(tape, "Qwen2")
    _trainer(tape, range(10, 101, 10), 1707)
    tape.say(
        "\r  0%|          | 0/25 [00:00<?, ?it/s]",
        traceback(
            """
            /home/user/tune/reward_eval.py:141 <module> | trainer.train()
            @transformers/trainer.py:3124 _maybe_log_save_evaluate | metrics = self._evaluate(trial, ignore_keys_for_eval)
            @transformers/trainer.py:4390 evaluation_loop | metrics = self.compute_metrics(EvalPrediction(predictions=all_preds, label_ids=all_labels))
            /home/user/tune/reward_eval.py:77 exact_match | golds = [answers[k]["final"] for k in ids]
            /home/user/tune/reward_eval.py:77 <listcomp> | golds = [answers[k]["final"] for k in ids]
            """,
            "TypeError: string indices must be integers, not 'str'",
            site=_SITE,
        ),
        "\r" + bar("", 100, 1707, 2.4),
    )
    return log(
        tape,
        "dropped_key",
        "traceback",
        1,
        _BASIS,
        command="python reward_eval.py",
        unsloth="2025.6.8",
    )
