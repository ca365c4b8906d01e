# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "one of the exported files is not in UTF-8"
# ///
"""One export of the forum is in another encoding, found by a process of the pool."""

import json
import logging
from multiprocessing import Pool
from pathlib import Path

from tqdm import tqdm

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(processName)s %(levelname)s %(message)s"
)
log = logging.getLogger("clean")
posts = ["Wie starte ich den Export?", "Das Modell lernt nichts mehr.", "Danke, läuft!", "ok"]


def write_exports(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        encoding = "cp1252" if number == 17 else "utf-8"
        (folder / f"forum-{number:03d}.txt").write_text("\n".join(posts * 20), encoding=encoding)


def clean(path: Path) -> tuple[str, int, int]:
    kept = dropped = 0
    with open(path, encoding="utf-8") as source, open(path.with_suffix(".jsonl"), "w") as out:
        for line in source:
            if len(line) < 5:
                dropped += 1
                continue
            out.write(json.dumps({"text": line.strip()}) + "\n")
            kept += 1
    return path.name, kept, dropped


if __name__ == "__main__":
    folder = Path("exports")
    write_exports(folder, 24)
    files = sorted(folder.glob("*.txt"))
    log.info("%d files, 2 processes", len(files))
    total = 0
    with Pool(2) as pool:
        for name, kept, dropped in tqdm(pool.imap_unordered(clean, files), total=len(files)):
            total += kept
            if dropped > 10:
                log.warning("%s: %d lines dropped as too short", name, dropped)
    log.info("%d posts", total)
