# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The base model is gated and this account was not let in."""

import httpx2
import huggingface_hub

GATED = {
    "X-Error-Code": "GatedRepo",
    "X-Error-Message": "Access to model is restricted and you are not in the authorized list. "
    "Visit the model page to ask for access.",
}


def answer(request):
    return httpx2.Response(403, headers=GATED, request=request)


huggingface_hub.set_client_factory(
    lambda: httpx2.Client(transport=httpx2.MockTransport(answer), follow_redirects=True)
)

from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
print(f"loading {MODEL}")
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
