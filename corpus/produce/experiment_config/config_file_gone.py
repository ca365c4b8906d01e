# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "python {program} --config configs/exp/base_v2.yml"
# ///
"""The configuration file named on the command line is not there."""

import argparse

import yaml


class Config(dict):
    @classmethod
    def from_file(cls, path):
        try:
            with open(path) as file:
                return cls(yaml.safe_load(file))
        except OSError as error:
            raise RuntimeError(f"failed to load config {path!r}") from error

    __getattr__ = dict.__getitem__


parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--local_rank", type=int, default=-1)
arguments, unknown = parser.parse_known_args()
print("Arguments:", arguments, "unknown:", unknown)
config = Config.from_file(arguments.config)
print(config.model)
