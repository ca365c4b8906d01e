"""Exceptions that a program handled are no failures; those that a script hid are."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gpualert_common.classify import LogReading, Resolution, load_rules, resolve, scan_file
from gpualert_common.model import ExitFacts

RULES = load_rules()

HEAD = """
import asyncio, atexit, http.server, json, logging, os, shutil, socket, subprocess, sys, threading
import traceback, urllib.request, warnings
import multiprocessing as mp

def train(epochs=3, of=3, start=1):
    for epoch in range(start, epochs + 1):
        print(f"epoch {epoch}/{of} loss {2 / epoch:.4f}", flush=True)

def upload(path):
    raise ConnectionError("HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded")
"""

GOOD = {
    "a failed upload, printed, then the end": """
        def main():
            train()
            try:
                upload("model.pt")
            except Exception:
                traceback.print_exc()
            print("Training complete", flush=True)
        main()
    """,
    "a failed upload at the top level": """
        train()
        try:
            upload("model.pt")
        except Exception:
            traceback.print_exc()
        print("Training complete", flush=True)
    """,
    "a skipped sample in the last epoch": """
        def load(text):
            return json.loads(text)
        def main():
            train(2, 3)
            try:
                load("{'not': json")
            except ValueError:
                traceback.print_exc()
                print("skipping sample 17", flush=True)
            print("epoch 3/3 loss 0.3000", flush=True)
        main()
    """,
    "a logger's warning with its traceback as the last words": """
        logging.basicConfig()
        def main():
            train()
            print("saved model to out/model.pt", flush=True)
            try:
                upload("out/model.pt")
            except ConnectionError:
                logging.warning("upload failed, the model is in out/", exc_info=True)
        main()
    """,
    "an upload that failed after the model was saved, and nothing behind it": """
        def main():
            train()
            print("saved model to out/model.pt", flush=True)
            try:
                upload("out/model.pt")
            except ConnectionError:
                traceback.print_exc()
        main()
    """,
    "a function that fails at exit": """
        train()
        print("Training finished", flush=True)
        atexit.register(lambda: shutil.rmtree("/nowhere/cache"))
    """,
    "a thread that fails while the rest goes on": """
        train(2, 3)
        def send():
            raise OSError(113, "No route to host")
        thread = threading.Thread(target=send)
        thread.start()
        thread.join()
        print("epoch 3/3 loss 0.3000", flush=True)
    """,
    "a thread that fails at the end": """
        train()
        def send():
            raise KeyError("metrics")
        thread = threading.Thread(target=send)
        thread.start()
        thread.join()
    """,
    "a task of asyncio that nobody waited for": """
        async def send():
            raise ValueError("the tracking server answered 503")
        async def main():
            asyncio.ensure_future(send())
            await asyncio.sleep(0)
            train()
        asyncio.run(main())
    """,
    "a record that cannot be formatted": """
        logging.basicConfig()
        train()
        logging.error("accuracy %d", "0.9")
    """,
    "a retried call": """
        def main():
            train(2, 3)
            for attempt in range(2):
                try:
                    if not attempt:
                        upload("x")
                except ConnectionError:
                    traceback.print_exc()
                    print("retrying in 1 s (attempt 1/3)", flush=True)
            print("epoch 3/3 loss 0.3000", flush=True)
            print("done", flush=True)
        main()
    """,
    "a child process that fails beside the training": """
        def export():
            raise RuntimeError("onnx export is not supported for this operator")
        if __name__ == "__main__":
            train()
            child = mp.get_context("fork").Process(target=export)
            child.start()
            child.join()
            print("final accuracy: 0.913", flush=True)
    """,
    "a script of Keras at the top level": """
        for epoch in (1, 2):
            print(f"Epoch {epoch}/2\\n63/63 - 1s - loss: {0.7 / epoch:.4f}", flush=True)
        try:
            upload("model.keras")
        except Exception:
            traceback.print_exc()
        print("Finished training", flush=True)
    """,
    "a hook that fails while rounds of boosting go on": """
        def main():
            print("[0]\\ttrain-rmse:0.51", flush=True)
            try:
                upload("metrics")
            except Exception:
                logging.exception("hook failed")
            print("[1]\\ttrain-rmse:0.40", flush=True)
        main()
    """,
    "an evaluation that is skipped, then the scores": """
        def main():
            train()
            try:
                {}["bleu"]
            except KeyError:
                traceback.print_exc()
            print("test accuracy: 0.912", flush=True)
            print("best val loss: 0.310", flush=True)
        main()
    """,
    "a message that fails after the program said that the training is done": """
        logging.basicConfig(level="INFO")
        train()
        logging.info("training finished")
        try:
            socket.create_connection(("127.0.0.1", 9))
        except OSError:
            logging.exception("no message to the channel")
    """,
    "a plot after the last step": """
        def plot():
            raise ImportError("no display")
        def main():
            train()
            print("model -> out/final.pt", flush=True)
            try:
                plot()
            except ImportError:
                traceback.print_exc()
        main()
    """,
    "a request that a server of metrics cannot answer": """
        class Metrics(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response({}["status"])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        train()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/")
        except Exception as error:
            print("no metrics:", error, flush=True)
        server.shutdown()
    """,
    "a callback of an event loop": """
        async def main():
            train()
            asyncio.get_running_loop().call_soon(lambda: {}["x"])
            await asyncio.sleep(0)
        asyncio.run(main())
    """,
    "a summary of items of which some failed": """
        def main():
            for clip in range(10):
                try:
                    1 / (clip - 9)
                except ZeroDivisionError:
                    traceback.print_exc()
            print("converted 9 of 10 clips", flush=True)
        main()
    """,
    "an item of a pool that is left out": """
        def work(item):
            return 1 / (item - 3)
        if __name__ == "__main__":
            train()
            with mp.get_context("fork").Pool(1) as pool:
                try:
                    pool.apply(work, (3,))
                except ZeroDivisionError:
                    traceback.print_exc()
                    print("item 3 left out", flush=True)
    """,
    "a program that is not installed, after the last step": """
        def main():
            train()
            try:
                subprocess.run(["ffmpeg-of-nobody"], check=True)
            except FileNotFoundError:
                traceback.print_exc()
                print("no video of the samples", flush=True)
        main()
    """,
    "episodes go on behind a failed picture": """
        def main():
            print("Episode 1 | reward 10.5", flush=True)
            try:
                raise RuntimeError("renderer: no display")
            except RuntimeError:
                traceback.print_exc()
            print("Episode 2 | reward 20.5", flush=True)
        main()
    """,
}

BAD = {
    "behind a pipe": ('python -c "$P" 2>&1 | cat', "train(2, 5)\n{}['x']", "traceback"),
    "a script that reports its own end": (
        'python -c "$P"; echo "Training complete"; echo done',
        "train(2, 5)\n{}['x']",
        "traceback",
    ),
    "a script that goes on with other work": (
        'python -c "$P"; for n in 1 2 3 4 5 6 7; do echo "copying shard $n"; done; echo finished',
        "train(2, 5)\n{}['x']",
        "traceback",
    ),
    "a traced script": (
        'set -x; python -c "$P"; echo "Training complete"',
        "train(2, 2)\n{}['x']",
        "traceback",
    ),
    "a script before any training": (
        'python -c "$P"; echo "Training complete"',
        "import not_there_at_all",
        "missing_module",
    ),
    "a program that swallows its own failure": (
        'python -c "$P"',
        (
            "def main():\n    train(2, 5)\n    raise ValueError('boom')\n"
            "try:\n    main()\nexcept Exception:\n    traceback.print_exc()"
        ),
        "traceback",
    ),
    "a partial model saved in the end": (
        'python -c "$P"',
        (
            "def main():\n    try:\n        train(2, 50)\n        raise KeyError('x')\n"
            "    except KeyError:\n        traceback.print_exc()\n"
            "    print('saved model to out/model.pt', flush=True)\nmain()"
        ),
        "traceback",
    ),
    "a log that fails with its training": (
        'python -c "$P"',
        (
            "logging.basicConfig()\ntry:\n    train(2, 5)\n    {}['x']\n"
            "except KeyError:\n    logging.exception('training failed')"
        ),
        "traceback",
    ),
    "a table that cannot be written": (
        'python -c "$P"; echo "done at noon"',
        "train()\nopen('/nowhere/table.csv', 'w')",
        "file_not_found",
    ),
    "retries that all failed": (
        'python -c "$P"',
        (
            "def main():\n    for n in range(3):\n        try:\n            upload('shard')\n"
            "        except ConnectionError:\n            traceback.print_exc()\n"
            "            print(f'attempt {n + 1} of 3', flush=True)\n"
            "    print('shard 7 left as it was', flush=True)\nmain()"
        ),
        "network",
    ),
    "a caught failure that the program calls one": (
        'python -c "$P"',
        (
            "def main():\n    train()\n    try:\n        {}['labels']\n    except KeyError:\n"
            "        traceback.print_exc()\n        print('evaluation failed', flush=True)\nmain()"
        ),
        "traceback",
    ),
    "items that all failed": (
        'python -c "$P"',
        (
            "def main():\n    try:\n        {}['x']\n    except KeyError:\n"
            "        traceback.print_exc()\n    print('0 of 3 converted, 3 failed')\nmain()"
        ),
        "traceback",
    ),
    "a first program of one line": (
        "python -c 'import mylib_of_nobody; mylib_of_nobody.train()'; echo 'all done'",
        "",
        "missing_module",
    ),
    "a kill, and then the next stage": (
        'python -c "$P"; python -c "print(\'step 1 auc 0.5\')"; echo finished',
        "train(2, 9)\nos.kill(os.getpid(), 9)",
        "killed_unknown",
    ),
    "a training that crashes at each start": (
        'for n in 1 2 3; do python -c "$P"; echo "restarting ($n)"; done; exit 0',
        "train(1, 9)\nos.kill(os.getpid(), 11)",
        "segfault",
    ),
}


def run_logged(command: list[str], log: Path, **variables: str) -> int:
    """Run *command* with its output in *log*; return its status."""
    place = str(Path(sys.executable).parent)
    environment = {"PATH": f"{place}:/usr/bin:/bin", "PYTHONUNBUFFERED": "1", **variables}
    with log.open("wb") as out:
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, timeout=60, check=False
        )
    return done.returncode


def resolve_run(log: Path, code: int) -> Resolution:
    """Return the resolution of a run by its log and status."""
    reading: LogReading = scan_file(log, RULES)
    return resolve([reading], ExitFacts(code), RULES)


@pytest.mark.parametrize("name", GOOD)
def test_good_run(tmp_path: Path, name: str) -> None:
    """A run that handled a failure and did its work has succeeded."""
    program = tmp_path / "train.py"
    program.write_text(HEAD + textwrap.dedent(GOOD[name]))
    log = tmp_path / "output.log"
    assert run_logged([sys.executable, str(program)], log) == 0
    text = log.read_text()
    assert "Traceback (most recent call last)" in text
    assert resolve_run(log, 0).cause == "none", text


@pytest.mark.parametrize("name", BAD)
def test_hidden_failure(tmp_path: Path, name: str) -> None:
    """A failure whose status a script or the program hid is still one."""
    script, program, cause = BAD[name]
    log = tmp_path / "output.log"
    assert run_logged(["bash", "-c", script], log, P=HEAD + program) == 0
    assert resolve_run(log, 0).cause == cause, log.read_text()


SCRIPTS = {
    "killed and started again": 'python -c "$P" 3 || { echo "try 2 of 2"; python -c "$P"; }',
    "a mail of the script": (
        'python -c "$P"; echo "training ended with status 0"; '
        "python - <<< 'import smtplib; smtplib.SMTP(\"127.0.0.1\", 9)'; exit 0"
    ),
    "a look at a file": (
        "python -c \"open('/nowhere/last').read()\" || echo 'fresh start'; echo 'round 1 auc 0.81'"
    ),
    "another command that a signal ends": (
        'python -c "$P"; echo "Training complete"; bash -c \'kill -SEGV $$\'; exit 0'
    ),
    "a monitor that the script ends": ('sleep 60 & python -c "$P"; kill -9 $!; wait $!; exit 0'),
}
"""Scripts in which something fails beside the training; with an argument it is killed."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_good_script(tmp_path: Path, name: str) -> None:
    """A script whose training did its work has succeeded, whatever else failed in it."""
    program = f"{HEAD}\nkilled = len(sys.argv) > 1\ntrain(1 if killed else 3, 3)\n"
    program += "killed and os.kill(os.getpid(), 9)\n"
    script = tmp_path / "job.sh"
    script.write_text(SCRIPTS[name])
    log = tmp_path / "output.log"
    assert run_logged(["bash", str(script)], log, P=program) == 0
    assert resolve_run(log, 0).cause == "none", log.read_text()


SERVED = """Traceback (most recent call last):
  File "/home/user/serve.py", line 36, in update
    weight.copy_(new)
RuntimeError: The size of tensor a (128) must match the size of tensor b (123) at dimension 0
INFO:     127.0.0.1:50492 - "POST /update HTTP/1.1" {status}
Traceback (most recent call last):
  File "/home/user/train.py", line 80, in <module>
    push(policy)
  File "/opt/venv/lib/python3.11/site-packages/requests/models.py", line 1167, in raise_for_status
    raise HTTPError(http_error_msg, response=self)
requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: http://h/update
"""


@pytest.mark.parametrize(
    ("status", "cause"), [("500 Internal Server Error", "shape_mismatch"), ("200 OK", "network")]
)
def test_answer_of_a_server(tmp_path: Path, status: str, cause: str) -> None:
    """The exception of a server is the root of that of the client whom it answered with 500."""
    log = tmp_path / "output.log"
    log.write_text(SERVED.format(status=status))
    assert resolve_run(log, 1).cause == cause


LATER = {
    "killed_unknown": "os.kill(os.getpid(), 9)",
    "segfault": "os.kill(os.getpid(), 11)",
    "div_zero": "1 / 0",
    "cancelled": "os.kill(os.getpid(), 15)",
}


@pytest.mark.parametrize("cause", LATER)
@pytest.mark.parametrize("words", ["", "print('sample 17 is ignored', flush=True)"])
def test_later_failure(tmp_path: Path, cause: str, words: str) -> None:
    """A failure that was handled is not the root of a later one."""
    program = (
        f"{HEAD}\ndef main():\n    try:\n        json.loads('no json')\n"
        f"    except ValueError:\n        traceback.print_exc()\n        {words or 'pass'}\n"
        f"    train(2, 9, start=2)\nmain()\n{LATER[cause]}\n"
    )
    log = tmp_path / "output.log"
    code = run_logged([sys.executable, "-c", program], log)
    assert resolve_run(log, code).cause == cause, log.read_text()


def test_what_was_skipped_before_training(tmp_path: Path) -> None:
    """A file that was skipped before the first step may be the reason of the failure behind it."""
    log = tmp_path / "output.log"
    log.write_text(
        "PIL.UnidentifiedImageError: cannot identify image file '/data/a.png', skipped\n0 samples\n"
    )
    assert resolve_run(log, 1).cause == "data"
