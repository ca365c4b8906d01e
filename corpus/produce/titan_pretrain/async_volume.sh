# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "the volume is full, but the log only says that the archive's position is wrong: nothing about space"
# ///
# Checkpoints are written asynchronously; the volume of the outputs is too small for the second one.
mkdir -p outputs && mount -t tmpfs -o size=6m tmpfs outputs
export NGPU=2 LOG_RANK=0 CONFIG_FILE=./train_configs/debug_model.toml
cat > train_titan.py <<'PY'
import logging
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
logger = logging.getLogger()


class CheckpointManager:
    def __init__(self, folder, interval):
        self.folder, self.interval, self.pending = folder, interval, None
        logger.info(f"Checkpointing active. Checkpoints will be loaded from and saved to {folder}")

    def maybe_wait_for_staging(self):
        if self.pending is not None:
            self.pending.result()
            self.pending = None

    def save(self, step, model, optimizer):
        if step % self.interval:
            return
        self.maybe_wait_for_staging()
        logger.info("Saving the checkpoint (or staging if async is enabled).")
        begin = time.monotonic()
        model_state, optim_state = get_state_dict(model, optimizer)
        state = {"model": model_state, "optimizer": optim_state}
        self.pending = dcp.async_save(
            state, checkpoint_id=f"{self.folder}/step-{step}", process_group=self.group
        )
        logger.info(f"Finished staging the checkpoint in {time.monotonic() - begin:.2f} seconds.")


@record
def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp_shard",))
    model = nn.Sequential(nn.Linear(192, 768), nn.SiLU(), nn.Linear(768, 192))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-4)
    checkpointer = CheckpointManager("outputs/checkpoint", 5)
    checkpointer.group = dist.new_group(backend="gloo")
    logger.info("Training starts at step 1.")
    for step in range(1, 21):
        x = torch.randn(16, 192)
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 1 or step % 5 == 0:
            logger.info(f"step: {step:2}  loss: {loss.item():8.5f}  memory:  0.00GiB(0.00%)  tps: {9000 + step}")
        checkpointer.save(step, model, optimizer)
    checkpointer.maybe_wait_for_staging()
    logger.info("Training completed")
    dist.destroy_process_group()


main()
PY
set -x
torchrun --nproc_per_node=$NGPU --rdzv_backend c10d --rdzv_endpoint=localhost:0 \
    --local-ranks-filter $LOG_RANK --role rank --tee 3 train_titan.py
