# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""A name was moved out of the scheduler's module by a newer version."""

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR, _enable_get_lr_call
from torch._six import container_abcs

net = nn.Linear(2, 2)
scheduler = StepLR(torch.optim.SGD(net.parameters(), lr=1.0), 5)
print(scheduler, _enable_get_lr_call, container_abcs)
