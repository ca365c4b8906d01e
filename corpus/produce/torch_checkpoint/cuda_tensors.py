# /// case
# cause = "cuda_environment"
# paper_class = "runtime_error"
# exit_code = 1
# why = "a checkpoint of a GPU is loaded where there is none"
# ///
"""A checkpoint written on a GPU is loaded without map_location where there is none."""

import logging

import torch

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
log = logging.getLogger("finetune")


def checkpoint_of_the_gpu_job(path):
    """What a job on a GPU leaves behind: storages that are tagged with their device."""
    tag, torch.serialization.location_tag = torch.serialization.location_tag, lambda _: "cuda:0"
    torch.save({"model": torch.nn.Linear(20, 2).state_dict(), "step": 40000}, path)
    torch.serialization.location_tag = tag


def main():
    checkpoint_of_the_gpu_job("step40000.pt")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    log.info("device: %s", device)
    model = torch.nn.Linear(20, 2).to(device)
    log.info("loading step40000.pt")
    state = torch.load("step40000.pt")
    model.load_state_dict(state["model"])
    log.info("continuing at step %d", state["step"])


main()
