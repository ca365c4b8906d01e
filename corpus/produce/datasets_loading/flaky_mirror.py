# /// case
# cause = "none"
# exit_code = 0
# why = "the mirror answered 503 a few times and the download was retried until it came"
# ///
"""A mirror answers 503 at first; retries get the file and the run ends well."""

import http.server
import logging
import threading
import time

import fsspec
from datasets import load_dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
answers = iter([503, 503, 500])


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = next(answers, 200)
        body = b'{"text": "a"}\n{"text": "b"}\n' if status == 200 else b"try later"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8099), Mirror)
threading.Thread(target=server.serve_forever, daemon=True).start()

for attempt in range(1, 6):
    try:
        with fsspec.open("http://127.0.0.1:8099/corpus/train.jsonl", "rb") as source:
            data = source.read()
        break
    except Exception as error:
        logging.error("download failed (attempt %d of 5): %s", attempt, error)
        time.sleep(0.2 * attempt)
with open("train.jsonl", "wb") as out:
    out.write(data)
print(load_dataset("json", data_files="train.jsonl", split="train"))
