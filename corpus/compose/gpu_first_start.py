"""First starts on fresh machines, containers and virtual environments: the GPU set-up and its look-alikes."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_environment import collect_env, packages
from corpus.compose._gpu_hosts import Card, smi
from corpus.compose._gpu_tape import Tape, chained, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of PyTorch, TensorFlow, JAX, bitsandbytes, flash-attn and the NVIDIA driver and container tools"
_SITE = "/srv/venvs/train/lib/python3.11/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Drivers, wheels and libraries that do not fit, and failures that only stand beside them."""
    yield _driver_too_old()
    yield _nvml_mismatch()
    yield _wheel_without_cuda()
    yield _no_kernel_for_blackwell()
    yield _container_without_gpu()
    yield _cuda_checkpoint_on_cpu()
    yield _nvrtc_not_found()
    yield _cudnn_of_two_versions()
    yield _flash_attn_other_cuda()
    yield _flash_attn_undefined_symbol()
    yield _apex_absent()
    yield _no_visible_device()
    yield _dataset_folder_absent()
    yield _warnings_then_fine()
    yield _mig_instance_gone()


def _trace(frames: str, error: str, *, carets: bool = False) -> str:
    return traceback(frames, error, root="/srv/app", site=_SITE, carets=carets)


def _pip(tape: Tape, *wheels: str) -> None:
    tape.say(
        "Step 7/9 : RUN pip install -r requirements.txt",
        "\n".join(f"Requirement already satisfied: {one}" for one in wheels),
        "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour with the system package manager.",
        "Step 9/9 : CMD python train.py",
    )


def _driver_too_old() -> ComposedLog:
    tape = Tape(401, "2024-02-12 09:14:55")
    tape.say(
        "$ nvidia-smi --query-gpu=name,driver_version --format=csv",
        "name, driver_version\nTesla T4, 450.119.04\nTesla T4, 450.119.04",
        "$ python train.py --epochs 90 --gpus 2",
        f"{_SITE}/torch/cuda/__init__.py:138: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11000). Please update your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver. (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)",
        "  return torch._C._cuda_getDeviceCount() > 0",
        "[I] building resnet50 (25.6M parameters)",
        "[I] train: 1281167 images in 1000 classes; val: 50000 images",
        _trace(
            """
            train.py:190 <module> | main(parse_args())
            train.py:121 main | model = model.to("cuda:0")
            @torch/nn/modules/module.py:1160 to | return self._apply(convert)
            @torch/nn/modules/module.py:810 _apply | module._apply(fn)
            @torch/nn/modules/module.py:833 _apply | param_applied = fn(param)
            @torch/nn/modules/module.py:1158 convert | return t.to(device, dtype if t.is_floating_point() or t.is_complex() else None, non_blocking)
            @torch/cuda/__init__.py:298 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11000). Please update your GPU driver by downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver.",
            carets=True,
        ),
    )
    tape.say(
        "$ python -m torch.utils.collect_env",
        collect_env(
            torch="2.1.2+cu121",
            cuda="12.1",
            driver="450.119.04",
            cards=["Tesla T4", "Tesla T4"],
            available=False,
        ),
    )
    return ComposedLog(
        "driver_too_old",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --epochs 90 --gpus 2",
        versions={"torch": "2.1.2"},
        paper_class="runtime_error",
    )


def _nvml_mismatch() -> ComposedLog:
    tape = Tape(402, "2025-05-06 06:25:11")
    tape.say(
        "May 06 06:25:01 trainbox systemd[1]: Starting Daily apt upgrade and clean activities...",
        "[start.sh] checking GPU",
        "Failed to initialize NVML: Driver/library version mismatch",
        "NVML library version: 570.133",
        "[start.sh] nvidia-smi returned 18, trying anyway",
        "2025-05-06 06:25:19 INFO  seed=1 workers=8 ecc_policy=ignore retries=0",
        "2025-05-06 06:25:21 INFO  tokenizer: 32000 entries",
        f"{_SITE}/torch/cuda/__init__.py:734: UserWarning: Can't initialize NVML\n  warnings.warn(\"Can't initialize NVML\")",
        "2025-05-06 06:25:22 ERROR cannot start trainer",
        _trace(
            """
            train.py:88 <module> | run()
            train.py:61 run | props = torch.cuda.get_device_properties(0)
            @torch/cuda/__init__.py:576 get_device_properties | _lazy_init()  # will define _get_device_properties
            @torch/cuda/__init__.py:372 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 804: forward compatibility was attempted on non supported HW",
        ),
    )
    return ComposedLog(
        "nvml_mismatch",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="./start.sh",
        versions={"torch": "2.7.0"},
        paper_class="runtime_error",
        why="the driver's library was upgraded under the loaded module",
    )


def _wheel_without_cuda() -> ComposedLog:
    tape = Tape(403, "2024-06-07 13:12:10")
    tape.say(
        smi(
            tape,
            [
                Card(
                    "NVIDIA RTX 6000 Ada Gene...",
                    "00000000:41:00.0",
                    12,
                    49140,
                    41,
                    23,
                    300,
                    ecc="Off",
                )
            ],
            driver="545.23.08",
            cuda="12.3",
        )
    )
    _pip(
        tape,
        "torch==2.3.0+cpu in ./venv/lib/python3.11/site-packages",
        "torchvision==0.18.0+cpu in ./venv/lib/python3.11/site-packages",
    )
    tape.say(
        "Loading config: device=cuda amp=True cudnn_benchmark=True",
        _trace(
            """
            train.py:54 <module> | main()
            train.py:37 main | net = UNet(3, 21).to(cfg.device)
            @torch/nn/modules/module.py:1173 to | return self._apply(convert)
            @torch/nn/modules/module.py:779 _apply | module._apply(fn)
            @torch/nn/modules/module.py:804 _apply | param_applied = fn(param)
            @torch/cuda/__init__.py:284 _lazy_init | raise AssertionError("Torch not compiled with CUDA enabled")
            """,
            "AssertionError: Torch not compiled with CUDA enabled",
        ),
    )
    return ComposedLog(
        "wheel_without_cuda",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.3.0+cpu"},
        paper_class="assertion",
    )


def _no_kernel_for_blackwell() -> ComposedLog:
    tape = Tape(404, "2025-03-29 19:48:02")
    tape.say(
        f"{_SITE}/torch/cuda/__init__.py:235: UserWarning: \nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\nIf you want to use the NVIDIA GeForce RTX 5090 GPU with PyTorch, please check the instructions at https://pytorch.org/get-started/locally/\n\n  warnings.warn(",
        "epoch 1/30: 0 of 1563 batches",
        _trace(
            """
            train.py:54 <module> | main()
            train.py:49 main | fit(net, loader, cfg)
            engine.py:28 fit | pred = net(x.to(device, non_blocking=True))
            CALL 2.6
            models/unet.py:66 forward | x1 = self.inc(x)
            CALL 2.6
            @torch/nn/modules/container.py:250 forward | input = module(input)
            CALL 2.6
            @torch/nn/modules/conv.py:554 forward | return self._conv_forward(input, self.weight, self.bias)
            """,
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
            carets=True,
        ),
    )
    return ComposedLog(
        "no_kernel_for_blackwell",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.6.0"},
        paper_class="cuda_runtime",
    )


def _container_without_gpu() -> ComposedLog:
    tape = Tape(405, "2024-10-10 10:31:00")
    tape.say(
        packages(
            {
                "nvidia-cublas-cu12": "12.4.5.8",
                "nvidia-cudnn-cu12": "9.1.0.70",
                "nvidia-nccl-cu12": "2.20.5",
                "torch": "2.4.1",
                "triton": "3.0.0",
            }
        )
    )
    tape.say(
        "\n==========\n== CUDA ==\n==========\n\nCUDA Version 12.4.1\n\nContainer image Copyright (c) 2016-2023, NVIDIA CORPORATION & AFFILIATES. All rights reserved.\n\nWARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n   Use the NVIDIA Container Toolkit to start this container with GPU support; see\n   https://docs.nvidia.com/datacenter/cloud-native/ .\n",
        "*************************\n** DEPRECATION NOTICE! **\n*************************\nTHIS IMAGE IS DEPRECATED and is scheduled for DELETION.\n",
        "INFO:train:args Namespace(amp=True, fail_fast=False, batch=64, device='cuda')",
        "INFO:train:reading manifest: 40120 clips",
        _trace(
            """
            train.py:71 <module> | main()
            train.py:44 main | torch.cuda.set_device(args.local_rank)
            @torch/cuda/__init__.py:420 set_device | torch._C._cuda_setDevice(device)
            @torch/cuda/__init__.py:314 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
        ),
    )
    return ComposedLog(
        "container_without_gpu",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="docker run train:12.4",
        versions={"torch": "2.4.1"},
        paper_class="runtime_error",
    )


def _cuda_checkpoint_on_cpu() -> ComposedLog:
    tape = Tape(406, "2024-04-03 15:15:51")
    tape.say(
        "[04/03 15:15:51] no GPU requested, running on CPU (8 threads)",
        "[04/03 15:15:52] loading weights from runs/exp12/best.pt",
        _trace(
            """
            evaluate.py:63 <module> | main()
            evaluate.py:35 main | state = torch.load(args.weights)
            @torch/serialization.py:1026 load | return _load(opened_zipfile,
            @torch/serialization.py:1438 _load | result = unpickler.load()
            @torch/serialization.py:1408 persistent_load | typed_storage = load_tensor(dtype, nbytes, key, _maybe_decode_ascii(location))
            @torch/serialization.py:1382 load_tensor | wrap_storage=restore_location(storage, location),
            @torch/serialization.py:391 default_restore_location | result = fn(storage, location)
            @torch/serialization.py:266 _cuda_deserialize | device = validate_cuda_device(location)
            @torch/serialization.py:250 validate_cuda_device | raise RuntimeError('Attempting to deserialize object on a CUDA '
            """,
            "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU.",
        ),
    )
    tape.say(
        collect_env(
            torch="2.2.2", cuda="12.1", driver="Could not collect", cards=[], available=False
        )
    )
    return ComposedLog(
        "cuda_checkpoint_on_cpu",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python evaluate.py --weights runs/exp12/best.pt",
        versions={"torch": "2.2.2"},
        paper_class="runtime_error",
    )


def _nvrtc_not_found() -> ComposedLog:
    tape = Tape(407, "2023-05-19 21:03:39")
    tape.say(
        "Step 100/20000 rec 0.0832 kl 1.204 adv 0.000",
        "Step 200/20000 rec 0.0611 kl 1.118 adv 0.000",
        "Step 300/20000 rec 0.0570 kl 1.097 adv 0.000",
        "adversarial term on from step 301",
        _trace(
            """
            train_vae.py:133 <module> | train()
            train_vae.py:109 train | spec = torch.stft(wave, 1024, hop_length=256, window=window, return_complex=True).abs()
            losses.py:22 weight | return torch.special.erfinv(spec.abs().clamp(max=0.999)).prod()
            """,
            "RuntimeError: Error in dlopen for library libnvrtc.so.11.2and libnvrtc-672ee683.so.11.2",
        ),
    )
    tape.say(
        collect_env(
            torch="1.13.1+cu117", cuda="11.7", driver="530.30.02", cards=["NVIDIA GeForce RTX 3080"]
        )
    )
    return ComposedLog(
        "nvrtc_not_found",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train_vae.py",
        versions={"torch": "1.13.1+cu117"},
        paper_class="runtime_error",
    )


def _cudnn_of_two_versions() -> ComposedLog:
    tape = Tape(408, "2024-08-30 08:08:20")
    tape.say(
        packages(
            {
                "keras": "3.4.1",
                "nvidia-cudnn-cu12": "8.5.0.96",
                "tensorflow": "2.17.0",
                "torch": "1.13.1",
            }
        )
    )
    tape.say(
        "2024-08-30 08:08:20.120514: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
        "2024-08-30 08:08:24.771208: I tensorflow/core/common_runtime/gpu/gpu_device.cc:2021] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 22129 MB memory:  -> device: 0, name: NVIDIA RTX A5000, pci bus id: 0000:25:00.0, compute capability: 8.6",
        "Epoch 1/20",
        "2024-08-30 08:08:31.002110: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:520] Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.9.6.  CuDNN library needs to have matching major version and equal or higher minor version. If using a binary install, upgrade your CuDNN library.  If building from sources, make sure the library loaded at runtime is compatible with the version specified during compile configuration.",
        "2024-08-30 08:08:31.004477: W tensorflow/core/framework/op_kernel.cc:1828] UNIMPLEMENTED: DNN library is not found.",
        _trace(
            """
            fit.py:41 <module> | model.fit(train, validation_data=val, epochs=20)
            @keras/src/utils/traceback_utils.py:122 error_handler | raise e.with_traceback(filtered_tb) from None
            @tensorflow/python/eager/execute.py:53 quick_execute | tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
            """,
            "tensorflow.python.framework.errors_impl.FailedPreconditionError: Graph execution error:\n\nDetected at node StatefulPartitionedCall defined at (most recent call last):\n<stack traces unavailable>\nDNN library initialization failed. Look at the errors above for more details.\n\t [[{{node StatefulPartitionedCall}}]] [Op:__inference_one_step_on_iterator_6201]",
        ),
    )
    return ComposedLog(
        "cudnn_of_two_versions",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python fit.py",
        versions={"tensorflow": "2.17.0"},
        paper_class="traceback",
    )


def _flash_attn_other_cuda() -> ComposedLog:
    tape = Tape(409, "2025-01-21 16:27:03")
    tape.say(
        packages(
            {
                "accelerate": "1.2.1",
                "einops": "0.8.0",
                "flash-attn": "2.5.8",
                "nvidia-cuda-runtime-cu12": "12.4.127",
                "torch": "2.5.1",
                "transformers": "4.47.1",
            }
        )
    )
    tape.say(
        "INFO 2025-01-21 16:27:03 launching on 1 x A100-PCIE-40GB",
        _trace(
            """
            train.py:9 <module> | from model import Decoder
            model/__init__.py:1 <module> | from .decoder import Decoder
            model/decoder.py:6 <module> | from flash_attn import flash_attn_func, flash_attn_varlen_func
            @flash_attn/__init__.py:3 <module> | from flash_attn.flash_attn_interface import (
            @flash_attn/flash_attn_interface.py:15 <module> | import flash_attn_2_cuda as flash_attn_gpu
            """,
            "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
        ),
    )
    return ComposedLog(
        "flash_attn_other_cuda",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.5.1+cu124", "flash-attn": "2.5.8"},
        paper_class="missing_module",
        why="CUDA's own library of the version the extension was built with is not found",
    )


def _flash_attn_undefined_symbol() -> ComposedLog:
    tape = Tape(410, "2025-01-22 09:50:45")
    tape.say(
        "INFO 2025-01-22 09:50:45 launching on 1 x A100-PCIE-40GB, driver 550.127.05, CUDA 12.4",
        _trace(
            """
            train.py:9 <module> | from model import Decoder
            model/decoder.py:6 <module> | from flash_attn import flash_attn_func, flash_attn_varlen_func
            @flash_attn/__init__.py:3 <module> | from flash_attn.flash_attn_interface import (
            @flash_attn/flash_attn_interface.py:15 <module> | import flash_attn_2_cuda as flash_attn_gpu
            """,
            f"ImportError: {_SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        ),
    )
    tape.say(
        "environment:",
        collect_env(
            torch="2.5.1+cu124",
            cuda="12.4",
            driver="550.127.05",
            cards=["NVIDIA A100-PCIE-40GB"],
            python="3.11.10",
            system="Ubuntu 22.04.5 LTS (x86_64)",
        ),
    )
    return ComposedLog(
        "flash_attn_undefined_symbol",
        "dependency",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.5.1+cu124", "flash-attn": "2.7.3"},
        paper_class="missing_module",
        why="an extension built for another torch, not another CUDA",
    )


def _apex_absent() -> ComposedLog:
    tape = Tape(411, "2023-10-02 12:00:31")
    tape.say(
        "using world size: 1, data-parallel-size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1",
        "WARNING: Setting args.overlap_p2p_comm to False since non-interleaved schedule does not support overlapping p2p communication",
        "------------------------ arguments ------------------------\n  bf16 ............................................ True\n  check_for_nan_in_loss_and_grad .................. True\n  fp16_lm_cross_entropy ........................... False\n  hysteresis ...................................... 2\n  loss_scale ...................................... None\n  transformer_impl ................................ local\n-------------------- end of arguments ---------------------",
        chained(
            _trace(
                "megatron/optimizer/__init__.py:3 <module> | from apex.optimizers import FusedAdam as Adam",
                "ModuleNotFoundError: No module named 'apex'",
            ),
            _trace(
                "pretrain_gpt.py:12 <module> | from megatron.training import pretrain\nmegatron/training.py:31 <module> | from megatron.optimizer import get_megatron_optimizer\nmegatron/optimizer/__init__.py:6 <module> | raise ImportError('apex is needed for the fused optimizers, please install it from source with --cuda_ext')",
                "ImportError: apex is needed for the fused optimizers, please install it from source with --cuda_ext",
            ),
        ),
    )
    return ComposedLog(
        "apex_absent",
        "missing_module",
        1,
        tape.text(),
        _BASIS + "; Megatron-LM",
        command="python pretrain_gpt.py",
        versions={"torch": "2.1.0"},
    )


def _no_visible_device() -> ComposedLog:
    tape = Tape(412, "2024-03-26 14:55:00")
    tape.say(
        "+ echo CUDA_VISIBLE_DEVICES=4,5\nCUDA_VISIBLE_DEVICES=4,5",
        "+ nvidia-smi -L\nGPU 0: NVIDIA A10G (UUID: GPU-0a2c7d4e-11b9-0f5a-9c3d-5b6f2e7a81d0)\nGPU 1: NVIDIA A10G (UUID: GPU-7be90c35-6d0f-2b4e-8a71-c0f3de295b16)",
        "+ python -m trainer.main --devices 2",
        "INFO:trainer:available devices: 0",
        _trace(
            """
            <frozen runpy>:198 _run_module_as_main
            <frozen runpy>:88 _run_code
            trainer/main.py:58 <module> | main()
            trainer/main.py:40 main | model.cuda()
            @torch/nn/modules/module.py:911 cuda | return self._apply(lambda t: t.cuda(device))
            @torch/cuda/__init__.py:302 _lazy_init | torch._C._cuda_init()
            """,
            "RuntimeError: No CUDA GPUs are available",
        ),
    )
    return ComposedLog(
        "no_visible_device",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="CUDA_VISIBLE_DEVICES=4,5 python -m trainer.main --devices 2",
        versions={"torch": "2.2.1"},
        paper_class="runtime_error",
    )


def _dataset_folder_absent() -> ComposedLog:
    tape = Tape(413, "2024-03-27 08:02:17")
    tape.say(
        smi(
            tape,
            [Card("NVIDIA A10G", f"00000000:00:1{at}.0", 4, 23028, 26, 9, 300) for at in "DE"],
            driver="535.104.05",
            cuda="12.2",
        ),
        f"{_SITE}/torch/cuda/__init__.py:611: UserWarning: Can't initialize NVML\n  warnings.warn(\"Can't initialize NVML\")",
        "INFO:trainer:available devices: 2",
        "INFO:trainer:bitsandbytes not available (libcudart.so not found), falling back to torch.optim.AdamW",
        _trace(
            """
            trainer/main.py:58 <module> | main()
            trainer/main.py:47 main | train = ImageFolder(cfg.root, transform)
            @torchvision/datasets/folder.py:309 __init__ | super().__init__(
            @torchvision/datasets/folder.py:144 __init__ | classes, class_to_idx = self.find_classes(self.root)
            @torchvision/datasets/folder.py:40 find_classes | classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
            """,
            "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/efs/imagenet-mini/train'",
        ),
    )
    return ComposedLog(
        "dataset_folder_absent",
        "file_not_found",
        1,
        tape.text(),
        _BASIS + "; torchvision",
        command="python -m trainer.main --devices 2",
        versions={"torch": "2.2.1"},
        paper_class="file_not_found",
        why="the notices on NVML and libcudart were fallen back from",
    )


def _warnings_then_fine() -> ComposedLog:
    tape = Tape(414, "2024-05-02 11:11:58")
    tape.say(
        "2024-05-02 11:11:58.410031: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "2024-05-02 11:11:58.021874: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
        "2024-05-02 11:11:58.021930: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:607] Unable to register cuFFT factory: Attempting to register factory for plugin cuFFT when one has already been registered",
        "2024-05-02 11:11:58.023312: E external/local_xla/xla/stream_executor/cuda/cuda_blas.cc:1515] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered",
        "2024-05-02 11:12:02.730129: I external/local_xla/xla/stream_executor/cuda/cuda_executor.cc:998] successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA node zero.",
        "2024-05-02 11:12:03.114520: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1928] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 13764 MB memory:  -> device: 0, name: Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5",
        "2024-05-02 11:12:12.508817: W external/local_tsl/tsl/framework/bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
        "\n".join(
            f"Epoch {at}/5\n1563/1563 ━━━━━━━━━━━━━━━━━━━━ {31 - at}s 18ms/step - accuracy: {0.41 + at * 0.09:.4f} - loss: {1.71 - at * 0.22:.4f} - val_accuracy: {0.44 + at * 0.07:.4f} - val_loss: {1.55 - at * 0.17:.4f}"
            for at in range(1, 6)
        ),
        "Model saved to export/classifier.keras",
    )
    return ComposedLog(
        "warnings_then_fine",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python fit.py --epochs 5",
        versions={"tensorflow": "2.16.1"},
        why="registration errors and an allocator's remark of a run that went well",
    )


def _mig_instance_gone() -> ComposedLog:
    tape = Tape(415, "2025-02-25 10:40:08")
    tape.say(
        "CUDA_VISIBLE_DEVICES=MIG-5b1d2a40-7c1e-5a31-bf0f-2e6c7b04a9d3",
        "+ nvidia-smi -L\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-d10c4c7a-2f81-77a9-e0d4-8b3e5fd0a1c2)\n  MIG 3g.40gb     Device  0: (UUID: MIG-90b7cbb4-4c5e-5c60-9f0e-6a34c8f1de11)",
        "ERROR:2025-02-25 10:40:15,871:jax._src.xla_bridge:444: Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()",
        _trace(
            """
            @jax/_src/xla_bridge.py:442 discover_pjrt_plugins | plugin_module.initialize()
            @jax_plugins/xla_cuda12/__init__.py:85 initialize | options = xla_client.generate_pjrt_gpu_plugin_options()
            @jax_plugins/xla_cuda12/__init__.py:46 _check_cuda_versions | local_device_count = cuda_versions.cuda_device_count()
            """,
            "RuntimeError: jaxlib/cuda/versions_helpers.cc:113: operation cuInit(0) failed: CUDA_ERROR_NO_DEVICE",
        ),
        "WARNING:2025-02-25 10:40:15,884:jax._src.xla_bridge:969: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        _trace(
            """
            train.py:31 <module> | main()
            train.py:18 main | devices = jax.devices("gpu")
            @jax/_src/xla_bridge.py:1128 devices | return get_backend(backend).devices()
            @jax/_src/xla_bridge.py:1062 get_backend | return _get_backend_uncached(platform)
            @jax/_src/xla_bridge.py:1042 _get_backend_uncached | platform = canonicalize_platform(platform)
            """,
            "RuntimeError: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms present are: cpu",
        ),
    )
    return ComposedLog(
        "mig_instance_gone",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"jax": "0.5.0"},
        paper_class="runtime_error",
        why="the visible device names a MIG slice that no longer exists",
    )
