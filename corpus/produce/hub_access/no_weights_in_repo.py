# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The repository has a configuration but no weights."""

import http.server
import json
import os
import threading

CONFIG = json.dumps(
    {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 32, "n_layer": 2,
     "n_head": 2, "vocab_size": 100}
).encode()  # fmt: skip


class Hub(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        there = self.path.endswith("/config.json")
        self.send_response(200 if there else 404)
        self.send_header("X-Repo-Commit", "5f91d94bd9cd7190a9f3216ff93cd1dd95f2c7be")
        self.send_header("ETag", '"a1b2c3"')
        if not there:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(CONFIG) if there else 0))
        self.end_headers()
        return there

    def do_GET(self):
        if self.do_HEAD():
            self.wfile.write(CONFIG)

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"

from transformers import AutoModelForCausalLM  # noqa: E402

model = AutoModelForCausalLM.from_pretrained("lab/gpt2-distilled-v2")
print(model.num_parameters())
