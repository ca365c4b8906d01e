# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "the file of weights is a Git LFS pointer; a base model that was not had whole belongs here too"
# ///
"""The file of weights holds only the pointer of Git LFS."""

import torch
from safetensors.torch import load_file, save_file

POINTER = """version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 498818054
"""

model = torch.nn.ModuleDict(
    {"encoder": torch.nn.Linear(16, 16), "decoder": torch.nn.Linear(16, 16)}
)
save_file(model["encoder"].state_dict(), "encoder.safetensors")
with open("decoder.safetensors", "w") as file:
    file.write(POINTER)
for name, part in model.items():
    print(f"loading {name}.safetensors into {part}")
    part.load_state_dict(load_file(f"{name}.safetensors"))
print("all parts loaded")
