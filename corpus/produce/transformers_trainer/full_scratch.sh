# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The output folder lies on a small volume that fills up while a checkpoint is written.
mkdir -p scratch
mount -t tmpfs -o size=1800k tmpfs scratch
cat > finetune.py << 'EOF'
import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

rows = torch.randint(0, 500, (64, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_embd=128, n_layer=2, n_head=4))
args = TrainingArguments(
    "scratch/out", max_steps=30, save_steps=10, logging_steps=5, report_to="none"
)
Trainer(model, args, train_dataset=data).train()
EOF
python finetune.py
