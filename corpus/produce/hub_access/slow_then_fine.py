# /// case
# cause = "none"
# exit_code = 0
# why = "server errors, a rate limit and a missing optional file, all retried or handled; the work was done"
# ///
"""The hub stumbles several times, every file arrives in the end."""

import logging

import httpx2
import huggingface_hub
from huggingface_hub.utils import EntryNotFoundError, http_backoff

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s: %(message)s")
stumbles = iter([503, 429, 500])


def answer(request):
    if request.url.path.endswith("adapter_config.json"):
        headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": "0" * 40}
        return httpx2.Response(404, headers=headers, request=request)
    return httpx2.Response(next(stumbles, 200), content=b"weights", request=request)


huggingface_hub.set_client_factory(
    lambda: httpx2.Client(transport=httpx2.MockTransport(answer), follow_redirects=True)
)
for name in ("model.safetensors", "tokenizer.json", "adapter_config.json"):
    url = huggingface_hub.hf_hub_url("acme/base", name)
    if name.startswith("adapter"):
        try:
            huggingface_hub.hf_hub_download("acme/base", name)
        except EntryNotFoundError as error:
            logging.warning("no adapter: %s", str(error).strip())
        continue
    response = http_backoff("GET", url, base_wait_time=0.2, max_retries=5)
    response.raise_for_status()
    with open(name, "wb") as out:
        out.write(response.content)
    logging.info("%s: %d bytes", name, len(response.content))
print("all files present, errors recovered: 3")
