# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# why = "the hub answers, but with server errors only: the service could not be had"
# ///
"""The hub answers 502 when it is asked for the model."""

import httpx2
import huggingface_hub
from huggingface_hub.utils import logging

logging.set_verbosity_info()
huggingface_hub.set_client_factory(
    lambda: httpx2.Client(
        transport=httpx2.MockTransport(lambda request: httpx2.Response(502, request=request))
    )
)
info = huggingface_hub.HfApi().model_info("Qwen/Qwen2.5-0.5B")
print(info.sha)
