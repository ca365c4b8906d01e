"""Page of the redaction: all kinds of secrets, with sample lines after masking."""

from __future__ import annotations

from docs.pages.markdown import ROOT, format_code, format_list
from gpualert_common.redact.samples import expand_sample
from gpualert_common.redact.secret_kinds import SecretKind, load_secrets

HEAD = """\
# Redaction of secrets

Made from `rules/secrets/*.toml` by `make docs`; do not edit. GPUAlert masks secrets in everything
that leaves the machine: message bodies, attachments, excerpts and file names. The log on the disk
is not changed, and neither are the lines that an engine's own log shows. A mask reads
`[redacted KIND]`; the text around the secret (name, host, user) stays. Secrets that gpualert knows,
such as those of channels, are masked wherever their text occurs, as `[redacted known]`, also in
JSON, in URLs and in base64. Escape sequences of a terminal, backspaces, NULs and characters without
width do not hide a secret. [Secret scanners](secret-scanners.md) know more kinds; that page says
which are left out, and why.

A text that is too long is masked before it is cut, or cut after a whole word, so that no part of a
secret is left at the cut.

These are not masked: a secret without a known form and without a name ("the password is hunter2"),
the second half of a token whose beginning was cut off, the part of an unquoted password after a
blank, a value on the line below its name, a word of letters in columns without lines, a private key
with other lines in between, half of a private key without its first line and its last, and text in
UTF-16 or in archives. Redaction lowers a risk; still, do not print secrets.

| mask | secret |
|---|---|
"""


def make_redaction_page() -> str:
    """Return the page of all kinds of secrets."""
    kinds = sorted(load_secrets(ROOT / "rules" / "secrets", samples=True), key=lambda kind: kind.id)
    table = "".join(f"| [{kind.id}](#{kind.id}) | {kind.title} |\n" for kind in kinds)
    return HEAD + table + "\n" + "\n".join(_kind_section(kind) for kind in kinds)


def _kind_section(kind: SecretKind) -> str:
    """Return the section of one kind of secret: sample lines after masking, and sources."""
    masked = (
        expand_sample(kind.samples[pattern.name].hits[0]).mask(kind.id) for pattern in kind.patterns
    )
    lines = format_list(format_code(line) for line in masked)
    sources = f"Sources: {'; '.join(kind.sources)}. Since {kind.since}."
    return f"## {kind.id}\n\n{kind.title}. Masked lines:\n\n{lines}\n\n{sources}\n"
