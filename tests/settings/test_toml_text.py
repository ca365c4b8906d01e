"""Dots in TOML text: those of one key are limited, those elsewhere are not."""

from __future__ import annotations

import pytest

from gpualert_common.toml_text import parse_toml

MANY = 60_000
"""The parser would take many seconds for a key of so many parts."""

PLAIN = {
    "comment": (f"# {'.' * 200}\nx = 1", 1),
    "comment after a value": (f"x = 1 # {'a.' * 200}", 1),
    "string": (f'x = "{"." * 200}"', "." * 200),
    "string of several lines": (f'x = """\n{"." * 200}\n"""', "." * 200 + "\n"),
    "literal of several lines": (f"x = '''\n{'.' * 200}\n'''", "." * 200 + "\n"),
    "string that ends with quotes": (f"x = '''a'''''\n# {'.' * 200}", "a''"),
    "escaped quote": (f'x = "\\"" # {"." * 200}', '"'),
    "numbers": (f"x = [{'0.5, ' * 200}]", [0.5] * 200),
}


@pytest.mark.parametrize(("text", "value"), PLAIN.values(), ids=PLAIN.keys())
def test_dots_of_no_key(text: str, value: object) -> None:
    """Dots in comments, strings and numbers are plain text."""
    assert parse_toml(text.encode()) == {"x": value}


KEYS = {
    "key": f"{'a.' * MANY}a = 1",
    "key with blanks": f"{'a . ' * MANY}a = 1",
    "quoted key": '"=".' * MANY + "a = 1",
    "quoted key with a line separator": '"\u2028".' * MANY + "a = 1",
    "table": f"[{'a.' * MANY}a]",
    "in a table of one line": f"x = {{{'a.' * MANY}a = 1}}",
    "second in a table of one line": f"x = {{y = 1, {'a.' * MANY}a = 1}}",
    "after a string that ends with quotes": f'x = """a"""""\n{"a." * MANY}a = 1',
    "after an escaped quote": f'x = "\\""\n{"a." * MANY}a = 1',
    "after a comment": f"x = 1 # it's\n{'a.' * MANY}a = 1",
}


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS.keys())
def test_key_of_too_many_parts(text: str) -> None:
    """A key with very many parts is refused before it is parsed, wherever it is."""
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml(text.encode())
