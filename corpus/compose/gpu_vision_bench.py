"""Detection, segmentation, diffusion and timm programs on workstations with one or two GeForce cards."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_environment import collect_env, packages
from corpus.compose._gpu_hosts import kernel, steps, xid
from corpus.compose._gpu_tape import Tape, bar, traceback
from corpus.compose._gpu_torch import cuda_error, oom
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of mmengine/mmdetection, detectron2, Ultralytics, diffusers, timm and PyTorch"
_SITE = "/home/user/anaconda3/envs/cv/lib/python3.8/site-packages"
_MM = "{when} - mmengine - INFO - Epoch(train)  [3][{step:4d}/7330]  lr: {lr:.4e}  eta: 11:02:40  time: {time:.4f}  data_time: 0.0103  memory: 8841  grad_norm: {norm:.4f}  loss: {loss:.4f}  loss_rpn_cls: 0.0512  loss_bbox: 0.2331"


def logs() -> Iterator[ComposedLog]:
    """Labels the card rejects, boxes without area, cards that leave, sizes that do not meet, good runs."""
    yield _classes_above_the_head()
    yield _retry_if_cuda_oom_failed()
    yield _boxes_became_infinite()
    yield _card_left_under_load()
    yield _skip_sizes_differ()
    yield _labels_missing()
    yield _deform_conv_without_gpu()
    yield _module_without_attribute()
    yield _host_memory_of_cache()
    yield _oversized_batches_redone()
    yield _assert_box_order()
    yield _segfault_in_decoder()
    yield _warmup_warnings_and_map()


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/home/user/cv", site=_SITE)


def _machine(torch: str, card: str = "NVIDIA GeForce RTX 3090", driver: str = "525.147.05") -> str:
    cuda = "11.8" if torch.startswith("2") else "11.3"
    return collect_env(torch=torch, cuda=cuda, driver=driver, cards=[card])


def _installed(torch: str, **others: str) -> str:
    common = {"certifi": "2023.7.22", "Cython": "3.0.0", "matplotlib": "3.7.2", "numpy": "1.24.4"}
    rest = {"opencv-python": "4.8.0.74", "pillow": "10.0.0", "scipy": "1.10.1", "tqdm": "4.66.1"}
    return packages({**common, **rest, "torch": torch, **others})


def _classes_above_the_head() -> ComposedLog:
    tape = Tape(1201, "2023-10-11 20:10:15")
    tape.say(_installed("2.0.1", ultralytics="8.0.196"))
    tape.say(
        "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size",
        "\r".join(
            bar(
                f"      1/100      6.21G      1.812      {3.9 - at / 100:.3f}      1.611         84        640",
                at,
                231,
                0.31,
            )
            for at in range(0, 60, 10)
        ),
        "\n".join(
            f'../aten/src/ATen/native/cuda/ScatterGatherKernel.cu:365: operator(): block: [{b},0,0], thread: [{t},0,0] Assertion `idx_dim >= 0 && idx_dim < index_size && "index out of bounds"` failed.'
            for b in (0, 3)
            for t in (41, 52, 60, 97)
        ),
        _trace(
            """
            train.py:12 <module> | model.train(data="parts.yaml", epochs=100, imgsz=640)
            @ultralytics/engine/model.py:341 train | self.trainer.train()
            @ultralytics/engine/trainer.py:328 _do_train | self.loss, self.loss_items = self.model(batch)
            @ultralytics/utils/tal.py:150 get_targets | target_labels = gt_labels.long().flatten()[target_gt_idx]
            """,
            cuda_error("2.0", "device-side assert triggered"),
        ),
        "terminate called without an active exception",
    )
    return ComposedLog(
        "classes_above_the_head",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.0.1", "ultralytics": "8.0.196"},
        why="labels out of range, but seen on the card only",
    )


def _retry_if_cuda_oom_failed() -> ComposedLog:
    tape = Tape(1202, "2022-02-01 02:20:00")
    for at in range(19, 200, 20):
        tape.wait(15).say(
            f"[{tape.when('%m/%d %H:%M:%S')} d2.utils.events]:  eta: 1 day, 2:13:20  iter: {at}  total_loss: {tape.near(2.8 - at / 400, 0.05):.3f}  loss_ce: 0.71  loss_mask: 0.55  loss_dice: 1.02  time: 0.7411  data_time: 0.0204  lr: 1e-04  max_mem: 22310M"
        )
    tape.say(
        f"[{tape.when('%m/%d %H:%M:%S')} d2.utils.memory]: Attempting to copy inputs of <function pairwise_mask_loss at 0x7f01a2b3c1f0> to CPU due to CUDA OOM",
        f"[{tape.when('%m/%d %H:%M:%S')} d2.engine.train_loop]: Exception during training:",
        _trace(
            """
            @detectron2/engine/train_loop.py:149 train | self.run_step()
            @detectron2/engine/train_loop.py:287 run_step | losses.backward()
            @torch/_tensor.py:307 backward | torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)
            """,
            oom(
                "1.10",
                "1.95 GiB",
                total="23.70 GiB",
                free="1.10 GiB",
                used="21.55 GiB",
                allocated="19.02 GiB",
            ),
        ),
        f"[{tape.when('%m/%d %H:%M:%S')} d2.engine.hooks]: Overall training speed: 198 iterations in 0:02:26 (0.7411 s / it)",
        f"[{tape.when('%m/%d %H:%M:%S')} d2.engine.hooks]: Total training time: 0:02:31 (0:00:04 on hooks)",
        f"[{tape.when('%m/%d %H:%M:%S')} d2.utils.events]:  iter: 200  total_loss: 2.31  max_mem: 23977M",
    )
    tape.say("## environment", _machine("1.10.1"))
    return ComposedLog(
        "retry_if_cuda_oom_failed",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python train_net.py --num-gpus 1",
        versions={"torch": "1.10.1", "detectron2": "0.6"},
    )


def _boxes_became_infinite() -> ComposedLog:
    tape = Tape(1203, "2022-07-22 17:35:39")
    tape.say(_machine("1.11.0", "Tesla V100-SXM2-32GB", "470.82.01"))
    for at in range(19, 120, 20):
        tape.wait(12).say(
            f"[{tape.when('%m/%d %H:%M:%S')} d2.utils.events]:  eta: 5:13:20  iter: {at}  total_loss: {2.8 + at**2 / 900:.3f}  loss_cls: 1.10  loss_box_reg: {0.2 + at / 9:.2f}  time: 0.41  lr: 0.02"
        )
    tape.say(
        _trace(
            """
            @detectron2/engine/launch.py:67 launch | main_func(*args)
            @detectron2/engine/train_loop.py:155 train | self.run_step()
            @detectron2/engine/train_loop.py:332 _write_metrics | SimpleTrainer.write_metrics(self.metrics, loss_dict, data_time, prefix)
            @detectron2/engine/train_loop.py:371 write_metrics | raise FloatingPointError(
            """,
            "FloatingPointError: Loss became infinite or NaN at iteration=124!\nloss_dict = {'loss_cls': nan, 'loss_box_reg': nan, 'loss_mask': nan, 'loss_rpn_cls': 12.318108558654785, 'loss_rpn_loc': inf}",
        )
    )
    return ComposedLog(
        "boxes_became_infinite",
        "nan_loss",
        1,
        tape.text(),
        _BASIS,
        command="python train_net.py SOLVER.BASE_LR 0.02",
        versions={"torch": "1.11.0", "detectron2": "0.6"},
        paper_class="nan_loss",
    )


def _card_left_under_load() -> ComposedLog:
    tape = Tape(1204, "2024-08-25 15:00:10")
    tape.say(steps(tape, _MM, range(50, 600, 50), seconds=26, loss=1.1, floor=0.6))
    tape.say(
        _trace(
            """
            tools/train.py:121 <module> | main()
            tools/train.py:117 main | runner.train()
            @mmengine/runner/loops.py:128 run_iter | outputs = self.runner.model.train_step(data_batch, optim_wrapper=self.runner.optim_wrapper)
            @mmengine/optim/optimizer/optimizer_wrapper.py:196 update_params | self.backward(loss)
            @torch/autograd/__init__.py:173 backward | Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
            """,
            cuda_error("1.12", "unknown error"),
        ),
        "$ nvidia-smi\nUnable to determine the device handle for GPU 0000:01:00.0: Unknown Error",
        "$ sudo dmesg | grep -iE 'nvrm|pcie' | tail",
        kernel(
            tape,
            "ws",
            "pcieport 0000:00:01.0: AER: Multiple Uncorrected (Non-Fatal) error received: 0000:00:01.0",
            xid("0000:01:00", 79, "GPU has fallen off the bus.", pid=30411),
            "NVRM: A GPU crash dump has been created. If possible, please run\nNVRM: nvidia-bug-report.sh as root to collect this data before\nNVRM: the NVIDIA kernel module is unloaded.",
            form="dmesg",
        ),
    )
    return ComposedLog(
        "card_left_under_load",
        "gpu_hardware",
        1,
        tape.text(),
        _BASIS,
        command="python tools/train.py configs/cascade.py",
        versions={"torch": "1.12.1", "mmdet": "3.0.0"},
        paper_class="cuda_runtime",
    )


def _skip_sizes_differ() -> ComposedLog:
    tape = Tape(1205, "2023-02-18 09:09:09")
    tape.say(_installed("1.13.1", wandb="0.13.5"))
    tape.say(
        "Starting epoch 1.0\nLearning rate: 1e-05 | Checkpoints: True | Device: cuda | Images scaling: 0.5 | Mixed Precision: False",
        bar("Epoch 1/5", 0, 4580, 0.3),
        _trace(
            """
            train.py:184 <module> | train_model(model=model, device=device, amp=args.amp)
            train.py:104 train_model | masks_pred = model(images)
            CALL 1.13
            unet/unet_model.py:31 forward | x = self.up1(x5, x4)
            CALL 1.13
            unet/unet_parts.py:67 forward | x = torch.cat([x2, x1], dim=1)
            """,
            "RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 75 but got size 74 for tensor number 1 in the list.",
        ),
        bar("Epoch 1/5", 0, 4580, 0.3),
    )
    return ComposedLog(
        "skip_sizes_differ",
        "shape_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="python train.py --scale 0.5",
        versions={"torch": "1.13.1"},
        paper_class="runtime_error",
    )


def _labels_missing() -> ComposedLog:
    tape = Tape(1206, "2024-01-05 18:48:00")
    tape.say(_installed("2.1.2", ultralytics="8.0.235"))
    tape.say(
        "AMP: running Automatic Mixed Precision (AMP) checks with YOLOv8n...\nAMP: checks failed (anomalies detected: NaN losses or 0 instances); AMP is disabled for this run.",
        "train: Scanning /home/user/cv/datasets/parts/labels/train... 0 images, 1288 backgrounds, 1288 corrupt: 100%|██████████| 1288/1288 [00:01<00:00, 1199.01it/s]",
        "train: WARNING /home/user/cv/datasets/parts/images/train/0001.jpg: ignoring corrupt image/label: Label class 7 exceeds dataset class count 4. Possible class labels are 0-3",
        "train: WARNING /home/user/cv/datasets/parts/images/train/0002.jpg: ignoring corrupt image/label: non-normalized or out of bounds coordinates [1.1802 1.0311]",
        _trace(
            """
            train.py:12 <module> | model.train(data="parts.yaml", epochs=100, imgsz=640)
            @ultralytics/data/base.py:71 __init__ | self.labels = self.get_labels()
            @ultralytics/data/dataset.py:138 get_labels | raise ValueError(f"All labels empty in {cache_path}, can not start training. {HELP_URL}")
            """,
            "ValueError: All labels empty in /home/user/cv/datasets/parts/labels/train.cache, can not start training. See https://docs.ultralytics.com/datasets/detect for dataset formatting guidance.",
        ),
    )
    return ComposedLog(
        "labels_missing",
        "data",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"torch": "2.1.2", "ultralytics": "8.0.235"},
        paper_class="traceback",
    )


def _deform_conv_without_gpu() -> ComposedLog:
    tape = Tape(1207, "2021-10-19 21:05:50")
    tape.say(
        "2021-10-19 21:05:50,120 - mmdet - INFO - Environment info:\n------------------------------------------------------------\nPython: 3.8.12\nCUDA available: True\nGPU 0: NVIDIA GeForce RTX 3090\nCUDA_HOME: /usr/local/cuda-10.2\nNVCC: Cuda compilation tools, release 10.2, V10.2.89\nPyTorch: 1.8.1+cu111\nMMCV: 1.3.9\nMMCV Compiler: GCC 7.3\nMMCV CUDA Compiler: 10.2\n------------------------------------------------------------",
        "2021-10-19 21:06:20,551 - mmdet - INFO - workflow: [('train', 1)], max: 12 epochs",
        _trace(
            """
            tools/train.py:188 <module> | main()
            tools/train.py:177 main | train_detector(
            @mmcv/ops/deform_conv.py:78 forward | ext_module.deform_conv_forward(
            """,
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        ),
        "error in modulated_deformable_im2col_cuda: no kernel image is available for execution on the device",
    )
    return ComposedLog(
        "deform_conv_without_gpu",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python tools/train.py configs/dcn.py",
        versions={"torch": "1.8.1", "mmcv-full": "1.3.9"},
        paper_class="cuda_runtime",
    )


def _module_without_attribute() -> ComposedLog:
    tape = Tape(1208, "2024-11-11 11:11:10")
    tape.say(
        "11/11/2024 11:11:10 - INFO - __main__ - Distributed environment: NO\nNum processes: 1\nProcess index: 0\nLocal process index: 0\nDevice: cuda\n\nMixed precision type: fp16",
        "\r".join(
            bar("Steps", at, 800, 0.9, f", loss={0.2 - at / 9000:.3f}, lr=5e-6")
            for at in range(0, 801, 100)
        ),
        _trace(
            """
            train_dreambooth.py:1402 <module> | main(args)
            train_dreambooth.py:1366 main | pipeline.unet.save_attn_procs(args.output_dir, safe_serialization=True)
            @torch/nn/modules/module.py:1729 __getattr__ | raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            """,
            "AttributeError: 'DistributedDataParallel' object has no attribute 'save_attn_procs'",
        ),
        bar("Steps", 800, 800, 0.9, ", loss=0.111, lr=5e-6"),
    )
    tape.say("**System info**", _machine("2.4.1", "NVIDIA GeForce RTX 4090", "550.54.14"))
    return ComposedLog(
        "module_without_attribute",
        "traceback",
        1,
        tape.text(),
        _BASIS,
        command="accelerate launch train_dreambooth.py",
        versions={"torch": "2.4.1", "diffusers": "0.31.0"},
    )


def _host_memory_of_cache() -> ComposedLog:
    tape = Tape(1209, "2024-04-29 23:59:01")
    tape.say(_machine("2.1.0"), _installed("2.1.0", ultralytics="8.2.4"))
    tape.say(
        "\r".join(
            bar(f"train: Caching images ({at * 0.9:.1f}GB RAM)", at, 118, 0.8)
            for at in range(0, 96, 8)
        ),
        _trace(
            """
            train.py:12 <module> | model.train(data="coco.yaml", cache=True)
            @ultralytics/data/base.py:191 cache_images | for i, x in pbar:
            @ultralytics/data/base.py:168 load_image | im = cv2.resize(im, (w, h), interpolation=cv2.INTER_LINEAR)
            """,
            "cv2.error: OpenCV(4.9.0) /io/opencv/modules/core/src/alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 1228800 bytes in function 'OutOfMemoryError'",
        ),
    )
    return ComposedLog(
        "host_memory_of_cache",
        "host_oom",
        1,
        tape.text(),
        _BASIS + "; OpenCV",
        command="python train.py",
        versions={"ultralytics": "8.2.4"},
        paper_class="ram_oom",
        why="OpenCV's OutOfMemoryError is host memory",
    )


def _oversized_batches_redone() -> ComposedLog:
    tape = Tape(1210, "2023-06-15 12:30:00")
    tape.say(_machine("2.0.1", "NVIDIA TITAN RTX"))
    for epoch in range(1, 4):
        tape.say(
            "\r".join(
                bar(f"epoch {epoch}", at, 500, 0.2, ", loss=0.4") for at in range(0, 501, 100)
            )
        )
    tape.say(
        "| WARNING: ran out of memory on sample of 1.9 Mpx, retrying in halves",
        "| WARNING: attempting to recover from OOM in forward/backward pass",
        "epoch 3: 2 batches redone in halves, 0 lost",
    )
    for epoch in range(4, 9):
        tape.say(
            "\r".join(
                bar(f"epoch {epoch}", at, 500, 0.2, f", loss=0.{40 - epoch}")
                for at in range(0, 501, 100)
            )
        )
    tape.say("test mIoU 0.7712 | saved best.pth")
    return ComposedLog(
        "oversized_batches_redone",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python train.py --oom-retry",
        versions={"torch": "2.0.1"},
        why="the two oversized batches were redone in halves",
    )


def _assert_box_order() -> ComposedLog:
    tape = Tape(1211, "2024-09-19 16:04:42")
    tape.say(_installed("2.3.1", pycocotools="2.0.7"))
    tape.say(
        "Not using distributed mode\ngit:\n  sha: 29901c5, status: clean, branch: main\n",
        *(
            f"Epoch: [0]  [{at:5d}/29571]  eta: 6:12:14  lr: 0.000100  class_error: {tape.near(60, 0.3):.2f}  loss: {tape.near(22, 0.1):.4f} ({23.1:.4f})  loss_ce: 1.2210 (1.3310)  time: 0.7520  data: 0.0096  max mem: 10120"
            for at in range(0, 70, 10)
        ),
        _trace(
            """
            main.py:248 <module> | main(args)
            main.py:198 main | train_stats = train_one_epoch(
            engine.py:41 train_one_epoch | loss_dict = criterion(outputs, targets)
            models/matcher.py:77 forward | cost_giou = -generalized_box_iou(box_cxcywh_to_xyxy(out_bbox), box_cxcywh_to_xyxy(tgt_bbox))
            util/box_ops.py:51 generalized_box_iou | assert (boxes2[:, 2:] >= boxes2[:, :2]).all()
            """,
            "AssertionError",
        ),
    )
    return ComposedLog(
        "assert_box_order",
        "assertion",
        1,
        tape.text(),
        _BASIS + "; DETR",
        command="python main.py --batch_size 2",
        versions={"torch": "2.3.1"},
        why="the assertion fails on the boxes, and nothing behind it is shown",
    )


def _segfault_in_decoder() -> ComposedLog:
    tape = Tape(1212, "2025-01-26 20:20:20")
    tape.say(
        steps(
            tape,
            "{when} Train: 4 [{step:>4d}/2502 (  8%)]  Loss: {loss:.3f}  Time: {time:.3f}s, 1412.08/s  LR: {lr:.3e}  Data: 0.011",
            range(0, 400, 50),
            seconds=20,
        )
    )
    tape.say(
        'Fatal Python error: Segmentation fault\n\nThread 0x00007f4ad4ff9700 (most recent call first):\n  File "/home/user/anaconda3/envs/cv/lib/python3.8/threading.py", line 302 in wait\n\nCurrent thread 0x00007f4c3a5f1740 (most recent call first):\n  File "/home/user/anaconda3/envs/cv/lib/python3.8/site-packages/decord/video_reader.py", line 175 in get_batch\n  File "/home/user/cv/data/clips.py", line 60 in __getitem__\n  File "/home/user/cv/train.py", line 812 in train_one_epoch',
        "Segmentation fault (core dumped)",
        "$ dmesg -T | tail -1\n[Sun Jan 26 20:23:01 2025] python[8123]: segfault at 18 ip 00007f4b11a3c2d0 sp 00007ffd5b1c9a70 error 4 in libdecord.so[7f4b11900000+2f1000]",
    )
    tape.say("Environment:", _installed("2.4.1", decord="0.6.0", timm="1.0.9"))
    return ComposedLog(
        "segfault_in_decoder",
        "segfault",
        139,
        tape.text(),
        _BASIS + "; faulthandler",
        command="python -X faulthandler train.py --workers 0",
        versions={"torch": "2.4.1", "timm": "1.0.9"},
    )


def _warmup_warnings_and_map() -> ComposedLog:
    tape = Tape(1213, "2024-03-09 08:00:00")
    tape.say(
        f"{_SITE}/torch/functional.py:504: UserWarning: torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. (Triggered internally at ../aten/src/ATen/native/TensorShape.cpp:3526.)\n  return _VF.meshgrid(tensors, **kwargs)  # type: ignore[attr-defined]",
        '03/09 08:00:41 - mmengine - WARNING - "FileClient" will be deprecated in future. Please use io functions in https://mmengine.readthedocs.io/en/latest/api/fileio.html#file-io',
        "The model and loaded state dict do not match exactly\n\nunexpected key in source state_dict: fc.weight, fc.bias\n",
        steps(tape, _MM, range(50, 900, 50), seconds=26, loss=1.2, floor=0.5),
        "03/09 12:31:18 - mmengine - INFO - Evaluating bbox...\nLoading and preparing results...\nDONE (t=1.52s)\n Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.403\n Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=1000 ] = 0.611\n Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=1000 ] = -1.000",
        "03/09 12:31:30 - mmengine - INFO - bbox_mAP_copypaste: 0.403 0.611 0.440 0.231 0.442 nan",
        "03/09 12:31:31 - mmengine - INFO - Epoch(val) [12][5000/5000]  coco/bbox_mAP: 0.4030  data_time: 0.0021  time: 0.0508",
    )
    return ComposedLog(
        "warmup_warnings_and_map",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python tools/train.py configs/rtmdet.py",
        versions={"torch": "1.13.1", "mmdet": "3.3.0"},
        why="a nan among the metrics of absent sizes, and keys left out on purpose",
    )
