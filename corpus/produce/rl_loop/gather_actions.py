# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Actions without their last dimension are used to gather from the Q values."""

import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "state action reward")
memory = deque(maxlen=500)
net = nn.Linear(5, 3)
optimizer = torch.optim.RMSprop(net.parameters())


def learn(batch_size=32):
    batch = Transition(*zip(*random.sample(memory, batch_size)))
    values = net(torch.stack(batch.state)).gather(1, torch.tensor(batch.action))
    loss = (values - torch.tensor(batch.reward)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(1, 301):
    state = torch.randn(5)
    with torch.no_grad():
        action = int(net(state).argmax())
    memory.append(Transition(state, action, float(action == state[:3].argmax())))
    if step % 50 == 0:
        print(f"collected {step} transitions, epsilon {0.9 ** (step / 50):.2f}", flush=True)
    if step > 200:
        print("loss", learn())
