# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "torch.export refuses the declared dynamic length because the model fixes it; nothing but the export fails"
# ///
"""After the training, the export with a dynamic length meets a model that fixes the length."""

import logging
import sys

import torch
from torch import nn
from torch.export import Dim, export

log = logging.getLogger("asr.export")
logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(name)s | %(levelname)s | %(message)s"
)


class Encoder(nn.Module):
    def __init__(self, mels=20, dim=32, stride=4):
        super().__init__()
        self.stride = stride
        self.proj = nn.Linear(mels * stride, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.ctc = nn.Linear(dim, 29)

    def forward(self, frames):
        b = frames.shape[0]
        stacked = frames.view(b, 50, -1)
        hidden, _ = self.rnn(self.proj(stacked))
        return self.ctc(hidden).log_softmax(-1)


def train(model, steps=15):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        frames = torch.randn(4, 200, 20)
        target = torch.randint(1, 29, (4, 12))
        out = model(frames).transpose(0, 1)
        loss = nn.functional.ctc_loss(out, target, torch.full((4,), 50), torch.full((4,), 12))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            log.info("step %d ctc %.3f", step, loss)


def main():
    torch.manual_seed(7)
    model = Encoder()
    train(model)
    torch.save(model.state_dict(), "encoder.pt")
    log.info("weights written to encoder.pt, exporting for the device")
    length = Dim("frames", min=8, max=3000)
    program = export(
        model.eval(), (torch.randn(1, 200, 20),), dynamic_shapes={"frames": {1: length}}
    )
    torch.export.save(program, "encoder.pt2")
    log.info("done")


main()
