# /// case
# cause = "oom_killer"
# exit_code = 137
# environment = "hf4"
# needs = ["root"]
# why = "the kernel's line below the log names the killed trainer"
# ///
# The Trainer keeps every hidden state in a callback until the kernel kills it in the cgroup of the job.
group=/sys/fs/cgroup/memory/condor/slot1_3
mkdir -p $group || exit 90
echo $((620 << 20)) > $group/memory.limit_in_bytes
cat > tune.py <<'PY'
import torch
from datasets import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


class KeepStates(TrainerCallback):
    kept = []

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.kept.append(torch.randn(64, 128, 512))


rows = Dataset.from_dict({"input_ids": [[i % 50] * 8 for i in range(400)], "labels": [i % 2 for i in range(400)]})
config = DistilBertConfig(vocab_size=60, dim=16, hidden_dim=32, n_layers=1, n_heads=2)
args = TrainingArguments("out", max_steps=200, logging_steps=2, per_device_train_batch_size=4, save_strategy="no", report_to=[], use_cpu=True)
Trainer(DistilBertForSequenceClassification(config), args, train_dataset=rows, callbacks=[KeepStates()]).train()
PY
(echo $BASHPID > $group/cgroup.procs; exec python tune.py)
code=$?
sleep 0.3
echo "condor_starter: job exited with status $code"
dmesg | grep -A1 'oom_memcg=/condor/slot1_3' | tail -2 | sed 's/^/condor_starter: kernel: /'
(cd /sys/fs/cgroup/memory && rmdir -p condor/slot1_3)
exit $code
