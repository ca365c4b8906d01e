"""Redaction: nothing that leaves the machine carries a secret that its form or name gives away."""

from gpualert_common.redact.redactor import Redactor
from gpualert_common.redact.secret_checks import check_secrets
from gpualert_common.redact.secret_kinds import (
    SecretKind,
    SecretPattern,
    load_secrets,
    secrets_directory,
)

__all__ = [
    "Redactor",
    "SecretKind",
    "SecretPattern",
    "check_secrets",
    "load_secrets",
    "secrets_directory",
]
