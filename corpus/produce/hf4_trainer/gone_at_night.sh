# /// case
# cause = "killed_unknown"
# exit_code = 137
# environment = "hf4"
# ///
# A training process is killed from outside; the shell says no more than "Killed".
set -u
echo "== job started on $(uname -n), shell $BASH_VERSION"
cat > run.py << 'EOF'
import time

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.05)


rows = torch.randint(0, 100, (256, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
args = TrainingArguments(
    "out", max_steps=1000, logging_steps=10, report_to="none", use_cpu=True, save_strategy="no"
)
Trainer(model, args, train_dataset=data, callbacks=[Slow()]).train()
EOF
python -u run.py > log.txt 2>&1 &
trainer=$!
until grep -q "'epoch': 0.9" log.txt 2> /dev/null; do sleep 0.2; done
kill -KILL $trainer
wait $trainer
status=$?
cat log.txt
echo "run.py exited with status $status"
exit $status
