# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# env = {MLFLOW_HTTP_REQUEST_MAX_RETRIES = "1", MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR = "0"}
# why = "the tracking server answers 500 in mid-run"
# ///
"""The tracking server starts to answer 500 in the middle of the training."""

import http.server
import json
import threading

import mlflow

calls = 0


class Tracking(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global calls
        calls += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        run = {
            "info": {
                "run_id": "a" * 32,
                "run_uuid": "a" * 32,
                "status": "RUNNING",
                "start_time": 1,
            },
            "data": {},
        }
        body = json.dumps({"run": run}).encode()
        self.send_response(200 if calls < 9 else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tracking)
threading.Thread(target=server.serve_forever, daemon=True).start()
mlflow.set_tracking_uri(f"http://127.0.0.1:{server.server_port}")
mlflow.start_run(experiment_id="0", run_name="bert")
for step in range(20):
    loss = 3 / (1 + step)
    print(f"step {step} loss {loss:.3f}", flush=True)
    mlflow.log_metric("loss", loss, step=step)
mlflow.end_run()
