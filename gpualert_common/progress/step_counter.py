"""From a counter that may begin anew in each epoch to the step of the whole training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepCounter:
    """Where a counter stood.

    ``base`` are the steps of the epochs before, once it is known to begin anew in each; ``origin``
    is the number of the first epoch, 0 or 1.
    """

    epoch: float | None = None
    told: int | None = None
    base: int = 0
    origin: int = 1

    def at(
        self, told: int, epoch: float | None, *, batches: int | None, in_epoch: bool
    ) -> StepCounter:
        """The count after a line that told so many steps in *epoch*.

        *batches* is what the line says there are in all, *in_epoch* that they are surely those of
        one epoch.
        """
        origin = 0 if epoch == 0 else self.origin
        base = self.base
        if epoch is None:
            return StepCounter(epoch, told, 0, origin)
        if in_epoch and batches:
            base = int(epoch - origin) * batches
        elif self.epoch is None or self.told is None or epoch < self.epoch:
            base = 0
        elif epoch > self.epoch and told <= self.told:
            base += batches or self.told
        return StepCounter(epoch, told, base, origin)

    @property
    def step(self) -> int | None:
        """Steps since the training began."""
        return None if self.told is None else self.base + self.told
