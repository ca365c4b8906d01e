"""Step of the whole training from a counter that can restart in each epoch."""

from __future__ import annotations

from gpualert_common.structs import Struct


class StepCounter(Struct, frozen=True):
    """State of a counter.

    ``count`` is its last value.  ``base`` is the number of steps in earlier epochs, once the
    counter is known to restart; ``origin`` is the number of the first epoch, 0 or 1.
    """

    epoch: float | None = None
    count: int | None = None
    base: int = 0
    origin: int = 1

    def advance(
        self, count: int, epoch: float | None, *, batches: int | None, in_epoch: bool
    ) -> StepCounter:
        """Return the state after a line with the value *count* in *epoch*.

        *batches* is the total on the line; *in_epoch* is True when it is the total of one epoch.
        """
        origin = 0 if epoch == 0 else self.origin
        base = self.base
        if epoch is None:
            return StepCounter(epoch, count, 0, origin)
        if in_epoch and batches:
            base = int(epoch - origin) * batches
        elif self.epoch is None or self.count is None or epoch < self.epoch:
            base = 0
        elif epoch > self.epoch and count <= self.count:
            base += batches or self.count
        return StepCounter(epoch, count, base, origin)

    @property
    def step(self) -> int | None:
        """Steps since the start of the training."""
        return None if self.count is None else self.base + self.count
