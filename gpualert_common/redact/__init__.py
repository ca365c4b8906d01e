"""Redaction of secrets in everything that leaves the machine."""

from gpualert_common.redact.redactor import Redactor
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
    "load_secrets",
    "secrets_directory",
]
