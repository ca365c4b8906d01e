# /// case
# cause = "permission"
# exit_code = 1
# environment = "hf4"
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "the volume is mounted read-only from the start: a path that this job may not write"
# ///
# The adapter is saved to a volume that is mounted read-only.
mkdir -p models && mount -t tmpfs -o ro tmpfs models
cat > tune.py << 'EOF'
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=32))
model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-3)
for step in range(1, 41):
    ids = torch.randint(0, 64, (4, 16))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
model.save_pretrained("models/adapter-v1")
print("adapter saved")
EOF
python tune.py
