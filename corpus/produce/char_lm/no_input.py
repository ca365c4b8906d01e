# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The tokenised training file was never prepared."""

import os
import pickle
import time

import numpy as np
import torch

out_dir = "out-shakespeare-char"
eval_interval = 250
eval_iters = 200
log_interval = 10
always_save_checkpoint = False
wandb_log = False
dataset = "shakespeare_char"
gradient_accumulation_steps = 1
batch_size = 64
block_size = 256
config_keys = [
    k
    for k, v in globals().items()
    if not k.startswith("_") and isinstance(v, (int, float, bool, str))
]
config = {k: globals()[k] for k in config_keys}
print(f"Overriding: dataset = {dataset}")
print(f"tokens per iteration will be: {gradient_accumulation_steps * batch_size * block_size:,}")
os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
data_dir = os.path.join("data", dataset)


def get_batch(split):
    data = np.memmap(os.path.join(data_dir, f"{split}.bin"), dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return torch.stack([torch.from_numpy(data[i : i + block_size].astype(np.int64)) for i in ix])


meta_path = os.path.join(data_dir, "meta.pkl")
if os.path.exists(meta_path):
    with open(meta_path, "rb") as f:
        print(f"found vocab_size = {pickle.load(f)['vocab_size']}")
else:
    print("defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)")
t0 = time.time()
X = get_batch("train")
print(X.shape, time.time() - t0)
