# /// case
# cause = "none"
# exit_code = 0
# why = "the corrupt checkpoint is skipped, an older one is loaded and the run ends well"
# ///
"""The newest checkpoint is corrupt; the one before is taken, and the run is finished."""

import logging
from pathlib import Path

import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
folder = Path("ckpt")
folder.mkdir()
model = torch.nn.Linear(6, 1)
for epoch in (3, 4):
    torch.save({"epoch": epoch, "model": model.state_dict()}, folder / f"{epoch}.pt")
(folder / "4.pt").write_bytes((folder / "4.pt").read_bytes()[:700])


def restore():
    for path in sorted(folder.glob("*.pt"), reverse=True):
        try:
            state = torch.load(path)
        except (RuntimeError, EOFError) as error:
            logging.error("checkpoint %s is corrupt: %s", path, error)
            continue
        model.load_state_dict(state["model"])
        logging.info("restored %s", path)
        return state["epoch"] + 1
    return 0


optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(restore(), 10):
    for _ in range(50):
        x = torch.randn(32, 6)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save({"epoch": epoch, "model": model.state_dict()}, folder / f"{epoch}.pt")
    logging.info("epoch %d/9 loss %.5f, checkpoint saved", epoch, loss.item())
logging.info("finished")
