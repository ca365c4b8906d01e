"""Floating-point operations of an operator, by the shapes of its inputs.

Shapes are in a trace of ``torch.profiler`` with ``record_shapes=True``.  A product of an m x k
and a k x n matrix counts 2 m n k.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw, UnsetType

Shape = list[int]
Shapes = Sequence[object]

_MOST_FLOPS = 1e18
"""The fastest GPUs need hundreds of seconds for so many; more is a wrong shape."""
_MOST_AXES = 8
_TRANSPOSED = 6
"""Place of that argument of ``aten::convolution``; that of ``aten::conv2d`` is the groups."""
_TRANSPOSED_BACKWARD = 7
_WANTED = 10
"""Place of ``output_mask``: the gradients of the input, the weight and the bias."""
_MOST_CHARACTERS = 2000
"""Length of the shapes of one call; the results of the last calls are kept by them."""


def count_operations(name: str, dims: Raw | UnsetType, inputs: Raw | UnsetType) -> float:
    """Return the operations of a call, 0 for an operator or shapes that are not known."""
    if name not in _FORMULAS or isinstance(dims, UnsetType):
        return 0.0
    shapes = bytes(dims)
    values = b"" if isinstance(inputs, UnsetType) or "conv" not in name else bytes(inputs)
    return _count(name, shapes, values) if len(shapes) + len(values) <= _MOST_CHARACTERS else 0.0


@functools.lru_cache(maxsize=4096)
def _count(name: str, dims: bytes, inputs: bytes) -> float:
    """Return the operations of a call; a training repeats few of them."""
    try:
        shapes = msgspec.json.decode(dims, type=list[object])
        values = msgspec.json.decode(inputs, type=list[str]) if inputs else []
        found = float(_FORMULAS[name](shapes, values))
    except (msgspec.DecodeError, UnicodeError, ValueError, IndexError, TypeError, ArithmeticError):
        return 0.0
    return found if 0 < found <= _MOST_FLOPS else 0.0


def _shape(shapes: Shapes, index: int, least: int = 1) -> Shape:
    """Return the shape of a tensor.  Raises ValueError if it is none."""
    found = shapes[index]
    if not isinstance(found, list) or not least <= len(found) <= _MOST_AXES:
        raise ValueError
    if not all(isinstance(one, int) and 0 <= one < 1 << 48 for one in found):
        raise ValueError
    return found


def _product(first: int) -> Callable[[Shapes, list[str]], float]:
    """Return the formula of a product of the inputs *first* and the next."""

    def count(shapes: Shapes, _: list[str]) -> float:
        left, right = _shape(shapes, first, 2), _shape(shapes, first + 1, 2)
        if left[-1] != right[-2]:
            raise ValueError
        return 2.0 * math.prod(left) * right[-1]

    return count


def _count_linear(shapes: Shapes, _: list[str]) -> float:
    given, weight = _shape(shapes, 0), _shape(shapes, 1, 2)
    if given[-1] != weight[1]:
        raise ValueError
    return 2.0 * math.prod(given) * weight[0]


def _count_attention(shapes: Shapes, _: list[str]) -> float:
    query, key, value = (_shape(shapes, index, 3) for index in range(3))
    return 2.0 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _count_convolution(shapes: Shapes, values: list[str]) -> float:
    given, weight = _shape(shapes, 0, 3), _shape(shapes, 1, 3)
    if len(values) > _TRANSPOSED and values[_TRANSPOSED].lower() == "true":
        return 2.0 * given[0] * math.prod(given[2:]) * math.prod(weight)
    stride, padding, dilation = (_read_numbers(values[index]) for index in (3, 4, 5))
    sizes = zip(given[2:], weight[2:], strict=True)
    places = 1
    for axis, (size, kernel) in enumerate(sizes):
        step, edge, gap = (one[axis % len(one)] for one in (stride, padding, dilation))
        places *= (size + 2 * edge - gap * (kernel - 1) - 1) // step + 1
    return 2.0 * given[0] * places * math.prod(weight)


def _count_convolution_backward(shapes: Shapes, values: list[str]) -> float:
    """Return the operations for the gradients of the input and of the weight, if they are wanted.

    Each kernel is applied once for each place of the smaller side: of the output, or of the input
    of a transposed convolution.
    """
    is_transposed = values[_TRANSPOSED_BACKWARD].lower() == "true"
    given, weight = _shape(shapes, 1 if is_transposed else 0, 3), _shape(shapes, 2, 3)
    wanted = values[_WANTED].strip("[]").lower().split(",")[:2]
    gradients = sum(one.strip() == "true" for one in wanted)
    return 2.0 * gradients * given[0] * math.prod(given[2:]) * math.prod(weight)


def _read_numbers(text: str) -> list[int]:
    """Return the numbers of ``[1, 1]``.  Raises ValueError if there are none."""
    return [int(one) for one in text.strip("[]").split(",")]


_FORMULAS: dict[str, Callable[[Shapes, list[str]], float]] = {
    "aten::mm": _product(0),
    "aten::bmm": _product(0),
    "aten::addmm": _product(1),
    "aten::baddbmm": _product(1),
    "aten::linear": _count_linear,
    "aten::scaled_dot_product_attention": _count_attention,
    "aten::conv1d": _count_convolution,
    "aten::conv2d": _count_convolution,
    "aten::conv3d": _count_convolution,
    "aten::convolution": _count_convolution,
    "aten::convolution_backward": _count_convolution_backward,
}
"""Formulas by operator.  An operator within another one that counts does not count again."""
