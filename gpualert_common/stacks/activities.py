"""Activities of processes, by the functions of libraries in their stacks.

The innermost frames decide, up to the first of the user's own code: a library that called the
user's code does not wait itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from enum import StrEnum

from gpualert_common.stacks.dump import StackFrame


class StackActivity(StrEnum):
    """Operation of a library that a process is in, as far as its stack shows it."""

    COLLECTIVE = "collective"
    RENDEZVOUS = "rendezvous"
    BACKWARD = "backward"
    RESULT = "result"
    GPU = "gpu"
    DATA = "data"
    QUEUE = "queue"
    LAUNCHER = "launcher"
    WORKER = "worker"
    NONE = "none"


WAITS_FOR_RANKS = frozenset(
    (
        StackActivity.COLLECTIVE,
        StackActivity.RENDEZVOUS,
        StackActivity.BACKWARD,
        StackActivity.RESULT,
        StackActivity.GPU,
    )
)
"""Activities of a rank that waits for others, or for its GPU, which waits for others."""

PHRASES = {
    StackActivity.COLLECTIVE: "is in a collective operation",
    StackActivity.RENDEZVOUS: "waits for other ranks to join",
    StackActivity.BACKWARD: "is in the backward pass, where gradients are reduced over the ranks",
    StackActivity.RESULT: "waits for the result of a computation",
    StackActivity.GPU: "waits for the GPU",
    StackActivity.DATA: "waits for its data loader",
    StackActivity.QUEUE: "waits for a queue between processes",
    StackActivity.LAUNCHER: "waits for the processes that it launched",
    StackActivity.WORKER: "waits for work",
}
"""Each activity in words, after "it"."""


_C10D = "torch/distributed/distributed_c10d.py"
_ALL = ""
_PLACES: Mapping[StackActivity, Mapping[str, str]] = {
    StackActivity.RENDEZVOUS: {
        _C10D: "init_process_group _new_process_group_helper _store_based_barrier new_group"
        " _new_group_with_tag split_group",
        "torch/distributed/rendezvous.py": _ALL,
        "torch/distributed/elastic/rendezvous/": _ALL,
        "horovod/common/basics.py": "init",
        "jax/_src/distributed.py": "initialize connect",
        "tensorflow/python/distribute/collective_all_reduce_strategy.py": _ALL,
        "paddle/distributed/parallel.py": "init_parallel_env",
    },
    StackActivity.COLLECTIVE: {
        _C10D: "all_reduce all_reduce_coalesced all_gather all_gather_coalesced"
        " all_gather_into_tensor all_gather_object all_to_all all_to_all_single barrier"
        " batch_isend_irecv broadcast broadcast_object_list gather gather_object"
        " monitored_barrier recv recv_object_list reduce reduce_scatter reduce_scatter_tensor"
        " scatter scatter_object_list send send_object_list _all_gather_base"
        " _reduce_scatter_base",
        "torch/distributed/_functional_collectives.py": _ALL,
        "torch/distributed/nn/functional.py": _ALL,
        "torch/distributed/utils.py": "_sync_params_and_buffers _sync_module_states"
        " _verify_param_shape_across_processes",
        "torch/nn/parallel/distributed.py": "_sync_buffers _sync_module_buffers"
        " _default_broadcast_coalesced _distributed_broadcast_coalesced"
        " _check_global_requires_backward_grad_sync",
        "horovod/": "allgather allreduce barrier broadcast join synchronize",
        "jax/_src/distributed.py": "shutdown",
        "jax/experimental/multihost_utils.py": _ALL,
        "tensorflow/python/ops/collective_ops.py": _ALL,
        "tensorflow/python/distribute/cross_device_ops.py": _ALL,
        "tensorflow/python/distribute/cross_device_utils.py": _ALL,
        "paddle/distributed/communication/": _ALL,
    },
    StackActivity.BACKWARD: {
        "torch/autograd/graph.py": "_engine_run_backward",
        "torch/autograd/__init__.py": "backward",
    },
    StackActivity.RESULT: {
        "jax/_src/array.py": _ALL,
        "jax/_src/api.py": "block_until_ready",
        "jax/_src/interpreters/pxla.py": "__call__",
        "tensorflow/python/eager/execute.py": "quick_execute",
    },
    StackActivity.GPU: {
        "torch/cuda/__init__.py": "synchronize",
        "torch/cuda/streams.py": "synchronize",
    },
    StackActivity.WORKER: {
        "torch/utils/data/_utils/worker.py": "_worker_loop",
        "torch/_inductor/compile_worker/": _ALL,
        "concurrent/futures/process.py": "_process_worker",
        "concurrent/futures/thread.py": "_worker",
        "multiprocessing/pool.py": "worker",
        "multiprocessing/resource_tracker.py": _ALL,
        "multiprocessing/forkserver.py": _ALL,
    },
    StackActivity.DATA: {
        "torch/utils/data/dataloader.py": "_try_get_data _get_data _next_data _shutdown_workers",
    },
    StackActivity.LAUNCHER: {
        "torch/distributed/elastic/agent/server/api.py": "_invoke_run _exit_barrier",
        "torch/multiprocessing/spawn.py": "join",
        "accelerate/commands/launch.py": _ALL,
        "deepspeed/launcher/": _ALL,
    },
    StackActivity.QUEUE: {
        "multiprocessing/queues.py": "get put",
        "multiprocessing/connection.py": "recv recv_bytes send send_bytes poll",
        "multiprocessing/pool.py": "get wait next",
        "concurrent/futures/_base.py": "result exception wait as_completed",
        "queue.py": "get put join",
    },
}
"""Functions of libraries in which processes wait, by the end of the path of their file, or by a
folder in it.  Of two activities, the first is the more telling one."""


_ORDER = {activity: number for number, activity in enumerate((*_PLACES, StackActivity.NONE))}


def find_activity(frames: Iterable[StackFrame]) -> StackActivity:
    """Return the activity of a process by its frames, innermost first."""
    inner = itertools.takewhile(lambda frame: not frame.is_own, frames)
    return choose_activity(map(find_frame_activity, inner))


def choose_activity(activities: Iterable[StackActivity]) -> StackActivity:
    """Return the most telling activity of some."""
    return min(activities, key=_ORDER.__getitem__, default=StackActivity.NONE)


def find_frame_activity(frame: StackFrame) -> StackActivity:
    """Return the activity of one function of a library."""
    for activity, files in _PLACES.items():
        if any(_is_at(frame, file, functions) for file, functions in files.items()):
            return activity
    return StackActivity.NONE


def _is_at(frame: StackFrame, file: str, functions: str) -> bool:
    is_file = f"/{file}" in frame.file if file.endswith("/") else frame.file.endswith(f"/{file}")
    name = frame.function.rpartition(".")[2]
    return is_file and (functions == _ALL or name in functions.split())
