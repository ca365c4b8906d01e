# /// case
# cause = "assertion"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 3 {program}"
# why = "the program's own claim about its repartition does not hold, on every rank"
# ///
"""After documents are dealt out anew between the epochs, the sum of the lengths is not what it was."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm


def repartition(lengths, epoch):
    """Deal the documents out so that each rank has about as many tokens."""
    world, rank = dist.get_world_size(), dist.get_rank()
    gathered = [None] * world
    dist.all_gather_object(gathered, lengths)
    everything = sorted((n for part in gathered for n in part), reverse=True)
    whole = len(everything) // world * world if epoch else len(everything)
    mine = everything[:whole][rank::world]
    total = torch.tensor(sum(mine))
    dist.all_reduce(total)
    assert total.item() == sum(everything)
    return mine


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    lengths = torch.randint(20, 60, (22 + (rank == 1),)).tolist()
    model = DistributedDataParallel(nn.GRU(8, 8, batch_first=True))
    optimizer = torch.optim.RMSprop(model.parameters())
    for epoch in range(3):
        lengths = repartition(lengths, epoch)
        for n in tqdm(lengths[:20], desc=f"epoch {epoch}", disable=rank > 0, ncols=80):
            out, _ = model(torch.randn(1, n, 8))
            loss = out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            tqdm.write(f"epoch {epoch}: loss {loss.item():.5f}, {len(lengths)} documents on rank 0")
    dist.destroy_process_group()


main()
