"""Layout of a flame graph: the place of each frame, its tone, and its texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from gpualert_common.profiles.outliers import find_outliers
from gpualert_common.profiles.profile import FrameTree, Profile
from gpualert_common.profiles.rank_differences import list_own_counts, list_working_counts
from gpualert_common.profiles.rank_texts import describe_shares, name_frame, name_tree
from gpualert_common.structs import Struct

MOST_ROWS = 200
LEAST_WIDTH = 0.1
"""Least width of a frame, in percent: one pixel of a window."""
_MOST_TRUNK = 4


class FrameTone(StrEnum):
    """Tones of frames: the colours follow from them."""

    OWN = "own"
    LIBRARY = "library"
    WAIT = "wait"
    MORE = "more"


class FlameFrame(Struct, frozen=True):
    """One frame: ``left`` and ``width`` are percentages, ``note`` has the shares of the ranks."""

    row: int
    left: float
    width: float
    name: str
    note: str
    tone: FrameTone


class FlamePanel(Struct, frozen=True):
    """One tree: ``note`` says which frames are not drawn."""

    title: str
    rows: int
    frames: tuple[FlameFrame, ...]
    note: str = ""


def lay_out(
    profile: Profile,
    *,
    cwd: str | None = None,
    most_rows: int = MOST_ROWS,
    least_width: float = LEAST_WIDTH,
) -> list[FlamePanel]:
    """Return the panels of a profile.  The width of a frame is its mean share over the ranks."""
    return [
        _Panel(profile, tree, cwd).draw(most_rows, least_width)
        for tree in profile.trees
        if any(tree.samples)
    ]


class _Panel:
    """One panel while it is drawn."""

    def __init__(self, profile: Profile, tree: FrameTree, cwd: str | None) -> None:
        self.profile = profile
        self.tree = tree
        self.cwd = cwd
        self.columns = [column for column, total in enumerate(tree.samples) if total]
        self.working = list_working_counts(profile, tree)
        self.below: dict[int, list[int]] = defaultdict(list)
        for index, node in enumerate(tree.nodes):
            self.below[node.parent].append(index)

    def draw(self, most_rows: int, least_width: float) -> FlamePanel:
        """Return the panel: the frames that all samples have in common take one row."""
        frames: list[FlameFrame] = []
        trunk = self._find_trunk()
        first = trunk[-1] if trunk else -1
        if trunk:
            frames.append(self._draw_trunk(trunk))
        row = len(frames)
        pending = [(first, 0.0, row)]
        rows, hidden = row, 0
        while pending:
            parent, left, row = pending.pop()
            for index in self.below[parent]:
                width = 100 * self._measure_share(self.tree.nodes[index].counts)
                if width < least_width or row >= most_rows:
                    hidden += 1
                else:
                    frames.append(self._draw(index, row, left, width))
                    pending.append((index, left, row + 1))
                    rows = max(rows, row + 1)
                left += width
        note = f"{hidden} narrow or deep branches are not drawn" if hidden else ""
        return FlamePanel(name_tree(self.profile, self.tree), rows, tuple(frames), note)

    def _measure_share(self, counts: Sequence[int]) -> float:
        shares = [counts[column] / self.tree.samples[column] for column in self.columns]
        return sum(shares) / len(shares)

    def _find_trunk(self) -> list[int]:
        """Return the outermost nodes that all samples go through."""
        own = list_own_counts(self.tree)
        trunk: list[int] = []
        below = self.below[-1]
        while len(below) == 1 and not any(own[below[0]]):
            trunk.append(below[0])
            below = self.below[below[0]]
        return trunk

    def _draw_trunk(self, trunk: Sequence[int]) -> FlameFrame:
        frames = [self.profile.frames[self.tree.nodes[index].frame] for index in trunk]
        own = [one for one in frames if one.is_own] or frames
        names = [one.function for one in own[-_MOST_TRUNK:]]
        names = ["…", *names] if len(own) > _MOST_TRUNK else names
        note = "\n".join(name_frame(one, self.cwd) for one in frames[-12:])
        return FlameFrame(0, 0.0, 100.0, " > ".join(names), note, FrameTone.OWN)

    def _draw(self, index: int, row: int, left: float, width: float) -> FlameFrame:
        node = self.tree.nodes[index]
        frame = self.profile.frames[node.frame]
        samples = self.tree.samples
        outliers = find_outliers(node.counts, samples)
        if outliers and find_outliers(self.working[index], samples):
            tone = FrameTone.MORE
        elif not any(self.working[index]):
            tone = FrameTone.WAIT
        else:
            tone = FrameTone.OWN if frame.is_own else FrameTone.LIBRARY
        note = describe_shares(self.profile, self.tree, node.counts, outliers)
        return FlameFrame(row, left, width, name_frame(frame, self.cwd), note, tone)
