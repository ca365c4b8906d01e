# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""A private repository without a token: the hub says that it is not there."""

import logging

import huggingface_hub
import requests

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s - %(levelname)s - %(name)s -   %(message)s",
    datefmt="%m/%d/%Y %H:%M:%S",
)


class Unauthorized(requests.adapters.BaseAdapter):
    """Answers as the hub does to somebody it does not know."""

    def send(self, request, **kwargs):
        response = requests.Response()
        response.status_code, response.request, response.url = 401, request, request.url
        response.reason = "Unauthorized"
        response.headers["X-Error-Code"] = "RepoNotFound"
        response.headers["x-request-id"] = "Root=1-6920a1c3-2a6e0f4b7d3c"
        response.raw = None
        response._content = b"Invalid username or password."
        return response

    def close(self):
        pass


def session():
    made = requests.Session()
    made.mount("https://", Unauthorized())
    return made


huggingface_hub.configure_http_backend(session)

from transformers import AutoConfig, AutoModelForSequenceClassification  # noqa: E402

logger = logging.getLogger("run_classification")
logger.warning("Process rank: 0, device: cpu, n_gpu: 0, distributed training: False")
config = AutoConfig.from_pretrained("acme-nlp/deberta-v3-internal", num_labels=4)
model = AutoModelForSequenceClassification.from_config(config)
