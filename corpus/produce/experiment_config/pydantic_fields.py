# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Two settings of the experiment do not pass the validation."""

import json
import sys

from loguru import logger
from pydantic import BaseModel, Field, model_validator


class Scheduler(BaseModel):
    kind: str = "cosine"
    warmup: int = Field(ge=0)
    total: int

    @model_validator(mode="after")
    def fits(self):
        if self.warmup > self.total:
            raise ValueError("warmup is longer than the training")
        return self


class Experiment(BaseModel):
    name: str
    batch_size: int = Field(gt=0)
    scheduler: Scheduler
    tags: list[str] = []


logger.remove()
logger.add(
    sys.stderr, format="{time:HH:mm:ss} | {level} | {message}", backtrace=False, diagnose=False
)
raw = json.loads(
    '{"name": "b16", "batch_size": "auto", "scheduler": {"warmup": 500, "total": 100}, "tags": ["oom-safe"]}'
)
logger.info("experiment file: {}", raw)
experiment = Experiment.model_validate(raw)
logger.info("starting {}", experiment.name)
