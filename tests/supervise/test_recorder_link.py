"""Messages of a supervisor reach its recorder, even if the supervisor has exited meanwhile."""

from __future__ import annotations

from gpualert_common.supervise.recorder_link import connect_recorder

LAST = {"kind": "ended"}


def test_last_message_arrives() -> None:
    """An answer without a reader does not lose the earlier messages."""
    ours, theirs = connect_recorder()
    ours.send(LAST)
    ours.close()
    theirs.send({"kind": "check"})
    assert theirs.has_no_reader
    assert theirs.receive() == [LAST]
    assert theirs.receive() == []
    assert theirs.is_closed
    theirs.close()


def test_messages_wait_for_a_full_pipe() -> None:
    """A full pipe does not block; the messages arrive later, complete and in order."""
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
