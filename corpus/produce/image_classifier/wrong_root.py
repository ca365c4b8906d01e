# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The folder with the pictures is not where the option says."""

import argparse
import json
import os

import torch


def find_classes(directory):
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: i for i, name in enumerate(classes)}


def build_parser():
    parser = argparse.ArgumentParser(description="image classification")
    parser.add_argument("--data-path", default="/datasets/imagenet100")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--output-dir", default="runs/r18")
    return parser


def main(args):
    os.makedirs(args.output_dir, exist_ok=True)
    print(json.dumps(vars(args), indent=1))
    print(f"torch {torch.__version__}, cuda available: {torch.cuda.is_available()}")
    print("Loading training data")
    classes, _ = find_classes(os.path.join(args.data_path, "train"))
    print(len(classes), "classes")


if __name__ == "__main__":
    main(build_parser().parse_args())
