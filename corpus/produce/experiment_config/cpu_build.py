# /// case
# cause = "cuda_environment"
# paper_class = "assertion"
# exit_code = 1
# why = "a wheel without CUDA, said by an AssertionError"
# ///
"""The configuration asks for a GPU, and the installed torch has no CUDA."""

import torch
import yaml

config = yaml.safe_load("{device: cuda, model: {dim: 16}, data: {batch: 4}}")
print(f"PyTorch version: {torch.__version__}")
print(f"CUDA available:  {torch.cuda.is_available()}")
print("moving model to", config["device"])
model = torch.nn.Linear(config["model"]["dim"], 1).to(config["device"])
x = torch.randn(config["data"]["batch"], config["model"]["dim"], device=config["device"])
print("loss", model(x).mean().item())
