"""Training on Intel Gaudi 2 and 3 and on AWS Trainium: Synapse 1.17 to 1.22, Neuron SDK 2.20 to 2.26."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, summary
from corpus.compose.composed_log import ComposedLog

_BASIS = "Intel Gaudi documentation 1.17-1.22 (synStatus codes, PT bridge, HCL, hl-smi), optimum-habana 1.14-1.18, AWS Neuron documentation 2.20-2.26 (NRT status codes, neuronx-cc, NeuronX Distributed), optimum-neuron 0.3"
_SITE = "/usr/local/lib/python3.10/dist-packages"
_NEURON = "/opt/aws_neuronx_venv_pytorch_2_7/lib/python3.10/site-packages"
_ROOTS = {_SITE: "/root/optimum-habana/examples", _NEURON: "/home/ubuntu/neuron-train"}


def logs() -> Iterator[ComposedLog]:
    """Cards of a node of eight, cores of a trn1.32xlarge, and their compilers."""
    yield _device_memory_of_the_workspace()
    yield _cards_of_another_container()
    yield _recipe_does_not_compile()
    yield _library_of_another_release()
    yield _loss_of_lazy_mode()
    yield _cores_of_another_process()
    yield _compiler_killed()
    yield _compiler_error_seventy()
    yield _hardware_of_a_core()
    yield _degrees_of_the_mesh()
    yield _warm_cache_and_done()


def _trace(frames: str, error: str, number: int | None = None, *, site: str = _SITE) -> str:
    text = traceback(frames, error, root=_ROOTS[site], site=site)
    return text if number is None else rank(number, text)


def _habana(tape: Tape, release: str, cards: int = 8) -> None:
    tape.say(
        "+ hl-smi -Q index,name,driver_version,memory.total -f csv\nindex, name, driver_version, memory.total [MiB]",
        *(
            f"{at}, HL-{'325L' if release >= '1.19' else '225'}, {release}-fw-58.0.0, {131072 if release >= '1.19' else 98304} MiB"
            for at in range(cards)
        ),
        f"{_SITE}/transformers/deepspeed.py:24: FutureWarning: transformers.deepspeed module is deprecated and will be removed in a future version. Please import deepspeed modules directly from transformers.integrations\n  warnings.warn(",
        "============================= HABANA PT BRIDGE CONFIGURATION =========================== \n PT_HPU_LAZY_MODE = 1\n PT_HPU_RECIPE_CACHE_CONFIG = ,false,1024\n PT_HPU_MAX_COMPOUND_OP_SIZE = 9223372036854775807\n PT_HPU_LAZY_ACC_PAR_MODE = 1\n PT_HPU_ENABLE_REFINE_DYNAMIC_SHAPES = 0\n PT_HPU_EAGER_PIPELINE_ENABLE = 1\n---------------------------: System Configuration :---------------------------\nNum CPU Cores : 160\nCPU RAM       : 1056374420 KB\n------------------------------------------------------------------------------",
    )


_HF = "{{'loss': {loss:.4f}, 'grad_norm': {norm:.3f}, 'learning_rate': {lr:.3e}, 'epoch': 0.{step:03d}, 'memory_allocated (GB)': 71.{step:02d}, 'max_memory_allocated (GB)': 88.4, 'total_memory_available (GB)': 94.62}}"


def _device_memory_of_the_workspace() -> ComposedLog:
    tape = Tape(9851, "2025-02-10 10:00:00")
    _habana(tape, "1.18.0")
    tape.say(
        steps(tape, _HF, range(10, 91, 10), seconds=30),
        mixed(
            tape,
            *(
                _trace(
                    """
            run_lora_clm.py:978 <module> | main()
            run_lora_clm.py:941 main | train_result = trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
            @optimum/habana/transformers/trainer.py:1039 _inner_training_loop | tr_loss_step = self.training_step(model, inputs)
            @optimum/habana/transformers/trainer.py:1730 training_step | self.accelerator.backward(loss, **kwargs)
            @habana_frameworks/torch/core/step_closure.py:66 mark_step | htcore._mark_step(device_str, sync)
            """,
                    f"RuntimeError: [Rank:{n}] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2147483648 (2048)MB",
                    n,
                )
                for n in (0, 3)
            ),
        ),
        summary(
            tape,
            "2.5",
            "run_lora_clm.py",
            [Exit(3, 1, 813), Exit(0, 1, 810)],
            host="gaudi2-1",
            binary="/usr/bin/python3",
            site=_SITE,
            launcher="/usr/local/bin/torchrun",
            killed=(811, 812, 814, 815, 816, 817),
        ),
    )
    return log(
        tape,
        "device_memory_of_the_workspace",
        "cuda_oom",
        1,
        _BASIS,
        command="python gaudi_spawn.py --world_size 8 --use_mpi run_lora_clm.py",
        synapse="1.18.0",
    )


def _cards_of_another_container() -> ComposedLog:
    tape = Tape(9852, "2025-05-13 11:00:00")
    _habana(tape, "1.20.0", 4)
    tape.say(
        "05/13/2025 11:00:31 - INFO - __main__ - Training/evaluation parameters GaudiTrainingArguments(adjust_throughput=False, bf16=True, use_habana=True, use_lazy_mode=True)",
        "[INFO|modeling_utils.py:3985] loading weights file model.safetensors from cache",
        _trace(
            """
            run_clm.py:720 <module> | main()
            run_clm.py:612 main | trainer = GaudiTrainer(
            @optimum/habana/transformers/trainer.py:236 __init__ | super().__init__(
            @transformers/trainer.py:905 _move_model_to_device | model = model.to(device)
            @torch/nn/modules/module.py:1343 to | return self._apply(convert)
            @habana_frameworks/torch/hpu/__init__.py:71 _lazy_init | _hpu_C.init()
            """,
            "RuntimeError: synStatus=20 [Device already acquired] Device acquire failed.",
        ),
        "+ hl-smi | tail -n 8\n+=============================================================================+\n| Compute Processes:                                               AIP Memory |\n|  AIP       PID   Type   Process name                             Usage      |\n|=============================================================================|\n|   0       39911     C   python3                                  91022MiB   |\n|   1       39912     C   python3                                  91022MiB   |\n|   2       39913     C   python3                                  91020MiB   |\n|   3       39914     C   python3                                  91022MiB   |",
    )
    return log(
        tape,
        "cards_of_another_container",
        "cuda_environment",
        1,
        _BASIS,
        command="python run_clm.py --use_habana",
        paper_class="runtime_error",
        why="another program holds the cards",
        synapse="1.20.0",
    )


def _recipe_does_not_compile() -> ComposedLog:
    tape = Tape(9853, "2025-01-30 15:00:00")
    _habana(tape, "1.17.1", 1)
    tape.say(
        steps(
            tape,
            "Epoch 0 | batch {step:>4}/2210 | loss {loss:.4f} | grad {norm:.3f} | {time:.3f} s",
            range(5, 201, 5),
            seconds=3,
        ),
        "Epoch 0 | switching resolution 512 -> 768",
        _trace(
            """
            train_unet3d.py:222 <module> | main()
            train_unet3d.py:190 main | loss.backward(); htcore.mark_step()
            @habana_frameworks/torch/core/step_closure.py:66 mark_step | htcore._mark_step(device_str, sync)
            """,
            "RuntimeError: Graph compile failed. synStatus=synStatus 26 [Generic failure]. \n[Rank:0] Habana exception raised from compile at graph.cpp:612",
        ),
        "$ tail -n 3 ~/.habana_logs/synapse_log.txt\n[15:14:10.120411][GC_CONF         ][warning][tid:9A1] unused configuration ENABLE_SLICER_RESHAPE_ALIGNMENT\n[15:14:22.733117][GRAPH_COMPILER  ][error][tid:9A1] Failed to tile node spatial_conv3d_17: no valid slicing for SRAM of 48MB\n[15:14:22.733240][SYN_API         ][error][tid:9A1] synGraphCompile: Can not compile graph: UNetBackward_4",
    )
    return log(
        tape,
        "recipe_does_not_compile",
        "compile_error",
        1,
        _BASIS,
        command="python train_unet3d.py --device hpu",
        paper_class="runtime_error",
        synapse="1.17.1",
    )


def _library_of_another_release() -> ComposedLog:
    tape = Tape(9855, "2025-03-05 08:00:00")
    tape.say(
        "Installing collected packages: habana-torch-plugin, habana-torch-dataloader\nSuccessfully installed habana-torch-dataloader-1.20.0.543 habana-torch-plugin-1.20.0.543",
        "+ modinfo habanalabs | grep ^version\nversion:        1.17.0-495-f3a9e1b",
        "+ python run_glue.py --model_name_or_path bert-large-uncased --task_name mrpc --use_habana",
        f"{_SITE}/habana_frameworks/torch/__init__.py:18: UserWarning: pin_memory device is ignored\n  warnings.warn(",
        _trace(
            """
            run_glue.py:661 <module> | main()
            run_glue.py:244 main | parser = HfArgumentParser((ModelArguments, DataTrainingArguments, GaudiTrainingArguments))
            @optimum/habana/transformers/training_args.py:812 _setup_devices | device = torch.device("hpu")
            @habana_frameworks/torch/hpu/__init__.py:71 _lazy_init | _hpu_C.init()
            """,
            "RuntimeError: synStatus=26 [Generic failure] Device acquire failed.",
        ),
    )
    return log(
        tape,
        "library_of_another_release",
        "cuda_environment",
        1,
        _BASIS,
        command="bash glue.sh",
        paper_class="runtime_error",
        why="the driver is of another release than the libraries",
        synapse="1.20.0",
    )


def _loss_of_lazy_mode() -> ComposedLog:
    tape = Tape(9856, "2025-07-01 22:00:00")
    _habana(tape, "1.21.0", 2)
    tape.say(
        steps(tape, _HF, range(10, 151, 10), seconds=20),
        *(
            f"{{'loss': {'nan' if at > 160 else '11.2031'}, 'grad_norm': nan, 'learning_rate': 1.9e-05, 'epoch': 0.{at}, 'memory_allocated (GB)': 71.9, 'max_memory_allocated (GB)': 88.4, 'total_memory_available (GB)': 94.62}}"
            for at in range(160, 401, 10)
        ),
        "***** train metrics *****\n  epoch                       =        0.4\n  max_memory_allocated (GB)   =       88.4\n  train_loss                  =        nan\n  train_runtime               = 0:13:21.42\n  train_samples_per_second    =      7.981",
    )
    return log(
        tape,
        "loss_of_lazy_mode",
        "nan_loss",
        0,
        _BASIS,
        command="python run_clm.py --use_habana --fp8",
        why="exit 0, but the loss is NaN to the end",
        synapse="1.21.0",
    )


def _neuron(tape: Tape, model: str) -> None:
    tape.say(
        f"{tape.when()}.000{tape.rng.randrange(1000):03d}:  11022  INFO ||NEURON_CACHE||: Compile cache path: /var/tmp/neuron-compile-cache",
        f"[INFO] loading {model}, tensor_parallel_size=8, zero_1=True",
        *(
            f"{tape.when()}.000{tape.rng.randrange(1000):03d}:  {11022 + at}  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.20.9961.0+0acef03a/MODULE_{tape.rng.randrange(10**19)}+e30acd3a/model.neff"
            for at in range(6)
        ),
    )


def _cores_of_another_process() -> ComposedLog:
    tape = Tape(9857, "2025-08-12 09:00:00")
    tape.say(
        "+ neuron-ls\ninstance-type: trn1.32xlarge\ninstance-id: i-0b2f\n+--------+--------+--------+---------+\n| NEURON | NEURON | NEURON |   PCI   |\n| DEVICE | CORES  | MEMORY |   BDF   |\n+--------+--------+--------+---------+\n| 0      | 2      | 32 GB  | 10:1c.0 |\n| 1      | 2      | 32 GB  | 10:1d.0 |\n+--------+--------+--------+---------+",
        "2025-Aug-12 09:00:20.0114  8110:8110  ERROR  NRT:nrt_allocate_neuron_cores               Logical Neuron Core(s) not available - Requested:lnc0-lnc31 Available:0 Logical Core size:1",
        "2025-Aug-12 09:00:20.0114  8110:8110  ERROR  NRT:nrt_init                                Allocate neuron cores failed, neuron core 0 is in use by pid 7741",
        _trace(
            """
            train.py:66 <module> | device = xm.xla_device()
            @torch_xla/core/xla_model.py:212 xla_device | return runtime.xla_device(n, devkind)
            @torch_xla/runtime.py:122 xla_device | return torch.device(torch_xla._XLAC._xla_get_default_device())
            """,
            "RuntimeError: Bad StatusOr access: INTERNAL: RET_CHECK failure (/opt/kaena/KaenaPyTorchRuntime/neuron_pjrt.cc:311) nrt_init status=1 NRT_FAILURE: the requested NeuronCores are not available",
            site=_NEURON,
        ),
        "+ ps -o user,pid,etime,cmd -p 7741\nUSER         PID     ELAPSED CMD\njup         7741  3-02:11:09 /opt/conda/bin/python -m ipykernel_launcher",
    )
    return log(
        tape,
        "cores_of_another_process",
        "cuda_environment",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 32 train.py",
        paper_class="runtime_error",
        why="another program holds the cores",
        neuron="2.24",
    )


def _compiler_killed() -> ComposedLog:
    tape = Tape(9858, "2025-04-22 13:00:00")
    _neuron(tape, "Qwen2.5-14B")
    tape.say(
        "2025-04-22 13:01:10.000410:  11022  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: neuronx-cc compile --framework=XLA /tmp/ubuntu/neuroncc_compile_workdir/0b8a/model.MODULE_8801+e30acd3a.hlo_module.pb --output /tmp/ubuntu/neuroncc_compile_workdir/0b8a/model.neff --target=trn1 --model-type transformer --distribution-strategy=llm-training --verbose=35",
        "..." * 30,
        "[F137] neuronx-cc was forcibly killed - This most commonly occurs due to insufficient system memory. Using a smaller data type, dimensions, batch size, or a larger instance type may help.",
        "2025-04-22 13:31:51.000112:  11022  ERROR ||NEURON_CC_WRAPPER||: Failed compilation with ['neuronx-cc', 'compile', '--framework=XLA', '--target=trn1', '--verbose=35']: 2025-04-22T13:31:50Z [F137] neuronx-cc was forcibly killed",
        _trace(
            """
            run_llama_nxd.py:301 <module> | train_llama(args)
            run_llama_nxd.py:244 train_llama | xm.mark_step()
            @torch_xla/core/xla_model.py:1067 mark_step | torch_xla._XLAC._xla_step_marker(
            """,
            "RuntimeError: Bad StatusOr access: INTERNAL: RunNeuronCCImpl: error condition error != 0: <class 'subprocess.CalledProcessError'>: Command '' died with <Signals.SIGKILL: 9>.",
            site=_NEURON,
        ),
        "$ journalctl -k --since -5min | grep -i oom\nApr 22 13:31:49 ip-10-3-0-8 kernel: walrus_driver invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0\nApr 22 13:31:49 ip-10-3-0-8 kernel: Out of memory: Killed process 14022 (walrus_driver) total-vm:488110220kB, anon-rss:401177120kB, file-rss:2240kB, shmem-rss:0kB, UID:1000 pgtables:790112kB oom_score_adj:0",
    )
    return log(
        tape,
        "compiler_killed",
        "oom_killer",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 32 run_llama_nxd.py",
        neuron="2.22",
    )


def _compiler_error_seventy() -> ComposedLog:
    tape = Tape(9859, "2025-06-16 16:00:00")
    _neuron(tape, "google/vit-huge-patch14")
    tape.say(
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: ***************************************************************",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]:  An Internal Compiler Error has occurred",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: ***************************************************************",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: ",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: Error message:  [NCC_IXRO002] Undefined SB Memloc pad.288_set",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: ",
        "2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: Error class:    AssertionError\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: Error location: Unknown\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: Version information:\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]:   NeuronX Compiler version 2.18.121.0+9e31e41a\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]:   Python version 3.10.12\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]:   HWM version 2.18.0.0-9e31e41a\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]:   NumPy version 1.25.2\n2025-06-16T16:04:10Z ERROR 15200 [neuronx-cc]: Artifacts stored in: /tmp/ubuntu/neuroncc_compile_workdir/77ab",
        _trace(
            """
            finetune_vit.py:141 <module> | trainer.train()
            @optimum/neuron/trainers.py:1511 train | result = super().train(
            @transformers/trainer.py:2536 _inner_training_loop | tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
            @torch_xla/core/xla_model.py:1067 mark_step | torch_xla._XLAC._xla_step_marker(
            """,
            "RuntimeError: Bad StatusOr access: INTERNAL: RunNeuronCCImpl: error condition error != 0: <class 'subprocess.CalledProcessError'>: Command 'neuronx-cc compile --framework=XLA --target=trn1' returned non-zero exit status 70.",
            site=_NEURON,
        ),
    )
    return log(
        tape,
        "compiler_error_seventy",
        "compile_error",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 2 finetune_vit.py",
        paper_class="runtime_error",
        why="the assertion is the compiler's own",
        neuron="2.23",
    )


def _hardware_of_a_core() -> ComposedLog:
    tape = Tape(9860, "2025-11-02 01:00:00")
    _neuron(tape, "llama-3-70b")
    tape.say(
        steps(
            tape,
            "LOG {when} - (epoch 0, step {step}) step_loss : {loss:.4f} learning_rate : {lr:.2e} throughput : 21.4 grad_norm : {norm:.4f}",
            range(1, 61),
            seconds=46,
        ),
        "2025-Nov-02 01:46:03.221010 12009:12544 ERROR  NMGR:dlr_infer                               Inference completed with err: 1201 (NRT_EXEC_HW_ERR_HBM_UE), device 9 nc 1",
        "2025-Nov-02 01:46:03.221480 12009:12544 ERROR  NRT:nrt_infodump                          Neuron runtime information - please include in any support request:",
        "2025-Nov-02 01:46:03.221502 12009:12544 ERROR  NRT:nrt_infodump                          ------------->8------------[ cut here ]------------>8-------------",
        "2025-Nov-02 01:46:03.221533 12009:12544 ERROR  NRT:nrt_infodump                          NRT version: 2.28.23.0 (a1f6c7b)",
        "2025-Nov-02 01:46:03.221577 12009:12544 ERROR  NRT:nrt_infodump                          Kernel: Linux 5.10.236-228.935.amzn2.x86_64",
        "2025-Nov-02 01:46:03.221601 12009:12544 ERROR  NRT:nrt_infodump                          ------------->8------------[ cut to here ]------------>8-------------",
        _trace(
            """
            pretrain.py:318 <module> | main()
            pretrain.py:280 main | loss_value = loss.detach().cpu().item()
            """,
            "RuntimeError: Bad StatusOr access: INTERNAL: nrt_execute_with_collectives failed: status=1201",
            18,
            site=_NEURON,
        ),
        "2025-Nov-02 01:46:04.100233 12003:12590 ERROR  ENC:enc_proxy_progress                  [nec_dev 3, gid 3] connection to peer rank 18 closed",
        summary(
            tape,
            "2.7",
            "pretrain.py",
            [Exit(18, 1, 12009), Exit(3, -6, 12003)],
            host="trn1-12",
            binary="/opt/aws_neuronx_venv_pytorch_2_7/bin/python3",
            site=_NEURON,
            launcher="/opt/aws_neuronx_venv_pytorch_2_7/bin/torchrun",
            killed=(12000, 12001, 12002),
        ),
        '$ neuron-top --json | jq .neuron_hw_counters[9]\n{\n  "mem_ecc_corrected": 12,\n  "mem_ecc_uncorrected": 1,\n  "sram_ecc_uncorrected": 0\n}',
    )
    return log(
        tape,
        "hardware_of_a_core",
        "gpu_hardware",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 32 pretrain.py",
        paper_class="runtime_error",
        neuron="2.26",
    )


def _degrees_of_the_mesh() -> ComposedLog:
    tape = Tape(9861, "2025-10-09 12:00:00")
    _neuron(tape, "Mistral-7B")
    tape.say(
        "WARNING:root:torch_neuronx: NEURON_FUSE_SOFTMAX is set but has no effect",
        mixed(
            tape,
            *(
                _trace(
                    """
            run_llama_nxd.py:301 <module> | train_llama(args)
            @neuronx_distributed/trainer/trainer.py:71 neuronx_distributed_config | parallel_state.initialize_model_parallel(
            @neuronx_distributed/parallel_layers/parallel_state.py:288 initialize_model_parallel | raise RuntimeError(
            """,
                    "RuntimeError: `world_size` 32 is not divisible by tensor_model_parallel_size x pipeline_model_parallel_size (8 x 3)",
                    n,
                    site=_NEURON,
                )
                for n in (0, 1, 30)
            ),
        ),
        summary(
            tape,
            "2.7",
            "run_llama_nxd.py",
            [Exit(30, 1, 2030), Exit(0, 1, 2000), Exit(1, 1, 2001)],
            host="trn1-3",
            binary="/opt/aws_neuronx_venv_pytorch_2_7/bin/python3",
            site=_NEURON,
            launcher="/opt/aws_neuronx_venv_pytorch_2_7/bin/torchrun",
        ),
    )
    return log(
        tape,
        "degrees_of_the_mesh",
        "config",
        1,
        _BASIS,
        command="torchrun --nproc_per_node 32 run_llama_nxd.py --pp 3",
        paper_class="runtime_error",
        neuron="2.25",
    )


def _warm_cache_and_done() -> ComposedLog:
    tape = Tape(9862, "2025-09-25 18:00:00")
    _neuron(tape, "bert-large")
    tape.say(
        "2025-Sep-25 18:00:40.110 3310:3310 [0] init.cc:137 CCOM WARN OFI plugin initNet() failed is EFA enabled?",
        "2025-09-25 18:00:52.000110:  3310  ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff at /var/tmp/neuron-compile-cache/neuronxcc-2.20.9961.0+0acef03a/MODULE_104+e30acd3a/model.neff. Will retry compilation because NEURON_CC_FLAGS has --retry_failed_compilation",
        ".....\nCompiler status PASS",
        steps(
            tape,
            "LOG {when} - (step {step}) step_loss : {loss:.4f} learning_rate : {lr:.2e} grad_norm : {norm:.4f}",
            range(10, 601, 10),
            seconds=9,
        ),
        "Final F1 91.31, exact match 84.90",
        "2025-Sep-25 18:12:22.001 3310:3488 [0] proxy.cc:1498 CCOM WARN [Proxy Service 0] shutting down",
        "Training finished, model in out/final",
    )
    return log(
        tape,
        "warm_cache_and_done",
        "none",
        0,
        _BASIS,
        command="torchrun --nproc_per_node 2 squad.py",
        neuron="2.25",
    )
