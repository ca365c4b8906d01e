# /// case
# cause = "segfault"
# exit_code = 1
# environment = "hf4"
# why = "a loader worker died of SIGSEGV; the RuntimeError of the main process only reports it"
# ///
"""Native code crashes in a loader worker on one of the samples."""

import ctypes

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments


class Augmented(torch.utils.data.Dataset):
    """Token rows passed through a native routine."""

    libc = ctypes.CDLL(None)

    def __len__(self):
        return 256

    def __getitem__(self, index):
        row = torch.randint(0, 30, (16,))
        buffer = ctypes.create_string_buffer(bytes(row.tolist()))
        source = buffer if index != 77 else ctypes.c_void_p(8)
        self.libc.memcpy(buffer, source, 16)
        row = torch.tensor(list(buffer.raw[:16]))
        return {"input_ids": row, "labels": row}


torch.manual_seed(0)
config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
args = TrainingArguments(
    "augmented", dataloader_num_workers=2, logging_steps=2, report_to="none", use_cpu=True
)
Trainer(BertForMaskedLM(config), args, train_dataset=Augmented()).train()
