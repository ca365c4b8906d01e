"""Masking: what is masked, what is left alone, and that it is done once and for all."""

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
from gpualert_common.redact.samples import expand

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
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 64, "é", "\ud800", "AKIA"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=30).map("".join)


@pytest.mark.parametrize("line", INNOCENT, ids=range(1, len(INNOCENT) + 1))
def test_what_training_writes_is_left_alone(line: str) -> None:
    """A line of a training log that holds no secret stays as it is, digests and commits too."""
    assert Redactor().text(line) == line


def test_whole_innocent_log_is_the_same_object() -> None:
    """Text without a secret comes back as the object that went in, and nothing is counted."""
    redactor = Redactor()
    data = "\n".join(INNOCENT).encode()
    assert redactor.data(data) is data
    assert redactor.found == {}


def test_secrets_are_counted_by_kind() -> None:
    """The counter adds up over calls, one for each mask."""
    redactor = Redactor()
    redactor.text(f"{TOKEN} {TOKEN} password=hunter2")
    redactor.data(b"password=hunter2")
    assert redactor.found == {"github": 2, "credential": 2}


def test_the_most_telling_kind_names_the_mask() -> None:
    """A secret that several kinds see is masked once, by the name of its form."""
    assert Redactor().text(f"GITHUB_TOKEN={TOKEN}") == "GITHUB_TOKEN=[redacted github]"


def test_overlapping_secrets_are_masked_together() -> None:
    """Where one secret lies in another, the larger one goes as a whole."""
    masked = Redactor().text(f"password='pre {TOKEN} post'")
    assert masked == "password='[redacted github]'"


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_once_is_enough(text: str) -> None:
    """Whatever the text, masked text stays as it is, and a second look finds nothing."""
    masked = Redactor(["hunter2"]).text(text)
    second = Redactor(["hunter2"])
    assert second.text(masked) == masked
    assert second.found == {}


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_taken(data: bytes) -> None:
    """Bytes of no encoding raise nothing, and the second look finds nothing."""
    masked = Redactor().data(data)
    assert Redactor().data(masked) == masked


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_growth_is_bounded(text: str) -> None:
    """The text grows by no more than a mask for each secret."""
    redactor = Redactor(["hunter2"])
    masked = redactor.data(text.encode("utf-8", "surrogatepass"))
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
    """A secret drawn anew is masked between any lines, and behind the text of a line."""
    sample = expand(hit, random.Random(seed))
    texts = [f"{before}\n{sample.text}\n{after}", f"{before} {sample.text}\n{after}"]
    for text in texts[:1] if pattern == "netrc_line" else texts:
        masked = Redactor().text(text)
        assert masked != text
        for secret in sample.secrets:
            assert len(secret) < 6 or secret not in masked


@pytest.mark.parametrize("colour", ["\x1b[1;32m", "\x1b[38;5;10m", "\x1b(B\x1b[m"])
def test_colours_hide_nothing(colour: str) -> None:
    """Escape sequences in a name, in a token or at its ends do not save a secret."""
    off = "\x1b[0m"
    redactor = Redactor()
    name = redactor.text(f"{colour}db_password{off}{colour}={off}{colour}hunter2{off} ok")
    token = redactor.text(f"{colour}{TOKEN[:9]}{off}{TOKEN[9:]}{off} ok")
    assert "hunter2" not in name
    assert TOKEN[9:] not in token
    assert (name[-3:], token[-3:]) == (" ok", " ok")


def test_colours_stay_where_no_secret_is() -> None:
    """The sequences around a mask are kept."""
    masked = Redactor().text(f"\x1b[31mtoken {TOKEN}\x1b[0m end")
    assert masked == "\x1b[31mtoken [redacted github]\x1b[0m end"


def test_secret_in_a_terminal_link() -> None:
    """A link that a terminal does not show is looked through."""
    masked = Redactor().text("\x1b]8;;https://user:hunter2@example.org\x1b\\here\x1b]8;;\x1b\\")
    assert masked == (
        "\x1b]8;;https://user:[redacted url_password]@example.org\x1b\\here\x1b]8;;\x1b\\"
    )


KEY_LINES = ["-----BEGIN RSA PRIVATE KEY-----", *["M1Ie" * 16] * 25, "Zz09" * 5 + "==",
             "-----END RSA PRIVATE KEY-----"]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", "\n[rank12]: ", "\n> "])
@pytest.mark.parametrize("cut", [slice(None), slice(0, 9), slice(9, None)])
def test_private_key_whole_or_cut(end: str, cut: slice) -> None:
    """No line of a private key stays, also when its beginning or its end is not in the text."""
    masked = Redactor().text("loss 0.5\n" + end.join(KEY_LINES[cut]) + "\nstep 2")
    assert "M1Ie" not in masked
    assert "Zz09" not in masked
    assert masked.startswith("loss 0.5\n")
    assert masked.endswith("\nstep 2")


def test_certificate_stays() -> None:
    """What is public in PEM is no secret."""
    text = "\n".join(KEY_LINES).replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert Redactor().text(text) == text


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
    """A known secret is masked as it is, in JSON and in addresses."""
    masked = Redactor([KNOWN]).text(f"x{form}y")
    assert masked in ("x[redacted known]y", 'x"[redacted known]"y', 'x"\\"[redacted known]\\""y')


@pytest.mark.parametrize("before", ["", "u:", "us:", "user:"])
def test_known_secret_in_base64(before: str) -> None:
    """A known secret that base64 hides, is masked but for the letters that it shares."""
    hidden = base64.b64encode(f"{before}{KNOWN}:more".encode()).decode()
    masked = Redactor([KNOWN]).text(f"sent {hidden} off")
    assert "[redacted known]" in masked
    assert base64.b64encode(KNOWN.encode()).decode()[4:-8] not in masked


def test_short_known_secret_is_ignored() -> None:
    """A literal of fewer than six characters would mask innocent text, so it is not looked for."""
    assert Redactor(["loss", "", " a "]).text("loss 0.5") == "loss 0.5"


def test_known_secret_that_a_mask_contains() -> None:
    """A known secret that is a word of the masks does no harm to them."""
    masked = Redactor(["redacted", "password"]).text("redacted https://u:hunter2@h.test password")
    assert masked == ("[redacted known] https://u:[redacted url_password]@h.test [redacted known]")


def test_mask_that_is_made_up_hides_nothing() -> None:
    """What only looks like a mask is text."""
    masked = Redactor(["hunter2"]).text(f"[redacted hunter2] [redacted {TOKEN}]")
    assert masked == "[redacted [redacted known]] [redacted [redacted github]]"


def test_file_name_that_is_no_text() -> None:
    """Lone surrogates, with which Python spells bytes that are not UTF-8, are kept."""
    assert Redactor().text(f"run\udcff {TOKEN} \ud800") == "run\udcff [redacted github] \ud800"


def test_passwords_with_letters_beyond_ascii() -> None:
    """A password goes whole, whatever its alphabet and encoding."""
    assert Redactor().text("password=pässwörd ok") == "password=[redacted credential] ok"
    latin = "password=pässwörd ok".encode("latin-1")
    assert Redactor().data(latin) == b"password=[redacted credential] ok"


def test_secret_at_the_end_of_ten_megabytes_in_one_line() -> None:
    """Neither size nor the absence of line ends hides anything."""
    data = b"step 1 loss 0.5 " * 600_000 + TOKEN.encode()
    assert Redactor().data(data).endswith(b" [redacted github]")


@pytest.mark.parametrize("piece", [b"A", b"\0", b"\n", b"eyJ", b"\x1b[", b"\x1b]", b"\xff", b"://"])
def test_hostile_megabytes(piece: bytes) -> None:
    """Text that is nothing but the beginning of a secret comes back as it is."""
    data = piece * (1_000_000 // len(piece))
    assert Redactor().data(data) == data


def test_broken_rule_file_is_named_and_left_out(tmp_path: Path) -> None:
    """One bad file stops nothing: it is named, and the other kinds are still masked."""
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
    assert redactor.text(f"{TOKEN}") == "[redacted github]"
    assert {error.file for error in redactor.broken} == {"aws.toml", "jwt.toml", "slack.toml"}


def test_no_rules_at_all(tmp_path: Path) -> None:
    """Without a single kind known secrets are masked still, and the place is named."""
    redactor = Redactor(["hunter2"], directory=tmp_path / "absent")
    assert redactor.text("is hunter2") == "is [redacted known]"
    assert [error.file for error in redactor.broken] == [str(tmp_path / "absent")]


def test_own_rules_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Own rules of causes leave the shipped kinds of secrets in force; own kinds replace them."""
    monkeypatch.setenv("GPUALERT_RULES_DIR", str(tmp_path))
    assert Redactor().text(TOKEN) == "[redacted github]"
    (tmp_path / "secrets").mkdir()
    text = (Path(__file__).parents[2] / "rules" / "secrets" / "jwt.toml").read_text()
    (tmp_path / "secrets" / "jwt.toml").write_text(text)
    assert Redactor().text(TOKEN) == TOKEN
