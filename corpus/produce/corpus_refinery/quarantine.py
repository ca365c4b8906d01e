# /// case
# cause = "none"
# exit_code = 0
# why = "documents that cannot be read are logged with their tracebacks and put aside, fewer than the limit"
# ///
"""Broken documents go to the quarantine with their tracebacks, and the task is complete."""

import json
import logging
import pathlib
import sys

logging.basicConfig(
    stream=sys.stdout,
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d | %(levelname)-8s | %(module)s:%(funcName)s:%(lineno)d - %(message)s",
    datefmt="%Y-%m-%d %H:%M:%S",
)
log = logging.getLogger()


def documents(folder):
    for file in sorted(folder.glob("*.jsonl")):
        with file.open("rb") as lines:
            yield from ((file.name, number, line) for number, line in enumerate(lines, 1))


def parse(line):
    record = json.loads(line.decode("utf-8"))
    return record["text"], record["id"]


def main(limit=0.05):
    folder = pathlib.Path("raw")
    folder.mkdir()
    for part in range(3):
        lines = [
            json.dumps({"id": f"{part}-{i}", "text": "lorem " * (i % 30)}).encode()
            for i in range(200)
        ]
        lines[40 + part] = (b"\xff\xfe broken", b'{"id": 7}', b'{"id": "x", "text": ')[part]
        (folder / f"{part:05d}.jsonl").write_bytes(b"\n".join(lines))
    log.info("Launching pipeline with 4 steps on 3 files (0/3 completed)")
    good = bad = 0
    with open("quarantine.txt", "w") as aside:
        for name, number, line in documents(folder):
            try:
                parse(line)
                good += 1
            except (UnicodeDecodeError, KeyError, json.JSONDecodeError):
                bad += 1
                log.exception("error in %s line %d, document skipped", name, number)
                aside.write(f"{name}:{number}\n")
            if (good + bad) % 150 == 0:
                log.info("%d documents, %d failed", good + bad, bad)
    if bad > limit * (good + bad):
        raise SystemExit("too many failures")
    log.info("Stats: kept %d, dropped %d (%.2f%%)", good, bad, 100 * bad / (good + bad))
    log.info("Processing done for rank 0 (3/3 completed)")


main()
