# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the server's model has another vocabulary than the trainer's; the server's error comes back in the answer 500"
# ///
"""The synchronisation of the weights fails in the server, whose model has a padded vocabulary."""

import base64
import io
import logging
import multiprocessing
import traceback

import torch
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from torch import nn


def serve(port):
    model = nn.Sequential(nn.Embedding(128, 16), nn.Linear(16, 128))
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/update_named_param")
    async def update(request: Request):
        message = await request.json()
        weight = torch.load(io.BytesIO(base64.b64decode(message["data"])))
        try:
            with torch.no_grad():
                dict(model.named_parameters())[message["name"]].copy_(weight)
        except Exception as error:
            traceback.print_exc()
            return JSONResponse({"error": f"{type(error).__name__}: {error}"}, status_code=500)
        return {"name": message["name"]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="info")


class WeightSync:
    def __init__(self, port):
        import requests
        from requests.adapters import HTTPAdapter, Retry

        self.session = requests.Session()
        self.session.mount(
            "http://", HTTPAdapter(max_retries=Retry(60, backoff_factor=0.1, backoff_max=0.5))
        )
        self.url = f"http://127.0.0.1:{port}"
        print("server:", self.session.get(f"{self.url}/health").json(), flush=True)

    def push(self, model):
        for name, parameter in model.named_parameters():
            buffer = io.BytesIO()
            torch.save(parameter.detach(), buffer)
            data = base64.b64encode(buffer.getvalue()).decode()
            self.session.post(
                f"{self.url}/update_named_param", json={"name": name, "data": data}
            ).raise_for_status()


def main():
    import socket

    logging.basicConfig(level=logging.WARNING)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
    server.start()
    sync = WeightSync(port)
    policy = nn.Sequential(nn.Embedding(123, 16), nn.Linear(16, 123))
    for step in range(3):
        print(f"step {step}: pushing weights to the inference server", flush=True)
        sync.push(policy)


if __name__ == "__main__":
    main()
