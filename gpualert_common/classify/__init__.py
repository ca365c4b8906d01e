"""Rules and their matching: from a log and an exit status to a cause."""

from gpualert_common.classify.log_reading import LogReading
from gpualert_common.classify.observations import Observation
from gpualert_common.classify.resolution import Resolution, resolve
from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.classify.rules import Rule, RulePattern, RuleSet
from gpualert_common.classify.scanner import CHUNK_BYTES, Scanner, compile_ahead, scan_file
from gpualert_common.classify.tracebacks.traceback import Frame, Traceback
from gpualert_common.rule_files import rules_directory

__all__ = [
    "CHUNK_BYTES",
    "Frame",
    "LogReading",
    "Observation",
    "Resolution",
    "Rule",
    "RulePattern",
    "RuleSet",
    "Scanner",
    "Traceback",
    "compile_ahead",
    "load_rules",
    "resolve",
    "rules_directory",
    "scan_file",
]
