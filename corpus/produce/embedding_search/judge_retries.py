# /// case
# cause = "none"
# exit_code = 0
# why = "the judge answers 429 and 503 for a while and closes a connection; each request succeeds in the end"
# ///
"""The answers are judged by a service that is overloaded for a while; all of them get a grade."""

import json
import logging
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from tenacity import (
    before_sleep_log,
    retry,
    retry_if_exception_type,
    stop_after_attempt,
    wait_fixed,
)

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stdout,
    format="%(asctime)s %(levelname)-8s %(name)s - %(message)s",
)
log = logging.getLogger("judge")


class Judge(BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self):
        Judge.asked += 1
        status = {2: 429, 3: 503, 7: 429, 8: 500}.get(Judge.asked, 200)
        if Judge.asked == 10:
            self.connection.close()
            return
        body = json.dumps({"score": 1 + Judge.asked % 5}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}", timeout=5)


@retry(
    retry=retry_if_exception_type(httpx.HTTPError),
    wait=wait_fixed(0.3),
    stop=stop_after_attempt(6),
    before_sleep=before_sleep_log(log, logging.WARNING, exc_info=True),
)
def grade(number):
    answer = client.post("/v1/grade", json={"id": number, "answer": "forty-two"})
    answer.raise_for_status()
    return answer.json()["score"]


logging.getLogger("httpx").setLevel(logging.WARNING)
scores = []
for number in range(12):
    scores.append(grade(number))
    log.info("answer %02d graded %d", number, scores[-1])
    time.sleep(0.05)
log.info("mean score %.2f over %d answers, 0 failed", sum(scores) / len(scores), len(scores))
