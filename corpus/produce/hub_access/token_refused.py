# /// case
# cause = "none"
# exit_code = 0
# why = "only the upload of the finished model failed; it is handled and the model lies in the folder"
# ///
"""The model is trained and saved; the upload is refused, reported and skipped."""

import httpx2
import huggingface_hub
import torch
from transformers import GPT2Config, GPT2LMHeadModel

huggingface_hub.set_client_factory(
    lambda: httpx2.Client(
        transport=httpx2.MockTransport(
            lambda request: httpx2.Response(
                401, headers={"X-Error-Message": "Invalid username or password."}, request=request
            )
        )
    )
)
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(30):
    ids = torch.randint(0, 100, (8, 16))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.3f}")
model.save_pretrained("final")
try:
    model.push_to_hub("acme/gpt2-tiny", token="hf_" + "x" * 34)
except Exception as error:
    print(f"WARNING push to hub failed, model kept in ./final: {error}")
print("Done.")
