# /// case
# cause = "traceback"
# exit_code = 1
# why = "the KeyError of the script is the root; the launcher only reports its status"
# ///
# A plain bug of the script below the launcher's CalledProcessError.
cat > finetune.py << 'EOF'
import torch
from accelerate import Accelerator
from tqdm.auto import tqdm

accelerator = Accelerator(cpu=True)
config = {"lr": 3e-4, "epochs": 2, "batch": 8}
model = torch.nn.Linear(10, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
model, optimizer = accelerator.prepare(model, optimizer)
history = {"loss": []}
for epoch in range(config["epochs"]):
    for _ in tqdm(range(20), disable=not accelerator.is_local_main_process):
        loss = model(torch.randn(config["batch"], 10)).pow(2).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        history["loss"].append(loss.item())
    accelerator.print(f"epoch {epoch}: loss {sum(history['loss']) / len(history['loss']):.4f}")
    accelerator.print(f"epoch {epoch}: best accuracy {max(history['accuracy']):.3f}")
EOF
accelerate launch --cpu --num_processes 1 finetune.py
