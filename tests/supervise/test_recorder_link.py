"""What a supervisor tells its recorder arrives, also when the supervisor has gone meanwhile."""

from __future__ import annotations

from gpualert_common.supervise.recorder_link import connect_recorder

LAST = {"kind": "ended"}


def test_last_words_are_heard() -> None:
    """An answer that reaches nobody loses nothing of what was said before."""
    ours, theirs = connect_recorder()
    ours.send(LAST)
    ours.close()
    theirs.send({"kind": "look"})
    assert theirs.has_no_reader
    assert theirs.receive() == [LAST]
    assert theirs.receive() == []
    assert theirs.is_closed
    theirs.close()


def test_what_a_full_pipe_does_not_take_waits() -> None:
    """Nothing blocks, and nothing is lost or comes out of order."""
    ours, theirs = connect_recorder()
    sent = [{"kind": "event", "number": number, "text": "x" * 1000} for number in range(200)]
    for message in sent:
        ours.send(message)
    received: list[dict[str, object]] = []
    while len(received) < len(sent):
        received += theirs.receive()
        ours.flush()
    assert received == sent
    for end in (ours, theirs):
        end.close()
