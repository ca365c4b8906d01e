# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""torchvision is not installed in the environment of the job."""

import argparse
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.optim
import torch.utils.data
import torchvision.models as models
import torchvision.transforms as transforms

parser = argparse.ArgumentParser(description="PyTorch ImageNet Training")
parser.add_argument("--arch", default="resnet18")
parser.add_argument("--seed", default=1, type=int)


def main():
    args = parser.parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    model = models.__dict__[args.arch]()
    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    print(model, normalize, os.getpid(), time.time(), nn.CrossEntropyLoss())


main()
