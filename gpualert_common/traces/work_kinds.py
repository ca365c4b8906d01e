"""Kinds of work, by the names of operators and kernels."""

from __future__ import annotations

import re
from enum import StrEnum

from gpualert_common.regex import compile_text


class WorkKind(StrEnum):
    """Kinds of work on a GPU, or on the CPU of a training without one."""

    MATMUL = "matmul"
    """Products of matrices, and convolutions."""
    ATTENTION = "attention"
    COMMUNICATION = "communication"
    COPIES = "copies"
    INPUT = "input"
    """The training waits for its data loader, or reads data itself."""
    OTHER = "other"


COMPUTE = (WorkKind.MATMUL, WorkKind.ATTENTION, WorkKind.OTHER)
"""Kinds that hide communication which runs at the same time."""

_KERNELS = (
    (
        WorkKind.COMMUNICATION,
        r"(?i)nccl|nvshmem|oneccl|(all_?reduce_?(fusion_)?|allgather_)kernel|multimem|symm_mem"
        + r"|cross_device_reduce|deep_ep::",
    ),
    (
        WorkKind.COPIES,
        r"(?i)^(memcpy|memset)\b|\b((direct|b?float\d+)_)?copy_kernel|copy_device_to_device",
    ),
    (WorkKind.ATTENTION, r"(?i)flash_?(fwd|bwd|attn|attention)|fmha|attention|flash::"),
    (
        WorkKind.MATMUL,
        r"(?i)gem[mv]|cublas|nvjet|cutlass|xmma|matmul|wgmma|^cijk_|splitk|conv(\d|_|ol)|winograd"
        + r"|^triton_tem_\w*mm(_|\b)",
    ),
)
_OPERATORS = (
    (
        WorkKind.COMMUNICATION,
        r"^(gloo:|nccl:|mpi:|ucc:|c10d::|_?c10d_functional::|record_param_comms)",
    ),
    (WorkKind.INPUT, r"^enumerate\(DataLoader\)|DataLoaderIter\.__next__"),
    (WorkKind.ATTENTION, r"attention"),
    (
        WorkKind.MATMUL,
        r"::_?(linear|matmul|(b?add)?b?mm|(add)?mv|dot|einsum|scaled_mm|grouped_mm|(\w+_)?conv)",
    ),
    (WorkKind.COPIES, r"^aten::(_to_copy|to|copy_|contiguous|clone|pin_memory|_pin_memory)$"),
)
_KERNEL_EXPRESSIONS = [(kind, compile_text(expression)) for kind, expression in _KERNELS]
_OPERATOR_EXPRESSIONS = [(kind, compile_text(expression)) for kind, expression in _OPERATORS]


def classify_kernel(name: str) -> WorkKind:
    """Return the kind of a kernel or copy on the GPU."""
    return _classify(name, _KERNEL_EXPRESSIONS)


def classify_operator(name: str) -> WorkKind:
    """Return the kind of an operator, or of an annotation, on the CPU."""
    return _classify(name, _OPERATOR_EXPRESSIONS)


def _classify(name: str, expressions: list[tuple[WorkKind, re.Pattern[str]]]) -> WorkKind:
    for kind, expression in expressions:
        if expression.search(name):
            return kind
    return WorkKind.OTHER
