# /// case
# cause = "preempted"
# paper_class = ""
# exit_code = 143
# why = "the notice of the instance service says that the machine is taken back"
# ///
"""A metadata service announces the end of a spot instance; the trainer saves and leaves."""

import http.server
import json
import logging
import sys
import threading
import time
import urllib.request

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
log = logging.getLogger("trainer")
started = time.monotonic()


class Metadata(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if time.monotonic() - started < 4:
            self.send_error(404)
            return
        body = json.dumps({"action": "terminate", "time": "2026-11-21T12:02:00Z"}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    server = http.server.HTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/latest/meta-data/spot/instance-action"
    for step in range(2000):
        time.sleep(0.1)
        if step % 10 == 0:
            log.info("step %d loss %.4f", step, 4 / (1 + step / 50))
            try:
                notice = json.load(urllib.request.urlopen(url))
            except OSError:
                continue
            log.warning("spot instance interruption notice: %s", notice)
            log.info(
                "saved checkpoint step_%06d.pt, leaving before the instance is reclaimed", step
            )
            sys.exit(143)


main()
