# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "safetensors refuses two names for one storage: the program should save the model, not its dictionary"
# ///
"""After the training the tied weights of the language model are saved as a plain dictionary of tensors."""

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Tagger(nn.Module):
    def __init__(self, words=40, width=24):
        super().__init__()
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.Linear(width, words, bias=False)
        self.decoder.weight = self.encoder.weight

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=60)
text = torch.arange(640).remainder(40).view(16, 40)
for step in range(60):
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 12 == 0 or step == 59:
        lr = scheduler.get_last_lr()[0]
        print(
            f"| step {step:4d} | lr {lr:.2e} | loss {loss.item():6.3f} | ppl {loss.exp().item():8.2f} |"
        )
print("| end of training, exporting |")
save_file(model.state_dict(), "tagger.safetensors", metadata={"format": "pt"})
print("| exported |")
