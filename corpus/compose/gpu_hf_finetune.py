"""Fine-tuning with Transformers, Accelerate, PEFT and TRL on one to eight cards."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, bar, chained, marked, rank, traceback
from corpus.compose._gpu_torch import Exit, cuda_error, oom, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of Transformers, Accelerate, PEFT, TRL, bitsandbytes and PyTorch"
_DICT = "{{'loss': {loss:.4f}, 'grad_norm': {norm:.4f}, 'learning_rate': {lr:.6e}, 'epoch': 0.{step:04d}}}"
_HOME = "/home/user/finetune"
_SITE = "/home/user/miniconda3/envs/ft/lib/python3.11/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Memory in training, loading and evaluation, faults of the adapter's set-up, good runs."""
    yield _oom_at_step_two()
    yield _oom_while_loading_shards()
    yield _oom_in_eval_after_hours()
    yield _auto_batch_size_found()
    yield _index_out_of_range_in_embedding()
    yield _no_grad_with_checkpointing()
    yield _flash_attention_missing()
    yield _quantized_without_kernels()
    yield _grad_norm_nan()
    yield _devices_differ()
    yield _worker_killed_nine()
    yield _save_filled_the_disk()
    yield _cublas_could_not_allocate()


def _loading(tape: Tape, shards: int, upto: int | None = None, seconds: float = 1.8) -> None:
    upto = shards if upto is None else upto
    tape.say(
        "\r".join(bar("Loading checkpoint shards", at, shards, seconds) for at in range(upto + 1))
    )


def _trace(frames: str, error: str, *, carets: bool = True) -> str:
    return traceback(frames, error, root=_HOME, site=_SITE, carets=carets)


_TRAIN = """
sft.py:142 <module> | main()
sft.py:131 main | trainer.train(resume_from_checkpoint=args.resume)
@transformers/trainer.py:2245 train | return inner_training_loop(
@transformers/trainer.py:2560 _inner_training_loop | tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
@transformers/trainer.py:3736 training_step | loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
"""


def _oom_at_step_two() -> ComposedLog:
    tape = Tape(301, "2025-04-22 10:12:09")
    _loading(tape, 4)
    tape.say(
        "trainable params: 41,943,040 || all params: 8,072,204,288 || trainable%: 0.5196",
        "No label_names provided for model class `PeftModelForCausalLM`. Since `PeftModel` hides base models input arguments, if label_names is not given, label_names can't be set automatically within `Trainer`. Note that empty label_names list will be used instead.",
        bar("", 0, 1875, 3.1),
        "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
        bar("", 1, 1875, 6.4),
        _trace(
            _TRAIN
            + """
@transformers/trainer.py:3801 compute_loss | outputs = model(**inputs)
CALL 2.6
@accelerate/utils/operations.py:818 forward | return model_forward(*args, **kwargs)
@peft/peft_model.py:1719 forward | return self.base_model(
CALL 2.6
@transformers/models/llama/modeling_llama.py:847 forward | loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
@transformers/loss/loss_utils.py:36 ForCausalLMLoss | logits = logits.float()
""",
            oom(
                "2.6",
                "3.91 GiB",
                total="23.64 GiB",
                free="2.85 GiB",
                used="20.78 GiB",
                allocated="19.11 GiB",
                idle="1.20 GiB",
            ),
        ),
        bar("", 1, 1875, 9.02),
    )
    return ComposedLog(
        "oom_at_step_two",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python sft.py --model llama-8b --bs 8",
        versions={"torch": "2.6.0", "transformers": "4.50.3", "peft": "0.15.1"},
    )


def _oom_while_loading_shards() -> ComposedLog:
    tape = Tape(302, "2024-08-14 09:02:33")
    tape.say(
        "The following values were not passed to `accelerate launch` and had defaults used instead:\n\t`--num_processes` was set to a value of `1`\n\t`--mixed_precision` was set to a value of `'no'`\n\t`--dynamo_backend` was set to a value of `'no'`\nTo avoid this warning pass in values for each of the problematic parameters or run `accelerate config`."
    )
    _loading(tape, 19, 7, 2.4)
    tape.say(
        _trace(
            """
            sft.py:142 <module> | main()
            sft.py:88 main | model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.float16, device_map={"": 0})
            @transformers/models/auto/auto_factory.py:564 from_pretrained | return model_class.from_pretrained(
            @transformers/modeling_utils.py:3941 from_pretrained | ) = cls._load_pretrained_model(
            @transformers/modeling_utils.py:4415 _load_pretrained_model | new_error_msgs, offload_index, state_dict_index = _load_state_dict_into_meta_model(
            @transformers/modeling_utils.py:936 _load_state_dict_into_meta_model | set_module_tensor_to_device(model, param_name, param_device, **set_module_kwargs)
            @accelerate/utils/modeling.py:404 set_module_tensor_to_device | new_value = value.to(device)
            """,
            oom(
                "2.4",
                "224.00 MiB",
                total="39.39 GiB",
                free="133.31 MiB",
                used="39.25 GiB",
                allocated="38.84 GiB",
                idle="9.82 MiB",
            ),
        ),
        traceback(
            """
            /home/user/miniconda3/envs/ft/bin/accelerate:8 <module> | sys.exit(main())
            @accelerate/commands/accelerate_cli.py:48 main | args.func(args)
            @accelerate/commands/launch.py:1106 launch_command | simple_launcher(args)
            @accelerate/commands/launch.py:704 simple_launcher | raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
            """,
            "subprocess.CalledProcessError: Command '['/home/user/miniconda3/envs/ft/bin/python', 'sft.py', '--model', 'mixtral-8x7b']' returned non-zero exit status 1.",
            site=_SITE,
        ),
    )
    return ComposedLog(
        "oom_while_loading_shards",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="accelerate launch sft.py --model mixtral-8x7b",
        versions={"torch": "2.4.0", "transformers": "4.44.0", "accelerate": "0.33.0"},
    )


def _oom_in_eval_after_hours() -> ComposedLog:
    tape = Tape(303, "2024-05-29 18:40:00")
    _loading(tape, 2)
    tape.say(steps(tape, _DICT, range(50, 1050, 50), seconds=190))
    tape.say(
        "\n***** Running Evaluation *****\n  Num examples = 4096\n  Batch size = 16",
        "\r".join(bar("", at, 256, 0.61) for at in range(0, 190, 21)),
        _trace(
            """
            sft.py:142 <module> | main()
            sft.py:131 main | trainer.train(resume_from_checkpoint=args.resume)
            @transformers/trainer.py:1885 train | return inner_training_loop(
            @transformers/trainer.py:2311 _inner_training_loop | self._maybe_log_save_evaluate(tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval)
            @transformers/trainer.py:2721 _maybe_log_save_evaluate | metrics = self.evaluate(ignore_keys=ignore_keys_for_eval)
            @transformers/trainer.py:3572 evaluate | output = eval_loop(
            @transformers/trainer.py:3782 evaluation_loop | all_preds.add(logits)
            @transformers/trainer_pt_utils.py:321 add | self.tensors = nested_concat(self.tensors, tensors, padding_index=self.padding_index)
            @transformers/trainer_pt_utils.py:125 nested_concat | return torch_pad_and_concatenate(tensors, new_tensors, padding_index=padding_index)
            @transformers/trainer_pt_utils.py:83 torch_pad_and_concatenate | return torch.cat((tensor1, tensor2), dim=0)
            """,
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.27 GiB. GPU ",
        ),
    )
    tape.say(
        bar("", 1000, 12800, 3.8),
        "wandb: Waiting for W&B process to finish... (failed 1). Press Ctrl-C to abort syncing.",
        "wandb: Run history:\nwandb:     train/grad_norm ▂▁▃▂▁\nwandb:          train/loss █▅▃▂▁",
        "wandb: Synced 5 W&B file(s), 0 media file(s), 0 artifact file(s) and 0 other file(s)",
    )
    return ComposedLog(
        "oom_in_eval_after_hours",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS + "; wandb",
        command="python sft.py --eval_steps 1000",
        versions={"torch": "2.2.2", "transformers": "4.41.1"},
    )


def _auto_batch_size_found() -> ComposedLog:
    tape = Tape(304, "2025-02-03 12:30:18")
    _loading(tape, 3)
    for size in (64, 32):
        tape.say(
            f"Currently training with a batch size of: {size}",
            "***** Running training *****\n  Num examples = 15,011\n  Num Epochs = 1\n  Gradient Accumulation steps = 1",
            bar("", 0, 15011 // size, 1.2),
        )
    tape.say(
        "2025-02-03 12:33:01 - WARNING - CUDA out of memory at batch size 32, trying 16 (auto_find_batch_size)",
        "Currently training with a batch size of: 16",
        "***** Running training *****\n  Num examples = 15,011\n  Num Epochs = 1\n  Gradient Accumulation steps = 1",
        steps(tape, _DICT, range(50, 950, 50), loss=1.9, floor=1.1, seconds=71),
        "{'train_runtime': 1344.2091, 'train_samples_per_second': 11.167, 'train_steps_per_second': 0.698, 'train_loss': 1.3172093, 'epoch': 1.0}",
        "\r".join(bar("", at, 938, 1.43) for at in (936, 937, 938)),
        "***** Running Evaluation *****\n  Num examples = 512\n  Batch size = 16",
        "{'eval_loss': 1.2261930704116821, 'eval_runtime': 14.0811, 'eval_samples_per_second': 36.361, 'epoch': 1.0}",
    )
    return ComposedLog(
        "auto_batch_size_found",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python sft.py --auto_find_batch_size",
        versions={"torch": "2.5.1", "transformers": "4.48.2"},
        why="two sizes did not fit and were given up on purpose; the third trained to its end",
    )


def _index_out_of_range_in_embedding() -> ComposedLog:
    tape = Tape(305, "2024-01-30 15:05:27")
    _loading(tape, 2)
    tape.say(
        "Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained."
    )
    tape.say(steps(tape, _DICT, range(10, 60, 10), seconds=22))
    tape.say(
        "\n".join(
            f"../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [{block},0,0], thread: [{thread},0,0] Assertion `srcIndex < srcSelectDimSize` failed."
            for block in (143, 144)
            for thread in (64, 65, 66, 67, 93, 94, 95)
        ),
        _trace(
            """
            sft.py:142 <module> | main()
            sft.py:131 main | trainer.train(resume_from_checkpoint=args.resume)
            @transformers/trainer.py:1539 train | return inner_training_loop(
            @transformers/trainer.py:1869 _inner_training_loop | tr_loss_step = self.training_step(model, inputs)
            @transformers/trainer.py:2772 training_step | loss = self.compute_loss(model, inputs)
            @transformers/trainer.py:2795 compute_loss | outputs = model(**inputs)
            CALL 2.1
            @transformers/models/llama/modeling_llama.py:1070 forward | causal_mask = attention_mask.expand(batch_size, 1, seq_length, seq_length).to(inputs_embeds)
            """,
            cuda_error("2.1", "device-side assert triggered"),
        ),
        bar("", 52, 3000, 2.24),
    )
    return ComposedLog(
        "index_out_of_range_in_embedding",
        "cuda_runtime",
        1,
        tape.text(),
        _BASIS,
        command="python sft.py --add_tokens tokens.txt",
        versions={"torch": "2.1.2", "transformers": "4.37.1"},
        why="token ids beyond the table, seen on the card only",
    )


def _no_grad_with_checkpointing() -> ComposedLog:
    tape = Tape(306, "2024-07-17 20:20:20")
    _loading(tape, 4)
    tape.say(
        "trainable params: 20,971,520 || all params: 7,268,995,072 || trainable%: 0.2885",
        bar("", 0, 500, 1.0),
        f"{_SITE}/torch/utils/checkpoint.py:295: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n  warnings.warn(",
        _trace(
            _TRAIN
            + """
@accelerate/accelerator.py:2159 backward | loss.backward(**kwargs)
@torch/_tensor.py:525 backward | torch.autograd.backward(
@torch/autograd/__init__.py:267 backward | _engine_run_backward(
@torch/autograd/graph.py:744 _engine_run_backward | return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
""",
            "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        bar("", 0, 500, 1.0),
    )
    return ComposedLog(
        "no_grad_with_checkpointing",
        "runtime_error",
        1,
        tape.text(),
        _BASIS,
        command="python sft.py --gradient_checkpointing",
        versions={"torch": "2.3.1", "transformers": "4.42.4", "peft": "0.11.1"},
    )


def _flash_attention_missing() -> ComposedLog:
    tape = Tape(307, "2025-01-15 08:00:58")
    tape.say(
        "[2025-01-15 08:00:58,102] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda (auto detect)",
        "You are attempting to use Flash Attention 2.0 without specifying a torch dtype. This might lead to unexpected behaviour",
        _trace(
            """
            sft.py:142 <module> | main()
            sft.py:88 main | model = AutoModelForCausalLM.from_pretrained(args.model, attn_implementation="flash_attention_2")
            @transformers/models/auto/auto_factory.py:564 from_pretrained | return model_class.from_pretrained(
            @transformers/modeling_utils.py:4130 from_pretrained | config = cls._autoset_attn_implementation(
            @transformers/modeling_utils.py:1582 _autoset_attn_implementation | cls._check_and_enable_flash_attn_2(
            @transformers/modeling_utils.py:1697 _check_and_enable_flash_attn_2 | raise ImportError(f"{preface} the package flash_attn seems to be not installed. {install_message}")
            """,
            "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed. Please refer to the documentation of https://huggingface.co/docs/transformers/perf_infer_gpu_one#flashattention-2 to install Flash Attention 2.",
        ),
    )
    return ComposedLog(
        "flash_attention_missing",
        "missing_module",
        1,
        tape.text(),
        _BASIS,
        command="python sft.py --attn flash_attention_2",
        versions={"torch": "2.5.1", "transformers": "4.48.0"},
    )


def _quantized_without_kernels() -> ComposedLog:
    tape = Tape(308, "2023-08-09 11:44:40")
    lines = [
        "===================================BUG REPORT===================================",
        "Welcome to bitsandbytes. For bug reports, please run",
        "",
        "python -m bitsandbytes",
        "",
        " and submit this information together with your error trace to: https://github.com/TimDettmers/bitsandbytes/issues",
        "================================================================================",
        f"bin {_SITE}/bitsandbytes/libbitsandbytes_cpu.so",
        f"{_SITE}/bitsandbytes/cextension.py:34: UserWarning: The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable.",
        '  warn("The installed version of bitsandbytes was compiled without GPU support. "',
        f"{_SITE}/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: cadam32bit_grad_fp32",
        "CUDA SETUP: Required library version not found: libbitsandbytes_cuda117_nocublaslt.so. Maybe you need to compile it from source?",
        "CUDA SETUP: CUDA runtime path found: /usr/local/cuda-11.7/lib64/libcudart.so.11.0",
        "CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed? If you are on a cluster, make sure you are on a CUDA machine!",
        "CUDA SETUP: Highest compute capability among GPUs detected: None",
        "CUDA SETUP: Detected CUDA version 117",
    ]
    tape.say("\n".join(lines))
    tape.say(
        _trace(
            """
            sft.py:11 <module> | import bitsandbytes as bnb
            @bitsandbytes/__init__.py:6 <module> | from . import cuda_setup, utils, research
            @bitsandbytes/cextension.py:20 <module> | raise RuntimeError('''
            """,
            "RuntimeError: \n        CUDA Setup failed despite GPU being available. Please run the following command to get more information:\n\n        python -m bitsandbytes\n\n        Inspect the output of the command and see if you can locate CUDA libraries. You might need to add them\n        to your LD_LIBRARY_PATH. If you suspect a bug, please take the information from python -m bitsandbytes\n        and open an issue at: https://github.com/TimDettmers/bitsandbytes/issues",
            carets=False,
        )
    )
    return ComposedLog(
        "quantized_without_kernels",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python sft.py --load_in_8bit",
        versions={"torch": "2.0.1", "bitsandbytes": "0.41.0"},
        paper_class="runtime_error",
        why="libcuda is not found, so only the CPU build of the library loads",
    )


def _grad_norm_nan() -> ComposedLog:
    tape = Tape(309, "2024-10-25 01:10:41")
    _loading(tape, 7)
    tape.say(steps(tape, _DICT, range(100, 1200, 100), loss=1.8, floor=1.2, seconds=95))
    tape.say(
        "{'loss': 24.8173, 'grad_norm': 911.284423828125, 'learning_rate': 9.11e-05, 'epoch': 0.12}"
    )
    tape.say(
        "\n".join(
            f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {9.1e-05 - at * 4e-7:.6e}, 'epoch': {0.13 + at * 0.01:.2f}}}"
            for at in range(24)
        ),
        "{'train_runtime': 3561.22, 'train_samples_per_second': 8.985, 'train_steps_per_second': 1.011, 'train_loss': 0.5713, 'epoch': 0.36}",
        "\r".join(bar("", at, 3600, 0.98) for at in (3598, 3599, 3600)),
        "Model saved to outputs/lora-fp16",
    )
    return ComposedLog(
        "grad_norm_nan",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="python sft.py --fp16",
        versions={"torch": "2.4.1", "transformers": "4.46.0"},
        paper_class="nan_loss",
        why="the gradient is NaN from step 1300 to the end though the status is 0",
    )


def _devices_differ() -> ComposedLog:
    tape = Tape(310, "2024-09-11 22:51:15")
    _loading(tape, 5)
    tape.say(
        "dispatch: {'model.embed_tokens': 0, 'model.layers.0-15': 0, 'model.layers.16-31': 1, 'model.norm': 1, 'lm_head': 1}",
        bar("", 0, 220, 1.0),
        _trace(
            _TRAIN
            + """
@trl/trainer/dpo_trainer.py:1408 compute_loss | loss, metrics = self.get_batch_loss_metrics(model, inputs, train_eval="train")
@trl/trainer/dpo_trainer.py:1337 get_batch_loss_metrics | forward_output = self.concatenated_forward(model, batch)
@trl/trainer/dpo_trainer.py:1291 concatenated_forward | all_logps, size_completion = self.get_batch_logps(
@trl/trainer/dpo_trainer.py:1231 get_batch_logps | per_token_logps = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
""",
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0! (when checking argument for argument index in method wrapper_CUDA_gather)",
        ),
        bar("", 0, 220, 1.0),
    )
    return ComposedLog(
        "devices_differ",
        "device_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="python dpo.py --device_map auto",
        versions={"torch": "2.4.0", "transformers": "4.44.2", "trl": "0.10.1"},
    )


def _worker_killed_nine() -> ComposedLog:
    tape = Tape(311, "2024-12-01 03:33:10")
    tape.say(
        "\n".join(
            f"W1201 03:33:10.{at}04000 3121 torch/distributed/run.py:793] {text}"
            for at, text in (
                (1, ""),
                (2, "*****************************************"),
                (
                    3,
                    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. ",
                ),
                (4, "*****************************************"),
            )
        )
    )
    _loading(tape, 29, 11, 7.3)
    tape.wait(95).say(
        summary(
            tape,
            "2.5",
            "sft.py",
            [Exit(2, -9, 3199)],
            host="gpu-a40-2",
            killed=[3197, 3198, 3200],
            site=_SITE,
            launcher="/home/user/miniconda3/envs/ft/bin/accelerate",
            binary="/home/user/miniconda3/envs/ft/bin/python",
        )
    )
    return ComposedLog(
        "worker_killed_nine",
        "killed_unknown",
        1,
        tape.text(),
        _BASIS,
        command="accelerate launch --num_processes 4 sft.py",
        versions={"torch": "2.5.1", "accelerate": "1.1.1"},
        why="SIGKILL while loading; memory is likely, but nothing says so",
    )


def _save_filled_the_disk() -> ComposedLog:
    tape = Tape(312, "2024-11-18 14:00:02")
    _loading(tape, 4)
    tape.say(steps(tape, _DICT, range(25, 500, 25), loss=1.5, floor=1.0, seconds=60))
    tape.say(
        rank(
            0,
            chained(
                _trace(
                    "@torch/serialization.py:850 save | _save(obj, opened_zipfile, pickle_module, pickle_protocol, _disable_byteorder_record)\n@torch/serialization.py:1114 _save | zip_file.write_record(name, storage, num_bytes)",
                    "RuntimeError: [enforce fail at inline_container.cc:595] . unexpected pos 3892314112 vs 3892314008",
                ),
                _trace(
                    """
                    sft.py:142 <module> | main()
                    sft.py:131 main | trainer.train(resume_from_checkpoint=args.resume)
                    @transformers/trainer.py:3148 _save_optimizer_and_scheduler | torch.save(self.optimizer.state_dict(), os.path.join(output_dir, OPTIMIZER_NAME))
                    @torch/serialization.py:849 save | with _open_zipfile_writer(f) as opened_zipfile:
                    @torch/serialization.py:690 __exit__ | self.file_like.write_end_of_file()
                    """,
                    "OSError: [Errno 28] No space left on device",
                ),
            ),
        )
    )
    tape.wait(604)
    for at in (1, 2, 3):
        tape.say(watchdog(tape, "2.5", at, seq=5519, op="ALLREDUCE", stack=at == 2, ahead=0))
    tape.say(
        summary(
            tape,
            "2.5",
            "sft.py",
            [Exit(2, -6, 712), Exit(0, 1, 710), Exit(1, -6, 711), Exit(3, -6, 713)],
            host="gpu-a40-1",
            site=_SITE,
        )
    )
    return ComposedLog(
        "save_filled_the_disk",
        "disk_full",
        1,
        tape.text(),
        _BASIS,
        command="accelerate launch --num_processes 4 sft.py",
        versions={"torch": "2.5.1"},
        paper_class="traceback",
        why="rank 0 ran out of disk while saving; the others waited for it",
    )


def _cublas_could_not_allocate() -> ComposedLog:
    tape = Tape(313, "2023-12-20 17:16:15")
    tape.say(
        marked(
            "",
            "Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased and are newly initialized: ['classifier.bias', 'classifier.weight']\nYou should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.",
        ),
        "| ID | GPU | MEM |\n------------------\n|  0 |  0% | 99% |\n|  1 | 97% | 98% |",
        bar("", 0, 8419, 1.0),
        _trace(
            """
            classify.py:77 <module> | trainer.train()
            @transformers/trainer.py:1537 train | return inner_training_loop(
            @transformers/trainer.py:1854 _inner_training_loop | tr_loss_step = self.training_step(model, inputs)
            @transformers/trainer.py:2735 training_step | loss = self.compute_loss(model, inputs)
            CALL 2.1
            @transformers/models/bert/modeling_bert.py:350 forward | attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
            """,
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        ),
        bar("", 0, 8419, 1.0),
    )
    return ComposedLog(
        "cublas_could_not_allocate",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python classify.py",
        versions={"torch": "2.1.1", "transformers": "4.36.2"},
        why="the handle's workspace did not fit beside another program's memory",
    )
