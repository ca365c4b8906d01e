"""Trainings with PyTorch, in the environment of the core, for tests in the engines' ones."""

from __future__ import annotations

from pathlib import Path

_PYTHON = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "python"
_STEPS = """
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.set_num_threads(1)
print("training", flush=True)
while True:
    loss = model(torch.randn(32, 64)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TORCH_STEPS = (str(_PYTHON), "-c", _STEPS)
"""Command that trains until it is ended."""
