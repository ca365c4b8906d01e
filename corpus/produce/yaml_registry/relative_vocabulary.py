# /// case
# cause = "file_not_found"
# exit_code = 2
# why = "the builder wraps the missing file in an error of its own, without the chain"
# ///
"""A path in the YAML file is relative to the wrong folder; the builder turns the error into one of its own."""

import logging
import os
import sys
from pathlib import Path

import torch
import yaml

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(levelname)s] %(message)s")


class BuildError(Exception):
    """A component could not be made from its section."""


class Registry:
    def __init__(self):
        self.known = {}

    def add(self, function):
        self.known[function.__name__] = function
        return function

    def build(self, section, root):
        section = dict(section)
        kind = section.pop("kind")
        try:
            return self.known[kind](root=root, **section)
        except OSError as error:
            raise BuildError(f"cannot build '{kind}' from {section}: {error}") from None


PARTS = Registry()


@PARTS.add
def word_list(root, path, lowercase):
    words = (root / path).read_text().split()
    return {(w.lower() if lowercase else w): i for i, w in enumerate(words)}


@PARTS.add
def bag(root, width):
    return torch.nn.EmbeddingBag(1000, width)


def setup():
    Path("configs/sweeps").mkdir(parents=True)
    Path("configs/assets").mkdir()
    Path("configs/assets/vocab.txt").write_text("loss error fault the a of")
    Path("configs/sweeps/small.yaml").write_text(
        "encoder: {kind: bag, width: 16}\nvocabulary: {kind: word_list, path: assets/vocab.txt, lowercase: true}\n"
    )
    return Path("configs/sweeps/small.yaml")


def main():
    path = setup()
    config = yaml.safe_load(path.read_text())
    parts = {}
    for name, section in config.items():
        logging.info("building %s (%s)", name, section["kind"])
        parts[name] = PARTS.build(section, root=path.parent)
    logging.info("%d parts", len(parts))


try:
    main()
except BuildError as error:
    logging.error("%s", error)
    logging.error("nothing was trained (cwd %s)", os.path.basename(os.getcwd()))
    sys.exit(2)
