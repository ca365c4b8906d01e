"""Masking: secrets are masked once, and other text is unchanged."""

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.redact import Redactor, load_secrets, secrets_directory
from gpualert_common.redact.compiled_secrets import Finder
from gpualert_common.redact.samples import expand_sample
from gpualert_common.redact.secret_kinds import SecretPattern

TOKEN = "ghp_" + "a1B2" * 9
INNOCENT = (Path(__file__).parent / "redact" / "innocent.log").read_text().splitlines()
KINDS = load_secrets(secrets_directory(), samples=True)
HITS = [
    (pattern.name, hit)
    for kind in KINDS
    for pattern in kind.patterns
    for hit in kind.samples[pattern.name].hits
]
FRAGMENTS = [
    *("password", "api_key", "token", "secret", "--token", "Bearer", "Authorization", "cookie"),
    *(
        "=",
        ":",
        ": ",
        " = ",
        '"',
        "'",
        '\\"',
        "\\n",
        "\\",
        "\n",
        "\r",
        " ",
        ",",
        ";",
        "&",
        "?",
        "@",
    ),
    *("://", "user:", "hunter2", "None", "${X}", "{", "}", "]", "[redacted ", "[redacted github]"),
    *(
        "[redacted credential]",
        "eyJhbGciOiJIUzI1NiJ9.",
        TOKEN,
        "\x1b[31m",
        "\x1b]8;;",
        "\x07",
        "\0",
        "\b",
        "\u200b",
        "\ufeff",
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 64, "é", "\ud800", "AKIA"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=30).map("".join)


@pytest.mark.parametrize("line", INNOCENT, ids=range(1, len(INNOCENT) + 1))
def test_usual_output_is_unchanged(line: str) -> None:
    """A log line without a secret is unchanged, including digests and commits."""
    assert Redactor().mask_text(line) == line


def test_whole_innocent_log_is_the_same_object() -> None:
    """Text without a secret is returned as the same object, and nothing is counted."""
    redactor = Redactor()
    data = "\n".join(INNOCENT).encode()
    assert redactor.mask_bytes(data) is data
    assert redactor.found == {}


def test_secrets_are_counted_by_kind() -> None:
    """The counter counts the masks of all calls."""
    redactor = Redactor()
    redactor.mask_text(f"{TOKEN} {TOKEN} password=hunter2")
    redactor.mask_bytes(b"password=hunter2")
    assert redactor.found == {"github": 2, "credential": 2}


def test_mask_of_the_most_specific_kind() -> None:
    """A secret that several kinds match is masked once, with the most specific kind."""
    assert Redactor().mask_text(f"GITHUB_TOKEN={TOKEN}") == "GITHUB_TOKEN=[redacted github]"


def test_overlapping_secrets_are_masked_together() -> None:
    """A secret within another is masked together with it."""
    masked = Redactor().mask_text(f"password='pre {TOKEN} post'")
    assert masked == "password='[redacted github]'"


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_once_is_enough(text: str) -> None:
    """Masking a masked text again does not change it, for any text."""
    masked = Redactor(["hunter2"]).mask_text(text)
    second = Redactor(["hunter2"])
    assert second.mask_text(masked) == masked
    assert second.found == {}


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_taken(data: bytes) -> None:
    """Invalid UTF-8 raises nothing, and masking again does not change it."""
    masked = Redactor().mask_bytes(data)
    assert Redactor().mask_bytes(masked) == masked


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_growth_is_bounded(text: str) -> None:
    """The text grows by at most one mask for each secret."""
    redactor = Redactor(["hunter2"])
    masked = redactor.mask_bytes(text.encode("utf-8", "surrogatepass"))
    longest = max(len(kind.id) for kind in KINDS) + len("[redacted ]")
    room = longest * redactor.found.total()
    assert len(masked) <= len(text.encode("utf-8", "surrogatepass")) + room


@pytest.mark.parametrize(
    ("pattern", "hit"), HITS, ids=[f"{name}-{number}" for number, (name, _) in enumerate(HITS)]
)
@given(
    seed=st.integers(0, 2**32), before=st.sampled_from(INNOCENT), after=st.sampled_from(INNOCENT)
)
@settings(max_examples=12, deadline=None)
def test_planted_secret_does_not_survive(
    pattern: str, hit: str, seed: int, before: str, after: str
) -> None:
    """A random secret is masked between any lines, and after other text on a line."""
    sample = expand_sample(hit, random.Random(seed))
    texts = [f"{before}\n{sample.text}\n{after}", f"{before} {sample.text}\n{after}"]
    for text in texts[:1] if pattern == "netrc_line" else texts:
        masked = Redactor().mask_text(text)
        assert masked != text
        for secret in sample.secrets:
            assert len(secret) < 6 or secret not in masked


@pytest.mark.parametrize(
    ("expression", "unless", "text", "secrets"),
    [
        (r"key (?P<secret>\w+)", "key key", b"key key hunter2", [b"hunter2"]),
        (r" key (?P<secret>\w+)", "key key", b" key key hunter2", [b"hunter2"]),
        (r"key (?P<secret>\w+)", "x$", b"key x", []),
        (r"(?P<secret>y*)", None, b"abc", []),
        (r"(?P<secret>y*)", ".*", b"abyc", []),
        (r"key(?: (?P<secret>y))?", "key", b"key key", []),
    ],
)
def test_search_goes_on(
    expression: str, unless: str | None, text: bytes, secrets: list[bytes]
) -> None:
    """The search goes on in the value of an exempt match, and ends for any expression."""
    spans = Finder(SecretPattern("any", expression, unless), "any", 1).find_spans(text)
    assert [text[span.start : span.end] for span in spans] == secrets


@pytest.mark.parametrize("colour", ["\x1b[1;32m", "\x1b[38;5;10m", "\x1b(B\x1b[m"])
def test_colours_hide_nothing(colour: str) -> None:
    """A secret is masked even with escape sequences in its name, in it, or around it."""
    off = "\x1b[0m"
    redactor = Redactor()
    name = redactor.mask_text(f"{colour}db_password{off}{colour}={off}{colour}hunter2{off} ok")
    token = redactor.mask_text(f"{colour}{TOKEN[:9]}{off}{TOKEN[9:]}{off} ok")
    assert "hunter2" not in name
    assert TOKEN[9:] not in token
    assert (name[-3:], token[-3:]) == (" ok", " ok")


HIDDEN = {
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "zero-width non-joiner": "\u200c",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "direction mark": "\u200f",
    "NUL": "\0",
    "NULs": "\0" * 9,
    "backspace": "\b",
    "erased character": "x\b",
    "colour": "\x1b[31m",
    "colour and NUL": "\x1b[31m\0",
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_invisible_characters_hide_nothing(hidden: str) -> None:
    """A secret is masked with characters in it, or in its name, that a reader does not see."""
    for at in range(1, len(TOKEN)):
        masked = Redactor().mask_text(f"é {TOKEN[:at]}{hidden}{TOKEN[at:]} ok {hidden} é")
        assert masked == f"é [redacted github] ok {hidden} é"
    split = hidden.join(TOKEN)
    assert Redactor().mask_text(f"a{hidden} {split} b") == f"a{hidden} [redacted github] b"
    name = f"pass{hidden}word"
    assert Redactor().mask_text(f"{name}=hunter2 b") == f"{name}=[redacted credential] b"
    assert Redactor(["open sesame"]).mask_text(f"open{hidden} sesame") == "[redacted known]"


def test_colours_stay_where_no_secret_is() -> None:
    """Escape sequences around a mask are kept."""
    masked = Redactor().mask_text(f"\x1b[31mtoken {TOKEN}\x1b[0m end")
    assert masked == "\x1b[31mtoken [redacted github]\x1b[0m end"


def test_secret_in_a_terminal_link() -> None:
    """A secret in the invisible target of a terminal link is masked."""
    masked = Redactor().mask_text(
        "\x1b]8;;https://user:hunter2@example.org\x1b\\here\x1b]8;;\x1b\\"
    )
    assert masked == (
        "\x1b]8;;https://user:[redacted url_password]@example.org\x1b\\here\x1b]8;;\x1b\\"
    )


NAMED = [
    *("COHERE_API_KEY", "MISTRAL_API_KEY", "CLOUDFLARE_API_TOKEN", "VAST_API_KEY", "COMET_API_KEY"),
    *("CLEARML_API_SECRET_KEY", "MLFLOW_TRACKING_PASSWORD", "DD_API_KEY", "DD_APP_KEY"),
    *("JENKINS_API_TOKEN", "TRAVIS_TOKEN", "DRONE_TOKEN", "CODECOV_TOKEN", "SNYK_TOKEN"),
    *("SONAR_TOKEN", "AIRFLOW__CORE__FERNET_KEY", "TWILIO_AUTH_TOKEN", "MAILGUN_API_KEY"),
    *("PAGERDUTY_INTEGRATION_KEY", "OPSGENIE_API_KEY", "ROBOFLOW_API_KEY", "FIREWORKS_API_KEY"),
    *("CLICKHOUSE_PASSWORD", "SNOWFLAKE_PASSWORD", "IBMCLOUD_API_KEY", "TENCENTCLOUD_SECRET_KEY"),
    *("LAMBDA_API_KEY", "KAGGLE_KEY", "CIVITAI_API_TOKEN", "BITBUCKET_CLIENT_SECRET"),
    *("SUMOLOGIC_ACCESS_KEY", "NUGET_API_KEY", "RUBYGEMS_API_KEY", "OCI_CLI_PASSPHRASE"),
]


@pytest.mark.parametrize("name", NAMED)
def test_tokens_without_a_form(name: str) -> None:
    """A token that has no form of its own is masked where its usual name marks it."""
    value = expand_sample("{{hex:31}}7").text
    for line in (f"{name}={value}", f'export {name}="{value}"', f"  {name.lower()}: {value}"):
        assert Redactor().mask_text(line) == line.replace(value, "[redacted credential]")


KEY_LINES = ["-----BEGIN RSA PRIVATE KEY-----", *["M1Ie" * 16] * 25, "Zz09" * 5 + "==",
             "-----END RSA PRIVATE KEY-----"]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", "\n[rank12]: ", "\n> "])
@pytest.mark.parametrize("cut", [slice(None), slice(0, 9), slice(9, None)])
def test_private_key_whole_or_cut(end: str, cut: slice) -> None:
    """Every line of a private key is masked, even if its first or last line is missing."""
    masked = Redactor().mask_text("loss 0.5\n" + end.join(KEY_LINES[cut]) + "\nstep 2")
    assert "M1Ie" not in masked
    assert "Zz09" not in masked
    assert masked.startswith("loss 0.5\n")
    assert masked.endswith("\nstep 2")


def test_certificate_is_not_masked() -> None:
    """Public PEM blocks are not masked."""
    text = "\n".join(KEY_LINES).replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert Redactor().mask_text(text) == text


KNOWN = 'tr/u+st "nö 1'
FORMS = {
    "plain": KNOWN,
    "json": json.dumps(KNOWN),
    "json as UTF-8": json.dumps(KNOWN, ensure_ascii=False),
    "json in json": json.dumps(json.dumps(KNOWN)),
    "percent": quote(KNOWN, safe=""),
    "percent in lower case": re.sub("%..", lambda found: found[0].lower(), quote(KNOWN, safe="")),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_known_secret_in_every_form(form: str) -> None:
    """A known secret is masked verbatim, in JSON and in URLs."""
    masked = Redactor([KNOWN]).mask_text(f"x{form}y")
    assert masked in ("x[redacted known]y", 'x"[redacted known]"y', 'x"\\"[redacted known]\\""y')


@pytest.mark.parametrize("before", ["", "u:", "us:", "user:"])
def test_known_secret_in_base64(before: str) -> None:
    """A known secret in base64 is masked except for characters shared with its neighbours."""
    hidden = base64.b64encode(f"{before}{KNOWN}:more".encode()).decode()
    masked = Redactor([KNOWN]).mask_text(f"sent {hidden} off")
    assert "[redacted known]" in masked
    assert base64.b64encode(KNOWN.encode()).decode()[4:-8] not in masked


def test_short_known_secret_is_ignored() -> None:
    """A literal of fewer than six characters is ignored: it would mask unrelated text."""
    assert Redactor(["loss", "", " a "]).mask_text("loss 0.5") == "loss 0.5"


def test_known_secret_that_a_mask_contains() -> None:
    """A known secret that occurs in masks does not damage them."""
    masked = Redactor(["redacted", "password"]).mask_text(
        "redacted https://u:hunter2@h.test password"
    )
    assert masked == ("[redacted known] https://u:[redacted url_password]@h.test [redacted known]")


def test_text_that_resembles_a_mask() -> None:
    """Text that only looks like a mask is masked like any other text."""
    masked = Redactor(["hunter2"]).mask_text(f"[redacted hunter2] [redacted {TOKEN}]")
    assert masked == "[redacted [redacted known]] [redacted [redacted github]]"


def test_file_name_that_is_no_text() -> None:
    """Lone surrogates, which stand for invalid UTF-8 in Python, are kept."""
    assert Redactor().mask_text(f"run\udcff {TOKEN} \ud800") == "run\udcff [redacted github] \ud800"


def test_passwords_with_letters_beyond_ascii() -> None:
    """A password is masked as a whole, in any alphabet and encoding."""
    assert Redactor().mask_text("password=pässwörd ok") == "password=[redacted credential] ok"
    latin = "password=pässwörd ok".encode("latin-1")
    assert Redactor().mask_bytes(latin) == b"password=[redacted credential] ok"


def test_secret_at_the_end_of_ten_megabytes_in_one_line() -> None:
    """Secrets are found in large texts and in texts without line ends."""
    data = b"step 1 loss 0.5 " * 600_000 + TOKEN.encode()
    assert Redactor().mask_bytes(data).endswith(b" [redacted github]")


@pytest.mark.parametrize("piece", [b"A", b"\0", b"\n", b"eyJ", b"\x1b[", b"\x1b]", b"\xff", b"://"])
def test_hostile_megabytes(piece: bytes) -> None:
    """Text with only the start of a secret is unchanged."""
    data = piece * (1_000_000 // len(piece))
    assert Redactor().mask_bytes(data) == data


def test_broken_rule_file_is_named_and_left_out(tmp_path: Path) -> None:
    """An invalid file is listed, and the other kinds are still masked."""
    for path in secrets_directory().glob("git*.toml"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "aws.toml").write_text("id = 'aws'\n")
    (tmp_path / "gitlab.toml").write_text(
        (tmp_path / "gitlab.toml").read_text().replace("{20,}", "{20")
    )
    (tmp_path / "jwt.toml").write_bytes(b"\xff")
    (tmp_path / "slack.toml").write_text(
        (secrets_directory() / "slack.toml").read_text().replace("A-Za-z0-9-]", "A-Za-z0-9-")
    )
    redactor = Redactor(directory=tmp_path)
    assert redactor.mask_text(f"{TOKEN}") == "[redacted github]"
    assert {error.file for error in redactor.broken} == {"aws.toml", "jwt.toml", "slack.toml"}


def test_no_rules_at_all(tmp_path: Path) -> None:
    """Without any kind, known secrets are still masked, and the directory is listed."""
    redactor = Redactor(["hunter2"], directory=tmp_path / "absent")
    assert redactor.mask_text("is hunter2") == "is [redacted known]"
    assert [error.file for error in redactor.broken] == [str(tmp_path / "absent")]


def test_own_rules_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Custom rules of causes keep the shipped kinds of secrets; custom kinds replace them."""
    monkeypatch.setenv("GPUALERT_RULES_DIR", str(tmp_path))
    assert Redactor().mask_text(TOKEN) == "[redacted github]"
    (tmp_path / "secrets").mkdir()
    text = (Path(__file__).parents[2] / "rules" / "secrets" / "jwt.toml").read_text()
    (tmp_path / "secrets" / "jwt.toml").write_text(text)
    assert Redactor().mask_text(TOKEN) == TOKEN
