# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""A folder of memory-mapped shards is kept open and the loader's workers find no descriptor left."""

import os
import resource

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
os.makedirs("shards")
for i in range(200):
    np.save(f"shards/{i:05d}.npy", np.full((4, 16), i % 30))


class Shards(torch.utils.data.Dataset):
    """One open file per shard, kept for speed."""

    def __init__(self, folder):
        self.names = sorted(os.listdir(folder))
        self.folder, self.files = folder, {}

    def __len__(self):
        return 4 * len(self.names)

    def __getitem__(self, index):
        name = self.names[index // 4]
        if name not in self.files:
            self.files[name] = open(os.path.join(self.folder, name), "rb")
        self.files[name].seek(0)
        row = torch.from_numpy(np.load(self.files[name])[index % 4])
        return {"input_ids": row, "labels": row}


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
args = TrainingArguments(
    "mlm", dataloader_num_workers=2, logging_steps=5, report_to="none", use_cpu=True
)
Trainer(BertForMaskedLM(config), args, train_dataset=Shards("shards")).train()
