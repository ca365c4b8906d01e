"""Users' own templates: their features and their limits."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpualert_common.report.formatting import safe_lines
from gpualert_common.report.message import RenderedAlert, render_alert
from gpualert_common.report.samples import FAILED
from gpualert_common.report.template_checks import check_templates

ROOT = Path(__file__).parents[2]
BODY = "body.txt.j2"
BUILT_IN = render_alert(FAILED, text_bytes=1 << 20).text

BOMBS = {
    "division": ("\n{{ 1 / 0 }}", "line 2: ZeroDivisionError: division by zero"),
    "unknown_field": (
        "{{ alert.jobb }}",
        "line 1: 'gpualert_common.report.run_view.RunView object' ",
    ),
    "unknown_name": ("{{ run }}", "line 1: 'run' is undefined"),
    "syntax": ("{% if %}", "line 1: Expected an expression"),
    "unclosed": ("a\n\n{{", "line 3: unexpected 'end of template'"),
    "nothing": ("\n  \n", "it is empty"),
    "range": ("{{ range(10 ** 12) | list }}", "line 1: OverflowError: Range too big"),
    "product": ("{{ 'a' * 10 ** 10 }}", "it took more than 256.0 MiB of memory"),
    "width": ("{{ '%9999999999d' % 1 }}", "it took more than 256.0 MiB of memory"),
    "centre": ("{{ 'a' | center(10 ** 10) }}", "it took more than 256.0 MiB of memory"),
    "doubling": (
        "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x * 2 %}{% endfor %}",
        "it took more than 256.0 MiB of memory",
    ),
    "flood": (
        "{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}",
        "it makes more than 8388608 characters",
    ),
    "itself": (f"{{% include '{BODY}' %}}", "it includes or calls itself without end"),
    "child_of_itself": (f"{{% extends '{BODY}' %}}", "it includes or calls itself without end"),
    "recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself without end"),
    "nesting": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "is nested too deep"),
    "sum": ("{{ " + "+".join("1" * 5000) + " }}", "is nested too deep"),
    "absent": ("{% include 'other.j2' %}", "line 1: there is no other.j2"),
    "above": ("{% include '../secret.txt' %}", "../secret.txt lies outside of the directory"),
    "elsewhere": ("{% include '/etc/passwd' %}", "/etc/passwd lies outside of the directory"),
    "nul": ("{% include 'a\\0b' %}", "embedded null byte"),
    "class": ("{{ ''.__class__ }}", "'__class__' of 'str' object is unsafe"),
    "attr": ("{{ alert | attr('__class__') }}", "'__class__' of 'RunView' object is unsafe"),
    "format": ("{{ '{0.__class__}'.format(alert) }}", "'__class__' of 'RunView' object is unsafe"),
    "exit": ("{{ cycler.__init__.__globals__.os._exit(3) }}", "'__init__' of 'type' object"),
    "method": ("{{ alert.do.count.__self__ }}", "is unsafe"),
    "assignment": ("{% set alert.job = 'x' %}", "cannot assign attribute"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty directory for templates, next to a secret."""
    (tmp_path / "secret.txt").write_text("hunter2")
    found = tmp_path / "templates"
    found.mkdir()
    return found


def rendered(folder: Path, *, brief: bool = False, text_bytes: int = 1 << 20) -> RenderedAlert:
    """Return the sample failure by the templates in ``folder``."""
    return render_alert(
        FAILED, text_bytes=text_bytes, html_bytes=1 << 20, brief=brief, templates=str(folder)
    )


def test_each_part_can_be_replaced(folder: Path) -> None:
    """A user's template replaces its part of the message; the other parts are ours."""
    (folder / "subject.txt.j2").write_text("{{ alert.job }}!\n")
    (folder / "body.html.j2").write_text("<p>{{ alert.headline }}</p>")
    made = rendered(folder)
    assert made.subject == "train-llm!"
    assert made.text == BUILT_IN
    assert made.html == f"<p>{FAILED.headline}</p>"
    assert made.notes == ()


def test_brief_and_body_are_separate(folder: Path) -> None:
    """A chat message uses the brief template, a mail the body."""
    (folder / "brief.txt.j2").write_text("short")
    (folder / BODY).write_text("long")
    assert rendered(folder, brief=True).text == "short"
    assert rendered(folder).text == "long"


def test_page_is_escaped_and_text_is_not(folder: Path) -> None:
    """A page escapes inserted values in any of its pieces; a text never does."""
    (folder / "piece").write_text("{{ '<b>' }}")
    (folder / "body.html.j2").write_text("{% include 'piece' %}{{ '<i>' }}")
    (folder / BODY).write_text("{{ '<b>' }}")
    made = rendered(folder)
    assert made.html == "&lt;b&gt;&lt;i&gt;"
    assert made.text == "<b>"


def test_filters(folder: Path) -> None:
    """The documented filters make durations, sizes, times and paragraphs."""
    (folder / BODY).write_text(
        "{{ alert.duration_s | duration }}|{{ alert.log_bytes | size }}|"
        "{{ alert.started_at | time }}|{{ 'aa bb cc' | wrap(5) }}"
    )
    assert rendered(folder).text == "3 h 05 min|1.4 MiB|2026-11-21 02:30:10 UTC|aa bb\ncc"


def test_own_template_gets_less_until_it_fits(folder: Path) -> None:
    """A user's template gets fewer lines until it fits, and the number of those left out."""
    (folder / BODY).write_text(
        "{{ left_out.log_lines }} {% for line in alert.log_tail %}{{ line }}{% endfor %}"
    )
    assert rendered(folder, text_bytes=100).text == f"3 {FAILED.log_tail[-1]}"


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_template_harms_a_message(folder: Path, bomb: str) -> None:
    """If a template fails in any way ours is used, with the name of the failed one and the
    reason."""
    source, because = BOMBS[bomb]
    memory = resource.getrlimit(resource.RLIMIT_AS)
    (folder / BODY).write_text(source)
    made = rendered(folder)
    (note,) = made.notes
    assert note.startswith(f"your template {BODY} failed: ")
    assert because in note
    assert note.endswith("; this is the built-in one")
    assert " ".join(note.split()) in " ".join(made.text.split())
    assert made.text.startswith(BUILT_IN[:200])
    assert "hunter2" not in made.text
    assert made.html is not None
    assert resource.getrlimit(resource.RLIMIT_AS) == memory


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 10 ** (10 ** 9) }}",
        "{% set x = 10 %}{{ x ** (x ** 9) }}",
    ],
    ids=["loop", "while_it_is_compiled", "in_one_operation"],
)
def test_template_that_never_ends(
    folder: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template that exceeds its time is stopped."""
    monkeypatch.setattr("gpualert_common.report.message.OWN_TEMPLATES_S", 0.2)
    (folder / BODY).write_text(source)
    (note,) = rendered(folder).notes
    assert "it took longer than 0.2 s" in note


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"x" * (1 << 20) + b"y"], ids=["bad_encoding", "huge"]
)
def test_file_that_is_no_template(folder: Path, content: bytes) -> None:
    """A file that is not UTF-8, or too large, fails as a template does."""
    (folder / BODY).write_bytes(content)
    (note,) = rendered(folder).notes
    assert "it is not UTF-8: byte 0" in note or "it is larger than 1024 KiB" in note


@pytest.mark.parametrize("kind", ["pipe", "folder", "link_out", "dead_link", "loop_of_links"])
def test_path_that_is_no_template_file(folder: Path, kind: str) -> None:
    """A pipe, a folder or a bad link in place of a template fails as a template does, without a
    wait."""
    place = folder / BODY
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case "link_out":
            place.symlink_to("../secret.txt")
        case "dead_link":
            place.symlink_to("nothing")
        case _:
            place.symlink_to(place)
    made = rendered(folder)
    assert len(made.notes) == 1
    assert "hunter2" not in made.text


def test_link_inside(folder: Path) -> None:
    """A link within the directory is followed, as Kubernetes mounts its files."""
    (folder / "..data").mkdir()
    (folder / "..data" / BODY).write_text("mounted")
    (folder / BODY).symlink_to(f"..data/{BODY}")
    assert rendered(folder).text == "mounted"


def test_no_directory(tmp_path: Path) -> None:
    """If the directory is missing, our templates are used and the message has a note."""
    made = rendered(tmp_path / "absent")
    assert made.text.startswith(BUILT_IN[:200])
    assert made.notes == (
        f"no directory of templates at {tmp_path / 'absent'}; these are the built-in",
    )


def test_failed_subject_is_reported_in_an_own_body(folder: Path) -> None:
    """A user's own text that does not show problems has them appended."""
    (folder / "subject.txt.j2").write_text("{{ 1 / 0 }}")
    (folder / BODY).write_text("mine")
    text = rendered(folder).text
    assert text.startswith("mine\n\nyour template subject.txt.j2 failed: ")


def test_own_output_is_made_safe(folder: Path) -> None:
    """Control characters in the output of a user's template are replaced."""
    (folder / "subject.txt.j2").write_text("a\nBcc: b\x1b")
    (folder / BODY).write_text("a\x1b[1mb\n")
    made = rendered(folder)
    assert made.subject == "a Bcc: b\ufffd"
    assert made.text == safe_lines("a\x1b[1mb\n")


def test_alarm_of_the_caller_is_restored(folder: Path) -> None:
    """The caller's alarm and its handler are restored after a user's template."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        (folder / BODY).write_text("x")
        rendered(folder)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_render_too(folder: Path) -> None:
    """In a thread other than the main one a user's template works without limits."""
    (folder / BODY).write_text("from {{ alert.job }}")
    made: list[RenderedAlert] = []
    thread = threading.Thread(target=lambda: made.append(rendered(folder)))
    thread.start()
    thread.join()
    assert made[0].text == "from train-llm"


def test_check_of_good_templates(folder: Path) -> None:
    """Templates that work on every sample, and the pieces that they include, are no problem."""
    (folder / BODY).write_text("{% include 'head.j2' %}{{ alert.headline }}")
    (folder / "head.j2").write_text("x")
    assert check_templates(str(folder)) == []


def test_check_names_failing_and_unused_templates(folder: Path) -> None:
    """A template that fails on a sample is named with its fault, a misspelled one by its name."""
    (folder / BODY).write_text("{{ alert.ended_at + 1 }}")
    (folder / "brief.txt.j2").write_text("{{ oops }}")
    (folder / "boddy.txt.j2").write_text("x")
    brief, body, unused = check_templates(str(folder))
    assert "'oops' is undefined" in brief
    assert "unsupported operand" in body
    assert unused.startswith("template boddy.txt.j2 is used by no message")


def test_room_is_light() -> None:
    """Importing the report at the end of a run loads neither jinja nor dataclasses."""
    probe = "import sys, gpualert_common.report; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {"jinja2", "dataclasses", "re2"} & set(done.stdout.split()) == set()
