"""Training on AMD Instinct: ROCm 6.2 to 7.0, HIP, RCCL and MIOpen under PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import log, trainer_steps
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, summary, watchdog
from corpus.compose.composed_log import ComposedLog

_BASIS = "ROCm 6.2-7.0 documentation and sources (HIP runtime status codes, ROCr, RCCL, MIOpen, rocm-smi), amdgpu kernel driver messages, PyTorch 2.5-2.8 for ROCm"
_SITE = "/opt/conda/envs/py_3.12/lib/python3.12/site-packages"
_ASYNC = "HIP kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing AMD_SERIALIZE_KERNEL=3\nCompile with `TORCH_USE_HIP_DSA` to enable device-side assertions.\n"


def logs() -> Iterator[ComposedLog]:
    """Cards of MI210 to MI325X, in containers and on nodes of a cluster."""
    yield _card_full_in_backward()
    yield _page_not_present()
    yield _kernels_for_another_chip()
    yield _group_without_the_device_node()
    yield _poisoned_memory()
    yield _user_database_on_shared_home()
    yield _all_reduce_over_two_racks()
    yield _flash_attention_of_the_wheel()
    yield _hip_source_does_not_build()
    yield _noisy_but_fine()


def _trace(frames: str, error: str, number: int | None = None, root: str = "/workspace") -> str:
    text = traceback(frames, error, root=root, site=_SITE, carets=True)
    return text if number is None else rank(number, text)


def _ended(tape: Tape, exits: Sequence[Exit], killed: Sequence[int], host: str) -> None:
    tape.say(
        summary(
            tape,
            "2.6",
            "train.py",
            exits,
            host=host,
            binary="/opt/conda/envs/py_3.12/bin/python",
            site=_SITE,
            launcher="/opt/conda/envs/py_3.12/bin/torchrun",
            killed=killed,
        )
    )


def _smi(cards: int, used: Sequence[int] = ()) -> str:
    head = (
        "============================================ ROCm System Management Interface ============================================\n"
        "====================================================== Concise Info ======================================================\n"
        "Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%  \n"
        "              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)                                                  \n"
        "=========================================================================================================================="
    )
    rows = [
        f"{at}       {at + 2}     0x74a1,   {28851 + at * 1777:<5}  {38 + at % 4}.0°C      {131 + at}.0W    NPS1, SPX, 0        132Mhz  900Mhz  0%   auto  750.0W  {(used[at] if used else 0)}%     0%    "
        for at in range(cards)
    ]
    return "\n".join(
        (
            head,
            *rows,
            "==========================================================================================================================",
            "================================================== End of ROCm SMI Log ===================================================",
        )
    )


def _card_full_in_backward() -> ComposedLog:
    tape = Tape(9301, "2025-05-20 11:05:00")
    tape.say(
        _smi(8),
        "The `load_in_8bit` argument is not set, loading in bfloat16",
        trainer_steps(tape, range(10, 221, 10), 4180, loss=1.7, seconds=3.1),
        mixed(
            tape,
            *(
                _trace(
                    """
                    train.py:141 <module> | main()
                    train.py:128 main | trainer.train()
                    @transformers/trainer.py:2245 train | return inner_training_loop(
                    @transformers/trainer.py:3740 training_step | self.accelerator.backward(loss, **kwargs)
                    @torch/autograd/__init__.py:347 backward | _engine_run_backward(
                    """,
                    f"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 15.66 GiB. GPU {number} has a total capacity of 191.98 GiB of which 9.41 GiB is free. Of the allocated memory 171.20 GiB is allocated by PyTorch, and 8.33 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
                    number,
                )
                for number in (4, 6)
            ),
        ),
    )
    _ended(
        tape,
        [Exit(4, 1, 20514), Exit(6, 1, 20516)],
        (20510, 20511, 20512, 20513, 20515, 20517),
        "mi300-02",
    )
    return log(
        tape,
        "card_full_in_backward",
        "cuda_oom",
        1,
        _BASIS,
        command="torchrun --nproc-per-node 8 train.py",
        torch="2.6.0+rocm6.2.4",
    )


def _page_not_present() -> ComposedLog:
    tape = Tape(9302, "2025-08-11 03:40:00")
    tape.say(
        "W0811 03:40:10.112000 14 torch/distributed/run.py:792] master_addr is only used for static rdzv_backend and when rdzv_endpoint is not specified.",
        steps(
            tape,
            "{when} | INFO | step {step:>6} | loss {loss:.4f} | gnorm {norm:.3f} | lr {lr:.3e} | {time:.3f}s/it",
            range(20, 1201, 20),
            seconds=19,
        ),
        "Memory access fault by GPU node-5 (Agent handle: 0x5581c4c2f0a0) on address 0x7e1f44a00000. Reason: Page not present or supervisor privilege.",
        "GPU core dump failed",
        "Failed to write segment data for core file: gpucore.8103",
        "[rank1]:[W811 04:00:12.004481120 socket.cpp:460] [c10d] waitForInput: poll for socket SocketImpl(fd=62, addr=[mi300-07]:41122, remote=[mi300-07]:29500) returned 0, likely a timeout",
        "[rank1]:[W811 04:00:12.014102331 TCPStore.cpp:131] [c10d] recvValue failed on SocketImpl(fd=62, addr=[mi300-07]:41122, remote=[mi300-07]:29500): Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?",
    )
    _ended(tape, [Exit(3, -6, 8103)], (8100, 8101, 8102, 8104, 8105, 8106, 8107), "mi300-07")
    tape.say(
        "+ dmesg | tail -n 12",
        *(
            f"[{581203.1 + at * 0.000013:.6f}] amdgpu 0000:85:00.0: amdgpu: {text}"
            for at, text in enumerate(
                (
                    "[mmhub0] no-retry page fault (src_id:0 ring:157 vmid:3 pasid:32782)",
                    " for process python pid 8103 thread python pid 8103)",
                    "  in page starting at address 0x00007e1f44a00000 from IH client 0x12 (VMC)",
                    "  cookie node_id 0 fault from die AID0",
                    "VM_L2_PROTECTION_FAULT_STATUS:0x00300851",
                    "\t Faulty UTCL2 client ID: SDMA1 (0x4)",
                    "\t MORE_FAULTS: 0x1",
                    "\t WALKER_ERROR: 0x0",
                    "\t PERMISSION_FAULTS: 0x5",
                    "\t MAPPING_ERROR: 0x0",
                    "\t RW: 0x1",
                )
            )
        ),
    )
    return log(
        tape,
        "page_not_present",
        "cuda_runtime",
        1,
        _BASIS,
        command="torchrun --nproc-per-node 8 train.py --config conf/1b.yaml",
        why="an access to memory that the GPU program does not own",
        torch="2.7.0+rocm6.3",
    )


def _kernels_for_another_chip() -> ComposedLog:
    tape = Tape(9303, "2025-03-03 17:20:00")
    tape.say(
        "+ rocminfo | grep -E 'Name:.*gfx|Marketing'",
        "  Marketing Name:          AMD EPYC 7543 32-Core Processor",
        "  Name:                    gfx1201\n  Marketing Name:          AMD Radeon RX 9070 XT",
        "+ python train_unet.py --data /data/cells --epochs 40",
        "torch 2.6.0+rocm6.2.4, hip 6.2.41134-65d174c3e, device AMD Radeon RX 9070 XT",
        "Found 3120 images, 11 classes",
        "Params: 31.04 M",
        "rocBLAS error: Cannot read /opt/venv/lib/python3.12/site-packages/torch/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1201\n List of available TensileLibrary Files : ",
        *(
            f'"/opt/venv/lib/python3.12/site-packages/torch/lib/rocblas/library/TensileLibrary_lazy_{arch}.dat"'
            for arch in (
                "gfx1030",
                "gfx1100",
                "gfx1101",
                "gfx900",
                "gfx906",
                "gfx908",
                "gfx90a",
                "gfx942",
            )
        ),
        _trace(
            """
            train_unet.py:210 <module> | main()
            train_unet.py:188 main | loss = criterion(model(images.to(device, non_blocking=True)), masks.to(device))
            CALL 2.6
            @torch/nn/modules/conv.py:549 _conv_forward | return F.conv2d(
            """,
            "RuntimeError: HIP error: invalid device function\n" + _ASYNC,
        ),
    )
    return log(
        tape,
        "kernels_for_another_chip",
        "cuda_environment",
        1,
        _BASIS,
        command="bash run.sh",
        paper_class="cuda_runtime",
        why="the wheel has no kernels for gfx1201; 'HIP error' is ROCm's form of 'CUDA error'",
        torch="2.6.0+rocm6.2.4",
    )


def _group_without_the_device_node() -> ComposedLog:
    tape = Tape(9304, "2025-09-17 08:00:00")
    tape.say(
        "+ id",
        "uid=51823(u51823) gid=51823(u51823) groups=51823(u51823),5100(ml)",
        "+ ls -l /dev/kfd /dev/dri",
        "crw-rw---- 1 root render 236, 0 Sep 15 06:12 /dev/kfd",
        "/dev/dri:\ntotal 0\ncrw-rw---- 1 root video  226,   0 Sep 15 06:12 card0\ncrw-rw---- 1 root render 226, 128 Sep 15 06:12 renderD128",
        "+ rocm-smi --showmeminfo vram",
        "\n\n============================ ROCm System Management Interface ============================\n================================== Memory Usage (Bytes) ==================================\nGPU[0]\t\t: VRAM Total Memory (B): 68702699520\nGPU[0]\t\t: VRAM Total Used Memory (B): 10960896\n==========================================================================================\n================================== End of ROCm SMI Log ===================================",
        "+ python finetune.py --model /models/Mistral-7B --bf16",
        "/opt/conda/envs/py_3.12/lib/python3.12/site-packages/torch/cuda/__init__.py:129: UserWarning: HIP initialization: Unexpected error from hipGetDeviceCount(). Did you run some cuda functions before calling NumHipDevices() that might have already set an error? Error 100: no ROCm-capable device is detected (Triggered internally at /pytorch/c10/hip/HIPFunctions.cpp:110.)\n  return torch._C._cuda_getDeviceCount() > 0",
        _trace(
            """
            finetune.py:96 <module> | args = parser.parse_args_into_dataclasses()[0]
            @transformers/hf_argparser.py:342 parse_args_into_dataclasses | obj = dtype(**inputs)
            <string>:137 __init__
            @transformers/training_args.py:1779 __post_init__ | raise ValueError(error_message)
            """,
            "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0",
        ),
    )
    return log(
        tape,
        "group_without_the_device_node",
        "cuda_environment",
        1,
        _BASIS,
        command="bash job.sh",
        paper_class="traceback",
        why="the user is not in the group of /dev/kfd, so that no device is visible; the setting bf16 is not wrong",
        torch="2.7.1+rocm6.3",
    )


def _poisoned_memory() -> ComposedLog:
    tape = Tape(9305, "2025-10-19 22:10:00")
    tape.say(
        steps(
            tape,
            "0: [{when}] iter {step} lm_loss={loss:.5f} grad_norm={norm:.4f} step_time={time:.2f}s",
            range(5, 216, 5),
            seconds=27,
        ),
        *(
            f"0: [Sun Oct 19 22:31:4{at} 2025] {text}"
            for at, text in enumerate(
                (
                    "amdgpu 0000:c5:00.0: amdgpu: {10}Hardware error logged in block umc, socket: 6",
                    "amdgpu 0000:c5:00.0: amdgpu: {10}socket: 6, die: 2, 1 new uncorrectable hardware errors detected in total in umc block",
                    "amdgpu 0000:c5:00.0: amdgpu: {10}socket: 6, die: 2, 1 uncorrectable hardware errors detected in umc block, sync flood is not triggered",
                    "amdgpu 0000:c5:00.0: amdgpu: RAS poison is consumed, reset type: mode-1",
                    "amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!. Source:  3",
                )
            )
        ),
        "6: HW Exception by GPU node-8 (Agent handle: 0x55b30f2c1e40) reason :GPU Hang",
        ":0:rocdevice.cpp            :2982: 1903311245012 us:  Callback: Queue 0x7ed0b8600000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016",
        '6: Fatal Python error: Aborted\n6: \n6: Thread 0x00007ed1c73ff640 (most recent call first):\n6:   <no Python frame>\n6: \n6: Current thread 0x00007ef8a4f7d740 (most recent call first):\n6:   File "/workspace/megatron/training/training.py", line 1402 in train_step\n6:   File "/workspace/pretrain_gpt.py", line 277 in <module>',
        *(
            f"{at}: mi325-14:{4410 + at}:{5200 + at} [{at}] NCCL WARN [Proxy Service {at}] Failed to execute operation Connect from rank {at}, retcode 6"
            for at in (2, 5)
        ),
        "srun: error: mi325-14: task 6: Aborted (core dumped)",
        "srun: launch/slurm: _step_signal: Terminating StepId=88121.0",
        "0: slurmstepd: error: *** STEP 88121.0 ON mi325-14 CANCELLED AT 2025-10-19T22:32:40 ***",
        "srun: error: mi325-14: tasks 0-5,7: Terminated",
        "srun: Force Terminated StepId=88121.0",
    )
    return log(
        tape,
        "poisoned_memory",
        "gpu_hardware",
        134,
        _BASIS,
        command="srun -l --kill-on-bad-exit=1 python pretrain_gpt.py",
        paper_class=None,
        why="an uncorrectable error of the memory (UMC) precedes the exception",
        rocm="6.4.1",
    )


def _user_database_on_shared_home() -> ComposedLog:
    tape = Tape(9306, "2025-02-12 13:00:00")
    tape.say(
        "PyTorch 2.5.1+rocm6.2, MIOpen 3.2.0",
        steps(
            tape,
            "Epoch: [0][{step:>4}/5004]  Time {time:.3f}  Loss {loss:.4e}  Acc@1 {norm:.2f}",
            range(0, 201, 10),
            loss=7.0,
            floor=6.1,
            seconds=3,
        ),
        *(
            "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 1073741824, provided ptr: 0 size: 0"
            for _ in range(3)
        ),
        "MIOpen Error: /long_pathname_so_that_rpms_can_package_the_debug_info/src/extlibs/MLOpen/src/sqlite_db.cpp:222: Internal error while accessing SQLite database: database or disk is full",
        "MIOpen Error: /long_pathname_so_that_rpms_can_package_the_debug_info/src/extlibs/MLOpen/src/ocl/convolutionocl.cpp:209: Cannot write to user performance database: /home/u5500/.config/miopen/gfx90a68.HIP.3_2_0.ufdb.txt",
        _trace(
            """
            main_amp.py:602 <module> | main()
            main_amp.py:311 main | train(train_loader, model, criterion, optimizer, scaler, epoch)
            main_amp.py:388 train | scaler.scale(loss).backward()
            @torch/_tensor.py:581 backward | torch.autograd.backward(
            @torch/autograd/graph.py:825 _engine_run_backward | return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
            """,
            "RuntimeError: miopenStatusInternalError",
        ),
        "+ quota -s",
        "Disk quotas for user u5500 (uid 5500): \n     Filesystem   space   quota   limit   grace   files   quota   limit   grace\nnfs-home:/export/home\n                 20480M*  20000M  20480M   6days    331k       0       0        ",
    )
    return log(
        tape,
        "user_database_on_shared_home",
        "disk_full",
        1,
        _BASIS,
        command="bash imagenet.sh",
        paper_class="runtime_error",
        why="MIOpen's database in the home cannot grow: the quota is used up",
        torch="2.5.1+rocm6.2",
    )


def _all_reduce_over_two_racks() -> ComposedLog:
    tape = Tape(9307, "2025-06-05 04:00:00")
    tape.say(
        *(
            f"mi250-{n:02d}:{3000 + n}:{3000 + n} [0] NCCL INFO RCCL version : 2.22.3-HEAD:9ea0a90\nmi250-{n:02d}:{3000 + n}:{3000 + n} [0] NCCL INFO HIP version  : 6.4.43482-0f2d60242\nmi250-{n:02d}:{3000 + n}:{3000 + n} [0] NCCL INFO ROCm version : 6.4.0.0-47-d2c9a1f"
            for n in (1, 2)
        ),
        "mi250-01:3001:3001 [0] NCCL INFO Kernel version: 5.14.21-150500.55.49_13.0.56-cray_shasta_c",
        "mi250-01:3001:3120 [0] NCCL INFO NET/OFI Using aws-ofi-rccl 1.4.0",
        'mi250-01:3001:3120 [0] NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"',
        'mi250-01:3001:3120 [0] NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
        steps(
            tape,
            "[default0]:iteration {step:>7}/ 90000 | loss {loss:.4f} | norm {norm:.3f} | {time:.2f} s",
            range(50, 1451, 50),
            seconds=40,
        ),
    )
    tape.wait(600)
    for number in (3, 8):
        tape.say(
            watchdog(
                tape,
                "2.6",
                number,
                seq=88017,
                op="ALLREDUCE",
                numel=(26214400, 26214400),
                timeout_ms=600000,
            )
        )
    tape.say(
        "mi250-02:3102:3377 [0] NCCL WARN NET/OFI Request 0x151c3d0 completed with error. RC: 5. Error: Input/output error. Completed length: 0, Request: { buffer_index: 255, dev: 2, size: 0, state: CREATED, direction: SEND }"
    )
    _ended(tape, [Exit(3, -6, 3004), Exit(8, -6, 3102, local=0)], (3001, 3002, 3003), "mi250-01")
    return log(
        tape,
        "all_reduce_over_two_racks",
        "collective",
        1,
        _BASIS,
        command="srun torchrun --nnodes 2 train.py",
        torch="2.6.0+rocm6.4",
        rccl="2.22.3",
    )


def _flash_attention_of_the_wheel() -> ComposedLog:
    tape = Tape(9308, "2025-04-25 15:30:00")
    tape.say(
        "[WARNING] bitsandbytes: Could not find the bitsandbytes ROCm binary at PosixPath('/opt/conda/envs/py_3.12/lib/python3.12/site-packages/bitsandbytes/libbitsandbytes_rocm63.so')",
        "INFO:root:torch 2.6.0+rocm6.3 | transformers 4.51.3 | peft 0.15.2",
        "Loading checkpoint shards: 100%|██████████| 4/4 [00:07<00:00,  1.86s/it]",
        "Could not load bitsandbytes native library: 'NoneType' object has no attribute 'split'",
        "trainable params: 41,943,040 || all params: 8,072,204,288 || trainable%: 0.5196",
        _trace(
            """
            sft.py:77 <module> | trainer = SFTTrainer(model=model, args=args, train_dataset=ds, peft_config=peft_config)
            @trl/trainer/sft_trainer.py:418 __init__ | model = self._create_model_from_path(model, args)
            @transformers/modeling_utils.py:2317 _check_and_enable_flash_attn_2 | raise ImportError(f"{preface} the package flash_attn seems to be not installed. {install_message}")
            """,
            "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed. Please refer to the documentation of https://huggingface.co/docs/transformers/perf_infer_gpu_one#flashattention-2 to install Flash Attention 2.",
        ),
    )
    return log(
        tape,
        "flash_attention_of_the_wheel",
        "missing_module",
        1,
        _BASIS,
        command="python sft.py --attn_implementation flash_attention_2",
        torch="2.6.0+rocm6.3",
    )


def _hip_source_does_not_build() -> ComposedLog:
    tape = Tape(9309, "2025-07-08 09:45:00")
    tape.say(
        "/workspace/ops/scan_cuda.cu -> /workspace/ops/scan_hip.hip [ok]",
        "/workspace/ops/warp_utils.cuh -> /workspace/ops/warp_utils_hip.cuh [ok]",
        "Successfully preprocessed all matching files.",
        "Total number of unsupported CUDA function calls: 0\n\n",
        "Total number of replaced kernel launches: 3",
        "Detected CUDA files, patching ldflags",
        "Emitting ninja build file /root/.cache/torch_extensions/py312_cpu/selective_scan/build.ninja...",
        "Building extension module selective_scan...",
        "Allowing ninja to set a default number of workers... (overridable by setting the environment variable MAX_JOBS=N)",
        "[1/2] /opt/rocm/bin/hipcc  -DWITH_HIP -DTORCH_EXTENSION_NAME=selective_scan -DTORCH_API_INCLUDE_EXTENSION_H -isystem /opt/rocm/include -fPIC -std=c++17 -O3 -D__HIP_PLATFORM_AMD__=1 -DUSE_ROCM=1 --offload-arch=gfx942 -fno-gpu-rdc -c /workspace/ops/scan_hip.hip -o scan_hip.cuda.o ",
        "FAILED: scan_hip.cuda.o ",
        '/workspace/ops/scan_hip.hip:88:17: error: invalid operand for inline asm constraint \'r\'\n   88 |     asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));\n      |                 ^',
        "/workspace/ops/scan_hip.hip:140:9: error: static assertion failed due to requirement 'WARP_SIZE == 32'\n  140 |         static_assert(WARP_SIZE == 32);\n      |         ^             ~~~~~~~~~~~~~~~",
        "2 errors generated when compiling for gfx942.",
        'failed to execute:/opt/rocm/lib/llvm/bin/clang++  --offload-arch=gfx942 -O3 -x hip -c /workspace/ops/scan_hip.hip -o "scan_hip.cuda.o"',
        "ninja: build stopped: subcommand failed.",
        _trace(
            """
            @torch/utils/cpp_extension.py:2506 _run_ninja_build | subprocess.run(
            /opt/conda/envs/py_3.12/lib/python3.12/subprocess.py:571 run | raise CalledProcessError(retcode, process.args,
            """,
            "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.\n\nThe above exception was the direct cause of the following exception:\n",
        ),
        _trace(
            """
            train_mamba.py:9 <module> | from ops import selective_scan
            ops/__init__.py:14 <module> | _C = load(name="selective_scan", sources=_SOURCES, extra_cuda_cflags=["-O3"])
            @torch/utils/cpp_extension.py:2522 _run_ninja_build | raise RuntimeError(message) from e
            """,
            "RuntimeError: Error building extension 'selective_scan'",
        ),
    )
    return log(
        tape,
        "hip_source_does_not_build",
        "compile_error",
        1,
        _BASIS,
        command="python train_mamba.py",
        paper_class="runtime_error",
        torch="2.7.1+rocm6.4",
    )


def _noisy_but_fine() -> ComposedLog:
    tape = Tape(9310, "2025-01-28 19:00:00")
    tape.say(
        "cat: /sys/module/amdgpu/version: No such file or directory",
        "rocm-smi: command not found, skipping the card report",
        "/opt/conda/envs/py_3.12/lib/python3.12/site-packages/torch/nn/modules/conv.py:456: UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas (Triggered internally at /pytorch/aten/src/ATen/Context.cpp:296.)",
        "MIOpen(HIP): Warning [FindRecordUnsafe] File is unreadable: /opt/rocm-6.3.0/share/miopen/db/gfx90a68.HIP.fdb.txt",
        "MIOpen(HIP): Error [Do] 'amd_comgr_do_action(kind, handle, in.GetHandle(), out.GetHandle())' AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE: ERROR (1)\nMIOpen(HIP): Warning [BuildHip] skipping solver ConvHipImplicitGemmGroupFwdXdlops, trying the next one",
        "[W128 19:00:31.441 HIPAllocatorConfig.h:29] Warning: expandable_segments not supported on this platform (function operator())",
        steps(
            tape,
            "epoch 0 step {step} loss {loss:.4f} grad {norm:.3f} ({time:.3f} s/step)",
            range(25, 1001, 25),
            seconds=8,
        ),
        "validation: top1 71.42 top5 90.61",
        "saved runs/r50/ckpt_epoch0.pt (195.3 MB)",
        "done in 0:05:31",
    )
    return log(
        tape, "noisy_but_fine", "none", 0, _BASIS, command="bash r50.sh", torch="2.6.0+rocm6.3"
    )
