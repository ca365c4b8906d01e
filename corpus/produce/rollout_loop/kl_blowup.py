# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the ratio overflows and the logits become NaN; torch.multinomial's complaint about probabilities is how it comes out"
# ///
"""The ratio of PPO overflows, and the next sampling finds probabilities that are NaN."""

import logging
import sys

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, format="%(asctime)s INFO %(message)s", level=logging.INFO)


class Policy(nn.Module):
    def __init__(self, vocab=40, dim=24):
        super().__init__()
        self.embed, self.rnn, self.head = (
            nn.Embedding(vocab, dim),
            nn.GRU(dim, dim, batch_first=True),
            nn.Linear(dim, vocab),
        )

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


@torch.no_grad()
def sample(policy, prompts, length, temperature=0.7):
    ids = prompts
    for _ in range(length):
        probs = (policy(ids)[:, -1] / temperature).softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
    return ids


def logprobs(policy, ids):
    return policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)


def main():
    torch.manual_seed(0)
    policy, reference = Policy(), Policy()
    reference.load_state_dict(policy.state_dict())
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.3)
    for update in range(300):
        ids = sample(policy, torch.randint(0, 40, (16, 2)), 12)
        reward = (ids % 2).float().mean(1, keepdim=True)
        with torch.no_grad():
            old, ref = logprobs(policy, ids), logprobs(reference, ids)
        for _ in range(4):
            new = logprobs(policy, ids)
            ratio = ((new - old).sum(1, keepdim=True)).exp()
            kl = (ref - new).exp() - (ref - new) - 1
            loss = -(ratio * (reward - 0.5)).mean() + 0.5 * kl.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        logging.info(
            "update=%d reward=%.4f kl=%.4g loss=%.4g",
            update,
            reward.mean().item(),
            kl.mean().item(),
            loss.item(),
        )


main()
