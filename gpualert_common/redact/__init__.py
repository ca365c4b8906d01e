"""Redaction: nothing that leaves the machine carries a secret that its form or name gives away."""

from gpualert_common.redact.check import check_secrets
from gpualert_common.redact.kinds import Kind, Pattern, load_secrets, secrets_directory
from gpualert_common.redact.redactor import Redactor

__all__ = [
    "Kind",
    "Pattern",
    "Redactor",
    "check_secrets",
    "load_secrets",
    "secrets_directory",
]
