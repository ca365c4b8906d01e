# /// case
# cause = "none"
# exit_code = 0
# env = {CXX = "clang++-19"}
# why = "the compilation fails, and the program catches it and trains in eager mode to its end"
# ///
"""Compilation fails; the trainer catches it, warns with the whole traceback, and goes on in eager mode."""

import logging

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO, format="%(levelname).1s %(asctime)s %(module)s:%(lineno)d] %(message)s"
)


def maybe_compile(model, example):
    compiled = torch.compile(model)
    try:
        compiled(example)
    except Exception:
        logging.warning("torch.compile failed, falling back to eager mode", exc_info=True)
        torch._dynamo.reset()
        return model
    return compiled


def evaluate(model):
    with torch.no_grad():
        x = torch.linspace(-1, 1, 50).unsqueeze(1)
        return (model(x) - x.sin()).abs().max().item()


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    step = maybe_compile(net, torch.zeros(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for i in range(301):
        x = torch.rand(64, 1) * 2 - 1
        loss = (step(x) - x.sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 100 == 0:
            logging.info("iteration %d loss %.6f", i, loss.item())
    logging.info("max error %.4f", evaluate(net))
    torch.jit.script(net).save("sine.pt")
    logging.info("exported sine.pt, bye")


main()
