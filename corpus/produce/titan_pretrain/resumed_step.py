# /// case
# cause = "none"
# exit_code = 0
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 2 {program}"
# env = {TORCH_DISABLE_SHARE_RDZV_TCP_STORE = "1"}
# why = "a restart resumes from the last complete checkpoint and the training ends"
# ///
"""A loader dies once; the agent restarts both ranks, which resume from the last checkpoint and finish."""

import logging
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
logger = logging.getLogger()
FOLDER = Path("outputs/checkpoint")


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 24))
        fully_shard(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.step = 0

    def save(self):
        model, optim = get_state_dict(self.model, self.optimizer)
        dcp.save({"model": model, "optim": optim}, checkpoint_id=FOLDER / f"step-{self.step}")
        logger.info(f"Saved checkpoint at step {self.step}")

    def load(self):
        steps = [int(one.parent.name[5:]) for one in FOLDER.glob("step-*/.metadata")]
        if not steps:
            logger.warning(f"No checkpoint in {FOLDER}, training starts from scratch")
            return
        self.step = max(steps)
        logger.info(f"Loading the checkpoint from {FOLDER}/step-{self.step}.")
        model, optim = get_state_dict(self.model, self.optimizer)
        dcp.load({"model": model, "optim": optim}, checkpoint_id=FOLDER / f"step-{self.step}")
        set_state_dict(self.model, self.optimizer, model_state_dict=model, optim_state_dict=optim)

    def next_batch(self):
        if self.step == 17 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank():
            raise ConnectionResetError(104, "Connection reset by peer")
        return torch.randn(8, 24)

    def train(self, steps):
        while self.step < steps:
            self.step += 1
            x = self.next_batch()
            loss = (self.model(x) - x).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.step % 5 == 0:
                logger.info(f"step: {self.step:2}  loss: {loss.item():8.5f}")
                self.save()


@record
def main():
    dist.init_process_group("gloo")
    trainer = Trainer()
    trainer.load()
    trainer.train(30)
    logger.info("Training completed")
    dist.destroy_process_group()
    logger.info("Process group destroyed")


main()
