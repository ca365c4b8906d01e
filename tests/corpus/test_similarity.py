"""Groups of near-copies."""

from __future__ import annotations

from corpus.evaluation.similarity import group_near_copies

SHAPES = b"""\
step 1 loss 2.31
Traceback (most recent call last):
  File "/home/anna/project/train.py", line 40, in <module>
    train(model, loader)
  File "/home/anna/project/train.py", line 28, in train
    loss = model(batch).mean()
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x48 and 64x10)
"""
OTHER_SIZES = (
    SHAPES.replace(b"/home/anna/project", b"/data/bo/run7")
    .replace(b"32x48 and 64x10", b"8x700 and 512x2")
    .replace(b"line 40", b"line 112")
)
OTHER_WAY = b"""\
epoch 3: 100%|####| 40/40
Traceback (most recent call last):
  File "/home/anna/project/finetune.py", line 12, in collate
    return torch.cat([x, y], dim=1)
RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 4 but got size 3
"""


def test_other_numbers_and_paths_are_a_copy() -> None:
    """The same failure with other sizes, lines and paths is a near-copy."""
    assert group_near_copies([SHAPES, OTHER_SIZES], ["shape_mismatch"] * 2) == [0, 0]


def test_another_way_to_the_same_cause_is_no_copy() -> None:
    """Another error of the same cause is in a group of its own."""
    assert group_near_copies([SHAPES, OTHER_WAY], ["shape_mismatch"] * 2) == [0, 1]


def test_other_causes_are_never_copies() -> None:
    """The same text with two labels is two logs: their exit codes may differ."""
    assert group_near_copies([b"Killed\n", b"Killed\n"], ["oom_killer", "killed_unknown"]) == [0, 1]


def test_copies_of_copies_are_one_group() -> None:
    """A copy of a member of a group is a member."""
    logs = [b"a b c d e f g h i j k l\n" * (n > 0) + OTHER_SIZES for n in range(3)]
    assert len(set(group_near_copies([SHAPES, *logs], ["shape_mismatch"] * 4))) == 1


def test_empty_logs_are_copies() -> None:
    """Two empty logs are near-copies."""
    assert group_near_copies([b"", b"\n \n"], ["runtime_error"] * 2) == [0, 0]
