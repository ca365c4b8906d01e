# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} --precision mixed-bf16 --max-epochs 3"
# ///
"""The precision is given under a name that the Trainer does not know."""

import argparse

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--max-epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=16)
    return parser.parse_args()


def main():
    args = parse()
    print(args)
    L.seed_everything(7, workers=True)
    model = BoringModel()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, torch {torch.__version__}")
    trainer = L.Trainer(
        max_epochs=args.max_epochs, precision=args.precision, accelerator="auto", devices=1
    )
    trainer.fit(model)


main()
