# /// case
# cause = "time_limit"
# exit_code = 124
# ///
# The training does not end within the time that the wrapper allows.
cat > finetune.py << 'EOF'
import time

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer = accelerator.prepare(model, optimizer)
for step in tqdm(range(10000), mininterval=1.0):
    loss = model(torch.randn(4, 32)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.05)
EOF
echo "budget 18 s"
timeout --verbose 18 accelerate launch --cpu --num_processes 1 finetune.py
