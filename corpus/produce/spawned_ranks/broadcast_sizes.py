# /// case
# cause = "collective"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "gloo aborts on a message of another size than expected; the exit code is torchrun's"
# ///
"""The vocabulary of the ranks differs in length, and the tables are broadcast as they are."""

import logging
import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s|rank={rank}|%(message)s")
dist.init_process_group("gloo")
words = [f"w{i}" for i in range(5000 + 37 * rank)]
table = torch.nn.Embedding(len(words), 16)
logging.info("vocabulary of %d words", len(words))
for epoch in range(3):
    dist.broadcast(table.weight.data, src=0)
    dist.all_reduce(table.weight.data)
    logging.info("epoch %d |table| %.3f", epoch, table.weight.norm().item())
dist.destroy_process_group()
