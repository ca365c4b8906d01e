"""Take the pictures of docs/images from real runs: ``make screenshots``, in two minutes.

A training runs for half a minute, saves a checkpoint, and is then resumed with other layers, which
fails.  Others succeed, diverge, and are in progress.  The report, the pages of ``gpualert web`` and
the output of the terminal are opened in Chromium.  Root is needed for a directory whose name is
not that of a temporary one.  The pictures of Prefect's pages are not made here.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from tests.browser import Browser, open_browser
from tests.supervised import until
from tests.web.web_server import start_server

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
HOME = Path("/srv/spirals")
PROGRAM = (sys.executable, "-m", "gpualert_common")
WIDTH = 1200
LARGEST_BYTES = 200_000
_COLOURS = 256
_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #12191d; }}
pre {{ margin: 0; padding: 22px 26px; color: #dde5e9;
       font: 15px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }}
b {{ color: #86d8a7; font-weight: 600; }}
</style><pre><b>$ {command}</b>
{output}</pre>"""


class Workplace:
    """A directory with the example training, and a state directory of its own."""

    def __init__(self, home: Path) -> None:
        self.folder = home
        shutil.copy2(ROOT / "examples" / "train_numpy.py", self.folder / "train.py")
        programs = home / ".bin"
        programs.mkdir()
        (programs / "python").symlink_to(sys.executable)
        self.env = os.environ | {
            "GPUALERT_STATE_DIR": str(home / ".gpualert"),
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join((str(ROOT), *filter(None, sys.path))),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }

    def call(self, *arguments: str) -> str:
        """Return the standard output of gpualert, whatever its exit status."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return done.stdout

    def train(self, name: str, *options: str, flags: Sequence[str] = ()) -> str:
        """Run the training to its end, or in the background; returns the output."""
        return self.call("run", "--name", name, *flags, "--", "python", "train.py", *options)


def run_trainings(place: Workplace) -> None:
    """Make the runs that the pictures show, the last of them in progress."""
    place.train("baseline", "--epochs", "60")
    place.train("high-rate", "--lr", "10")
    place.train("pretrained", "--resume", "no-such-file.npz")
    place.train("baseline", "--epochs", "60", "--seed", "1")
    script = (
        "python train.py --epochs 300 --epoch-seconds 0.1 && "
        "python train.py --resume checkpoint.npz --layers 2x64 48x64 64x3"
    )
    place.call("run", "--name", "finetune", "--", "bash", "-c", script)
    long = ("--epochs", "2000", "--epoch-seconds", "0.1", "--checkpoint", "long.npz")
    place.train("long", *long, flags=("--detach",))


@contextmanager
def settings_of(place: Workplace) -> Iterator[None]:
    """Give programs that this process starts the environment of the workplace."""
    before = dict(os.environ)
    os.environ.update(place.env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def take_pictures(place: Workplace, folder: Path) -> None:
    """Write all pictures into a folder."""
    report = folder / "report.html"
    place.call("report", "finetune", "-o", str(report))
    with settings_of(place), open_browser() as browser:
        for scheme in ("light", "dark"):
            browser.prefer(prefers_color_scheme=scheme)
            browser.open(report.as_uri(), WIDTH)
            browser.take_screenshot(folder / f"report-{scheme}.png", whole=False)
            browser.evaluate("document.querySelector('#timeline').scrollIntoView()")
            browser.take_screenshot(folder / f"timeline-{scheme}.png", whole=False)
        browser.prefer(prefers_color_scheme="light")
        _take_terminal(browser, place, folder / "show.png", "show", "finetune")
        _take_terminal(browser, place, folder / "runs.png", "runs")
        with start_server() as server:
            browser.open(server.url, WIDTH)
            _take_page(browser, folder / "web-runs.png")
            run_id = until(lambda: _find_live_run(place), "the run in progress")
            browser.open(f"http://{server.host}/runs/{run_id}", WIDTH)
            _take_page(browser, folder / "web-live.png")


def _find_live_run(place: Workplace) -> str:
    """Return the id of the run in progress once its log has some epochs; else ""."""
    run = max(Path(place.env["GPUALERT_STATE_DIR"], "runs").iterdir())
    log = "".join(path.read_text() for path in run.glob("*.log"))
    return run.name if log.count("epoch ") > 100 else ""


def _take_page(browser: Browser, picture: Path) -> None:
    """Take a picture of a page, without the place of a scroll bar and without an empty end."""
    browser.evaluate("document.documentElement.style.scrollbarGutter = 'auto'")
    browser.take_screenshot(picture, whole=False)
    end = browser.evaluate("return document.querySelector('main').getBoundingClientRect().bottom")
    image = Image.open(picture)
    image.crop((0, 0, image.width, min(image.height, int(end)))).save(picture)


def _take_terminal(browser: Browser, place: Workplace, picture: Path, *arguments: str) -> None:
    """Take a picture of a command and its output, as large as the text."""
    output = place.call(*arguments).rstrip()
    page = picture.with_suffix(".html")
    command = html.escape(" ".join(("gpualert", *arguments)))
    page.write_text(_TERMINAL.format(command=command, output=html.escape(output)))
    browser.open(page.as_uri(), WIDTH)
    browser.take_screenshot(picture)
    height = browser.evaluate("return document.querySelector('pre').offsetHeight")
    Image.open(picture).crop((0, 0, WIDTH, height)).save(picture)


def store_picture(picture: Path) -> int:
    """Store a picture in docs/images, with few colours; returns its size in bytes."""
    target = IMAGES / picture.name
    image = Image.open(picture).convert("RGB")
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    return target.stat().st_size


def main() -> int:
    """Take all pictures, and print the size of each."""
    HOME.mkdir()
    place = Workplace(HOME)
    try:
        run_trainings(place)
        with tempfile.TemporaryDirectory() as folder:
            take_pictures(place, Path(folder))
            pictures = sorted(Path(folder).glob("*.png"))
            sizes = {picture.name: store_picture(picture) for picture in pictures}
    finally:
        place.call("stop", "long")
        until(lambda: "running" not in place.call("runs"), "the end of the run")
        shutil.rmtree(HOME)
    for name, size in sizes.items():
        print(f"docs/images/{name}: {size:,} bytes")
    return 1 if max(sizes.values()) > LARGEST_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
