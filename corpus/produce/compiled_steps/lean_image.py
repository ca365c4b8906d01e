# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# env = {CXX = "/opt/rh/devtoolset-11/root/usr/bin/g++"}
# why = "the C++ compiler that CXX names is not there: inductor cannot build its kernel, an InvalidCxxCompiler inside InductorError"
# ///
"""The compiler that the environment names does not exist in the image of the job."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, x):
        return self.layers(x).sigmoid().mean()


def main():
    torch.manual_seed(0)
    model = Mlp()
    optimizer = torch.optim.Adam(model.parameters())
    logging.info("eager warm-up: %.4f", model(torch.randn(4, 32)).item())
    step = torch.compile(model, mode="max-autotune-no-cudagraphs")
    logging.info("compiling, this may take a minute")
    for i in range(10):
        loss = step(torch.randn(64, 32))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("iter %d loss %.4f", i, loss.item())


main()
