"""From a cause and its grounds to a verdict that people and programs can read."""

from gpualert_common.diagnose.serial import from_json, to_json
from gpualert_common.diagnose.verdict import conclude

__all__ = ["conclude", "from_json", "to_json"]
