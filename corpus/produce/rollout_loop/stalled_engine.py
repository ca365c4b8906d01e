# /// case
# cause = "network"
# paper_class = ""
# exit_code = 1
# why = "the server of the rollouts does not answer within the time-out; nothing shows why. It is a service outside any process group, so not collective"
# ///
"""Requests to the generation server time out while it prefills a long prompt."""

import asyncio
import json
import random

import aiohttp
import torch
from aiohttp import web
from torch import nn
from tqdm import tqdm


async def completions(request):
    body = await request.json()
    if len(body["prompt"]) > 400:
        await asyncio.sleep(60)
    return web.json_response(
        {
            "choices": [
                {"token_ids": [random.randrange(50) for _ in range(8)]} for _ in range(body["n"])
            ]
        }
    )


async def start_server():
    app = web.Application()
    app.router.add_post("/v1/completions", completions)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return site._server.sockets[0].getsockname()[1]


async def collect(session, url, prompts, n):
    async def one(prompt):
        async with session.post(url, json={"model": "actor", "prompt": prompt, "n": n}) as answer:
            answer.raise_for_status()
            return [row["token_ids"] for row in (await answer.json())["choices"]]

    return sum(await asyncio.gather(*map(one, prompts)), [])


async def main():
    url = f"http://127.0.0.1:{await start_server()}/v1/completions"
    actor = nn.Embedding(50, 50)
    optimizer = torch.optim.RMSprop(actor.parameters(), lr=1e-3)
    timeout = aiohttp.ClientTimeout(total=6)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        bar = tqdm(range(30), desc="rloo", ncols=90)
        for step in bar:
            prompts = ["x" * (20 * (step + i)) for i in range(8)]
            ids = torch.tensor(await collect(session, url, prompts, 4)).view(8, 4, -1)
            reward = (ids > 25).float().mean(2)
            baseline = (reward.sum(1, keepdim=True) - reward) / 3
            logp = actor(ids[..., :-1]).log_softmax(-1).gather(3, ids[..., 1:, None]).sum((2, 3))
            loss = -((reward - baseline) * logp).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(json.loads(f'{{"reward": {reward.mean():.3f}}}'))


asyncio.run(main())
