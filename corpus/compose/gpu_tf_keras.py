"""TensorFlow and Keras on one to four cards, versions 2.6 to 2.18."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.compose._gpu_environment import keras_summary
from corpus.compose._gpu_tape import Tape, marked, traceback
from corpus.compose.composed_log import ComposedLog

_BASIS = "sources of TensorFlow (bfc_allocator, stream_executor, op_kernel) and Keras"
_SITE = "/usr/local/lib/python3.11/dist-packages"


def logs() -> Iterator[ComposedLog]:
    """The allocator's dump, cuDNN and cuBLAS, NaN callbacks, collectives, good runs with alarms."""
    yield _bfc_dump()
    yield _cudnn_could_not_allocate()
    yield _oom_on_cpu_device()
    yield _cublas_launch_failed()
    yield _nan_terminated()
    yield _libdevice_missing()
    yield _no_gpu_registered()
    yield _collective_peer_restarted()
    yield _logits_and_labels()
    yield _label_outside_on_cpu()
    yield _xla_gpu_jit_oom()
    yield _mirrored_and_fine()


def _log(tape: Tape, level: str, where: str, text: str) -> str:
    tape.wait(tape.rng.random() * 0.05)
    return f"{tape.when('%Y-%m-%d %H:%M:%S.%f')}: {level} {where}] {text}"


def _trace(frames: str, error: str) -> str:
    return traceback(frames, error, root="/content/project", site=_SITE)


def _devices(tape: Tape, cards: int, memory: int, name: str, capability: str) -> None:
    tape.say(
        _log(
            tape,
            "I",
            "tensorflow/core/platform/cpu_feature_guard.cc:182",
            "This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.\nTo enable the following instructions: AVX2 AVX512F FMA, in other operations, rebuild TensorFlow with the appropriate compiler flags.",
        )
    )
    for at in range(cards):
        tape.say(
            _log(
                tape,
                "I",
                "tensorflow/core/common_runtime/gpu/gpu_device.cc:1639",
                f"Created device /job:localhost/replica:0/task:0/device:GPU:{at} with {memory} MB memory:  -> device: {at}, name: {name}, pci bus id: 0000:{0x1A + at * 0x20:02x}:00.0, compute capability: {capability}",
            )
        )
    tape.say(
        f"Found {tape.rng.randrange(9000, 60000)} files belonging to {tape.rng.randrange(5, 60)} classes.",
        keras_summary(tape, "model", tape.rng.randrange(5, 11)),
    )


def _epochs(tape: Tape, first: int, last: int, total: int, steps: int = 391) -> None:
    for at in range(first, last + 1):
        tape.wait(47)
        loss = 2.1 / (1 + at * 0.3)
        tape.say(
            f"Epoch {at}/{total}",
            "\r".join(
                f"{done:3d}/{steps} [{'=' * int(done / steps * 29)}>{'.' * int(29 - done / steps * 29)}] - ETA: {(steps - done) * 0.12:.0f}s - loss: {loss + 0.1 - done / steps * 0.1:.4f}"
                for done in range(0, steps, 97)
            )
            + f"\r{steps}/{steps} [==============================] - 47s 120ms/step - loss: {loss:.4f} - accuracy: {1 - loss / 3:.4f} - val_loss: {loss * 1.08:.4f}",
        )


def _bfc_dump() -> ComposedLog:
    tape = Tape(801, "2022-11-23 11:30:05")
    _devices(tape, 1, 9651, "NVIDIA GeForce RTX 2080 Ti", "7.5")
    tape.say("Epoch 1/60", " 1/812 [..............................] - ETA: 3:01:22 - loss: 5.1104")
    where = "tensorflow/core/common_runtime/bfc_allocator.cc:"
    tape.say(
        _log(
            tape,
            "W",
            where + "479",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.56GiB (rounded to 1677721600)requested by op gradient_tape/model/conv2d_transpose_3/Conv2D",
        ),
        "If the cause is memory fragmentation maybe the environment variable 'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ",
        "Current allocation summary follows.\nCurrent allocation summary follows.",
        _log(tape, "I", where + "1033", "BFCAllocator dump for GPU_0_bfc"),
    )
    for size in (256, 512, 1024, 4096, 65536, 1048576, 33554432, 268435456):
        used = tape.rng.randrange(0, 90)
        tape.say(
            _log(
                tape,
                "I",
                where + "1040",
                f"Bin ({size}): \tTotal Chunks: {used}, Chunks in use: {used}. {used * size / 1024:.1f}KiB allocated for chunks. {used * size / 1024:.1f}KiB in use in bin. {used * size / 1100:.1f}KiB client-requested in use in bin.",
            )
        )
    tape.say(
        _log(tape, "I", where + "1056", "Bin for 1.56GiB was 256.00MiB, Chunk State: "),
        _log(
            tape,
            "I",
            where + "1062",
            "  Size: 902.14MiB | Requested Size: 800.00MiB | in_use: 0 | bin_num: 20, prev:   Size: 1.56GiB | Requested Size: 1.56GiB | in_use: 1 | bin_num: -1",
        ),
        _log(tape, "I", where + "1095", "     Summary of in-use Chunks by size: "),
        _log(tape, "I", where + "1098", "5 Chunks of size 1677721600 totalling 7.81GiB"),
        _log(tape, "I", where + "1102", "Sum Total of in-use chunks: 8.52GiB"),
        _log(
            tape,
            "I",
            where + "1104",
            "total_region_allocated_bytes_: 10119741440 memory_limit_: 10119741440 available bytes: 0 curr_region_allocation_bytes_: 20239482880",
        ),
        _log(
            tape,
            "I",
            where + "1110",
            "Stats: \nLimit:                     10119741440\nInUse:                      9148301312\nMaxInUse:                   9620160512\nNumAllocs:                        3120\nMaxAllocSize:               3355443200\nReserved:                            0\nPeakReserved:                        0\nLargestFreeBlock:                    0\n",
        ),
        _log(tape, "W", where + "491", "*" * 90 + "__________"),
        _log(
            tape,
            "W",
            "tensorflow/core/framework/op_kernel.cc:1780",
            "OP_REQUIRES failed at conv_grad_ops_3d.cc:1957 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[16,64,640,640] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
        ),
        _trace(
            """
            segment.py:98 <module> | model.fit(train_ds, validation_data=val_ds, epochs=60)
            @keras/utils/traceback_utils.py:70 error_handler | raise e.with_traceback(filtered_tb) from None
            @tensorflow/python/eager/execute.py:54 quick_execute | tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
            """,
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n\nDetected at node 'gradient_tape/model/conv2d_transpose_3/Conv2D' defined at (most recent call last):\n    File \"/content/project/segment.py\", line 98, in <module>\n      model.fit(train_ds, validation_data=val_ds, epochs=60)\nNode: 'gradient_tape/model/conv2d_transpose_3/Conv2D'\nOOM when allocating tensor with shape[16,64,640,640] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{node gradient_tape/model/conv2d_transpose_3/Conv2D}}]]\nHint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom to RunOptions for current allocation info. This isn't available when running in Eager mode.\n [Op:__inference_train_function_8126]",
        ),
    )
    return ComposedLog(
        "bfc_dump",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python segment.py",
        versions={"tensorflow": "2.10.0"},
    )


def _cudnn_could_not_allocate() -> ComposedLog:
    tape = Tape(802, "2021-12-02 19:04:17")
    _devices(tape, 1, 5804, "NVIDIA GeForce GTX 1660 Ti", "7.5")
    tape.say(
        "Epoch 1/100",
        _log(
            tape,
            "I",
            "tensorflow/stream_executor/cuda/cuda_dnn.cc:369",
            "Loaded cuDNN version 8201",
        ),
        _log(
            tape,
            "E",
            "tensorflow/stream_executor/cuda/cuda_dnn.cc:374",
            "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
        ),
        _log(
            tape,
            "E",
            "tensorflow/stream_executor/cuda/cuda_dnn.cc:374",
            "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
        ),
        _trace(
            """
            train.py:66 <module> | history = model.fit(gen, epochs=100)
            @keras/engine/training.py:1184 fit | tmp_logs = self.train_function(iterator)
            @tensorflow/python/eager/def_function.py:885 __call__ | result = self._call(*args, **kwds)
            @tensorflow/python/eager/execute.py:58 quick_execute | tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
            """,
            "tensorflow.python.framework.errors_impl.UnknownError:  Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking to see if a warning log message was printed above.\n\t [[node model/conv1/Conv2D (defined at train.py:66) ]] [Op:__inference_train_function_5120]\n\nFunction call stack:\ntrain_function\n",
        ),
    )
    return ComposedLog(
        "cudnn_could_not_allocate",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.6.2"},
        why="ALLOC_FAILED of the handle: the card was full",
    )


def _oom_on_cpu_device() -> ComposedLog:
    tape = Tape(803, "2023-04-14 14:44:50")
    _devices(tape, 1, 13595, "Tesla T4", "7.5")
    tape.say(
        _log(
            tape,
            "W",
            "tensorflow/tsl/framework/cpu_allocator_impl.cc:83",
            "Allocation of 28991029248 exceeds 10% of free system memory.",
        ),
        _log(
            tape,
            "W",
            "tensorflow/core/framework/op_kernel.cc:1818",
            "OP_REQUIRES failed at cast_op.cc:121 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[150000,224,224,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
        ),
        _trace(
            """
            train.py:31 <module> | images = tf.cast(images, tf.float32) / 255.0
            @tensorflow/python/util/traceback_utils.py:153 error_handler | raise e.with_traceback(filtered_tb) from None
            @tensorflow/python/framework/ops.py:7262 raise_from_not_ok_status | raise core._status_to_exception(e) from None  # pylint: disable=protected-access
            """,
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__Cast_device_/job:localhost/replica:0/task:0/device:CPU:0}} OOM when allocating tensor with shape[150000,224,224,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:Cast] name: ",
        ),
    )
    return ComposedLog(
        "oom_on_cpu_device",
        "host_oom",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.12.0"},
        paper_class="ram_oom",
        why="the allocator is the CPU's",
    )


def _cublas_launch_failed() -> ComposedLog:
    tape = Tape(804, "2022-06-08 22:22:31")
    _devices(tape, 1, 22292, "NVIDIA GeForce RTX 3090", "8.6")
    _epochs(tape, 1, 4, 50)
    tape.say(
        "Epoch 5/50",
        " 113/391 [=======>......................] - ETA: 33s - loss: 0.8201",
        _log(
            tape,
            "E",
            "tensorflow/stream_executor/cuda/cuda_blas.cc:197",
            "failed to set new cublas math mode: CUBLAS_STATUS_NOT_INITIALIZED",
        ),
        _log(
            tape,
            "E",
            "tensorflow/stream_executor/cuda/cuda_event.cc:29",
            "Error polling for event status: failed to query event: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
        ),
        _log(
            tape,
            "F",
            "tensorflow/core/common_runtime/gpu/gpu_event_mgr.cc:221",
            "Unexpected Event status: 1",
        ),
        "Aborted (core dumped)",
    )
    return ComposedLog(
        "cublas_launch_failed",
        "cuda_runtime",
        134,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.8.2"},
    )


def _nan_terminated() -> ComposedLog:
    tape = Tape(805, "2023-07-19 09:59:09")
    _devices(tape, 2, 38200, "NVIDIA A100-PCIE-40GB", "8.0")
    _epochs(tape, 1, 3, 20)
    tape.say(
        "Epoch 4/20",
        " 97/391 [======>.......................] - ETA: 35s - loss: 1.0417\r194/391 [=============>................] - ETA: 23s - loss: nanBatch 194: Invalid loss, terminating training",
        "Saved history to runs/a/history.json",
        "best val_loss 1.1911 (epoch 3)",
    )
    return ComposedLog(
        "nan_terminated",
        "nan_loss",
        0,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.13.0"},
        why="the callback ended the run in its fourth epoch",
    )


def _libdevice_missing() -> ComposedLog:
    tape = Tape(806, "2023-05-05 05:55:01")
    _devices(tape, 1, 14310, "Quadro RTX 5000", "7.5")
    tape.say(
        "Epoch 1/10",
        _log(
            tape,
            "W",
            "tensorflow/compiler/xla/service/gpu/nvptx_helper.cc:56",
            "Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice. This may result in compilation or runtime failures, if the program we try to run uses routines from libdevice.\nSearched for CUDA in the following directories:\n  ./cuda_sdk_lib\n  /usr/local/cuda-11.8\n  /usr/local/cuda\n  .\nYou can choose the search directory by setting xla_gpu_cuda_data_dir in HloModule's DebugOptions.",
        ),
        _log(
            tape,
            "W",
            "tensorflow/core/framework/op_kernel.cc:1830",
            "OP_REQUIRES failed at xla_ops.cc:503 : INTERNAL: libdevice not found at ./libdevice.10.bc",
        ),
        _trace(
            """
            train.py:40 <module> | model.fit(ds, epochs=10)
            @keras/utils/traceback_utils.py:70 error_handler | raise e.with_traceback(filtered_tb) from None
            @tensorflow/python/eager/execute.py:52 quick_execute | tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
            """,
            "tensorflow.python.framework.errors_impl.InternalError: Graph execution error:\n\nDetected at node 'StatefulPartitionedCall_4' defined at (most recent call last):\n    File \"/content/project/train.py\", line 40, in <module>\n      model.fit(ds, epochs=10)\nNode: 'StatefulPartitionedCall_4'\nlibdevice not found at ./libdevice.10.bc\n\t [[{{node StatefulPartitionedCall_4}}]] [Op:__inference_train_function_2102]",
        ),
    )
    return ComposedLog(
        "libdevice_missing",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.12.0"},
        paper_class="traceback",
    )


def _no_gpu_registered() -> ComposedLog:
    tape = Tape(807, "2024-11-02 17:40:20")
    tape.say(
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        f"W0000 00:00:1730569220.{tape.rng.randrange(10**6):06d}    5121 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed properly if you would like to use GPU. Follow the guide at https://www.tensorflow.org/install/gpu for how to download and setup the required libraries for your platform.\nSkipping registering GPU devices...",
        "Num GPUs Available: 0",
        _trace(
            """
            train.py:22 <module> | with tf.device("/GPU:0"):
            train.py:24 <module> | table = tf.random.normal((10_000, 512))
            @tensorflow/python/framework/ops.py:5983 raise_from_not_ok_status | raise core._status_to_exception(e) from None  # pylint: disable=protected-access
            """,
            "tensorflow.python.framework.errors_impl.InvalidArgumentError: Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]. All available devices [/job:localhost/replica:0/task:0/device:CPU:0].",
        ),
    )
    return ComposedLog(
        "no_gpu_registered",
        "cuda_environment",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.18.0"},
        paper_class="traceback",
    )


def _collective_peer_restarted() -> ComposedLog:
    tape = Tape(808, "2023-02-11 01:01:43")
    _devices(tape, 4, 78892, "NVIDIA A100-SXM4-80GB", "8.0")
    tape.say(
        _log(
            tape,
            "I",
            "tensorflow/core/distributed_runtime/rpc/grpc_server_lib.cc:449",
            "Started server with target: grpc://10.12.0.4:12345",
        )
    )
    _epochs(tape, 1, 2, 40)
    tape.say(
        "Epoch 3/40",
        _log(
            tape,
            "E",
            "tensorflow/core/common_runtime/base_collective_executor.cc:249",
            'BaseCollectiveExecutor::StartAbort UNAVAILABLE: Collective ops is aborted by: Connection reset by peer\nAdditional GRPC error information from remote target /job:worker/replica:0/task:1:\n:{"created":"@1676077420.114","description":"Error received from peer ipv4:10.12.0.5:12345","file":"external/com_github_grpc_grpc/src/core/lib/surface/call.cc","file_line":1056,"grpc_message":"Connection reset by peer","grpc_status":14}\nThe error could be from a previous operation. Restart your program to reset.',
        ),
        _trace(
            """
            worker.py:77 <module> | model.fit(ds, epochs=40, steps_per_epoch=391)
            @keras/utils/traceback_utils.py:70 error_handler | raise e.with_traceback(filtered_tb) from None
            @tensorflow/python/eager/execute.py:54 quick_execute | tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
            """,
            "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:\n\nDetected at node 'CollectiveReduceV2_9' defined at (most recent call last):\nNode: 'CollectiveReduceV2_9'\nCollective ops is aborted by: Connection reset by peer\nThe error could be from a previous operation. Restart your program to reset.\n\t [[{{node CollectiveReduceV2_9}}]] [Op:__inference_train_function_9911]",
        ),
    )
    return ComposedLog(
        "collective_peer_restarted",
        "collective",
        1,
        tape.text(),
        _BASIS,
        command="TF_CONFIG=... python worker.py",
        versions={"tensorflow": "2.11.0"},
        paper_class="nccl",
    )


def _logits_and_labels() -> ComposedLog:
    tape = Tape(809, "2024-03-18 12:41:57")
    _devices(tape, 1, 20805, "NVIDIA A10G", "8.6")
    tape.say(
        "Epoch 1/5",
        _trace(
            """
            train.py:52 <module> | model.fit(x, y, epochs=5)
            @keras/src/utils/traceback_utils.py:122 error_handler | raise e.with_traceback(filtered_tb) from None
            @keras/src/backend/tensorflow/nn.py:589 categorical_crossentropy | raise ValueError(
            """,
            "ValueError: Arguments `target` and `output` must have the same shape. Received: target.shape=(None, 10), output.shape=(None, 12)",
        ),
    )
    return ComposedLog(
        "logits_and_labels",
        "shape_mismatch",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.16.1", "keras": "3.0.5"},
        paper_class="traceback",
    )


def _label_outside_on_cpu() -> ComposedLog:
    tape = Tape(810, "2023-10-27 08:28:10")
    _devices(tape, 1, 10794, "NVIDIA GeForce RTX 3060", "8.6")
    tape.say(
        "Epoch 1/12",
        _log(
            tape,
            "W",
            "tensorflow/core/framework/op_kernel.cc:1816",
            "OP_REQUIRES failed at sparse_xent_op.cc:103 : INVALID_ARGUMENT: Received a label value of 21 which is outside the valid range of [0, 21).  Label values: 4 4 0 21 7 7 1 3",
        ),
        _trace(
            """
            train.py:71 <module> | model.fit(ds, epochs=12)
            @keras/src/utils/traceback_utils.py:70 error_handler | raise e.with_traceback(filtered_tb) from None
            """,
            "tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:\n\nDetected at node 'sparse_categorical_crossentropy/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits' defined at (most recent call last):\nReceived a label value of 21 which is outside the valid range of [0, 21).  Label values: 4 4 0 21 7 7 1 3\n\t [[{{node sparse_categorical_crossentropy/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits}}]] [Op:__inference_train_function_4481]",
        ),
    )
    return ComposedLog(
        "label_outside_on_cpu",
        "data",
        1,
        tape.text(),
        _BASIS,
        command="python train.py",
        versions={"tensorflow": "2.14.0"},
        paper_class="traceback",
        why="the op placed on the CPU names the label that lies outside the classes",
    )


def _xla_gpu_jit_oom() -> ComposedLog:
    tape = Tape(811, "2024-06-30 21:12:45")
    _devices(tape, 1, 14800, "NVIDIA RTX A4000", "8.6")
    _epochs(tape, 1, 2, 8)
    tape.say(
        "Epoch 3/8",
        _log(
            tape,
            "W",
            "external/local_tsl/tsl/framework/bfc_allocator.cc:487",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 9.37GiB (rounded to 10066329600)requested by op ",
        ),
        _log(
            tape,
            "W",
            "external/local_tsl/tsl/framework/bfc_allocator.cc:499",
            "**************************____________________________________________________________*************",
        ),
        _log(
            tape,
            "W",
            "tensorflow/core/framework/op_kernel.cc:1839",
            "OP_REQUIRES failed at xla_ops.cc:580 : RESOURCE_EXHAUSTED: Out of memory while trying to allocate 10066329600 bytes.",
        ),
        _trace(
            """
            distill.py:120 <module> | trainer.run()
            distill.py:88 run | loss = step(batch)
            @tensorflow/python/util/traceback_utils.py:153 error_handler | raise e.with_traceback(filtered_tb) from None
            """,
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Out of memory while trying to allocate 10066329600 bytes. [Op:__inference_step_30112]",
        ),
    )
    return ComposedLog(
        "xla_gpu_jit_oom",
        "cuda_oom",
        1,
        tape.text(),
        _BASIS,
        command="python distill.py --jit",
        versions={"tensorflow": "2.15.1"},
    )


def _mirrored_and_fine() -> ComposedLog:
    tape = Tape(812, "2023-01-20 10:10:10")
    _devices(tape, 2, 22290, "NVIDIA GeForce RTX 3090", "8.6")
    tape.say(
        "INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1')",
        _log(
            tape,
            "W",
            "tensorflow/core/grappler/optimizers/data/auto_shard.cc:784",
            'AUTO sharding policy will apply DATA sharding policy as it failed to apply FILE sharding policy because of the following reason: Did not find a shardable source, walked to a node which is not a dataset: name: "FlatMapDataset/_9"',
        ),
        _log(
            tape,
            "E",
            "tensorflow/core/grappler/optimizers/meta_optimizer.cc:954",
            "layout failed: INVALID_ARGUMENT: Size of values 0 does not match size of permutation 4 @ fanin shape inmodel/dropout/SelectV2-2-TransposeNHWCToNCHW-LayoutOptimizer",
        ),
        marked("", "WARNING:tensorflow:Efficient allreduce is not supported for 2 IndexedSlices"),
    )
    _epochs(tape, 1, 6, 6)
    tape.say(
        _log(
            tape,
            "W",
            "tensorflow/core/kernels/data/generator_dataset_op.cc:108",
            "Error occurred when finalizing GeneratorDataset iterator: FAILED_PRECONDITION: Python interpreter state is not initialized. The process may be terminated.\n\t [[{{node PyFunc}}]]",
        ),
        "INFO:tensorflow:Assets written to: export/1/assets",
    )
    return ComposedLog(
        "mirrored_and_fine",
        "none",
        0,
        tape.text(),
        _BASIS,
        command="python train.py --epochs 6",
        versions={"tensorflow": "2.11.0"},
        why="the optimizer's and the iterator's errors change nothing: six epochs of six, exported",
    )
