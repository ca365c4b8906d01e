# /// case
# cause = "network"
# exit_code = 1
# paper_class = "traceback"
# ///
"""The service that embeds the queries does not listen at the address of the settings."""

import asyncio
import os

import httpx
import numpy as np
from tqdm import tqdm

ENDPOINT = os.environ.get("EMBEDDINGS_URL", "http://127.0.0.1:8089/v1/embeddings")


async def embed(client, texts):
    for attempt in range(4):
        try:
            answer = await client.post(ENDPOINT, json={"model": "e5", "input": texts})
            return [one["embedding"] for one in answer.json()["data"]]
        except httpx.TransportError as error:
            if attempt == 3:
                raise
            tqdm.write(
                f"attempt {attempt + 1}/4 on {ENDPOINT}: {type(error).__name__}, again in {2**attempt / 4} s"
            )
            await asyncio.sleep(2**attempt / 4)


async def main():
    passages = np.random.default_rng(1).normal(size=(2000, 64))
    print("passages", passages.shape)
    queries = [f"query {i}" for i in range(96)]
    async with httpx.AsyncClient(timeout=4) as client:
        for start in tqdm(range(0, len(queries), 32), desc="queries"):
            vectors = await embed(client, queries[start : start + 32])
            print(np.argmax(np.array(vectors) @ passages.T, axis=1)[:5])


asyncio.run(main())
