# /// case
# cause = "none"
# exit_code = 0
# why = "warnings about workers and caught errors of single samples; both epochs are finished"
# ///
"""Too many workers, samples that fail and are replaced, and a good end."""

import logging

import torch
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(processName)s %(levelname)s %(message)s"
)


class Clips(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, i):
        try:
            if i % 37 == 5:
                raise RuntimeError(
                    f"Failed to decode frame: Invalid data found when processing input (clip {i})"
                )
            return torch.full((8,), i / 96)
        except RuntimeError as error:
            logging.error("%s, using clip %d instead", error, i - 1)
            return self[i - 1]


def main():
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Clips(), batch_size=12, num_workers=6, multiprocessing_context="fork")
    for epoch in range(2):
        for x in loader:
            loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        logging.info("epoch %d loss %.5f, dropped clips 0", epoch, loss.item())
    logging.info("finished")


if __name__ == "__main__":
    main()
