"""Tests of channel blocks, by name and as objects, in tasks, operations and hooks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect_gpualert import (
    ChatChannel,
    MailChannel,
    TrainingFailed,
    TrainingOperation,
    gpualert_hook,
)
from pydantic import SecretStr

from gpualert_common.errors import ConfigError, DeliveryError
from tests.notify.alerting import queued, states
from tests.notify.faults import mail_process
from tests.notify.webhooks import WebServer, web_server
from tests.prefect.running import FACES, records, run
from tests.prefect.test_alerts import everything_in, mails

pytestmark = pytest.mark.usefixtures("harness")

PASSWORD = "hunter2hunter2"


@pytest.fixture
def server(home: Path) -> Iterator[int]:
    """A mail server on loopback that requires a password; the mails are in ``mails``."""
    (home / "mails").mkdir()
    login = ("--folder", str(home / "mails"), "--login", f"me:{PASSWORD}")
    with mail_process("good", *login) as port:
        yield port


@pytest.fixture
def web() -> Iterator[WebServer]:
    """A service that apprise can reach."""
    with web_server() as server:
        yield server


def mail(port: int, **settings: Any) -> MailChannel:
    """A block for that server."""
    given = {"user": "me", "password": PASSWORD, "sender": "b@example.org", **settings}
    return MailChannel(host="127.0.0.1", port=port, security="none", to=["a@example.org"], **given)


def chat(web: WebServer) -> ChatChannel:
    """A block for that service."""
    return ChatChannel(url=f"json://me:{PASSWORD}@127.0.0.1:{web.port}/")  # type: ignore[arg-type]


# -- as notify -------------------------------------------------------------------------------


@FACES
@pytest.mark.parametrize("by_name", [True, False], ids=["name", "block"])
def test_mail(way: str, by_name: bool, server: int, home: Path, caplog: Any) -> None:
    """The alert is mailed, and the password is in no record and no line of the run log."""
    caplog.set_level(logging.DEBUG)
    block = mail(server)
    block.save("ops", overwrite=True)
    with pytest.raises(TrainingFailed):
        run(way, "exit 3", notify="prefect:gpualert-mail/ops" if by_name else block)
    (record,) = records(home)
    assert states(record) == {"prefect:gpualert-mail/ops": "sent"}
    (sent,) = (home / "mails").glob("*.eml")
    assert "b@example.org" in sent.read_text()
    assert PASSWORD.encode() not in everything_in(record.path)
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "block"])
def test_chat(by_name: bool, web: WebServer, home: Path, caplog: Any) -> None:
    """A chat behaves in the same way."""
    caplog.set_level(logging.DEBUG)
    block = chat(web)
    block.save("team", overwrite=True)
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", notify=["prefect:gpualert-chat/team" if by_name else block])
    (record,) = records(home)
    assert states(record) == {"prefect:gpualert-chat/team": "sent"}
    assert web.requests
    assert PASSWORD.encode() not in everything_in(record.path)
    assert PASSWORD not in caplog.text


def test_block_that_is_not_saved(server: int, home: Path) -> None:
    """A block that the flow created and never saved works, too."""
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", notify=mail(server))
    (record,) = records(home)
    assert list(states(record).values()) == ["sent"]
    assert PASSWORD.encode() not in everything_in(record.path)


def test_secret_block_as_an_object(home: Path) -> None:
    """A Secret block with the URL of a channel is accepted as an object, too."""
    target = f"smtp://127.0.0.1:1/?to=a@example.org&security=none&from=b@{'x' * 8}.org"
    block: Any = Secret(value=SecretStr(target))
    with pytest.raises(TrainingFailed):
        run("called", "exit 3", notify=block, notify_deadline=0.5)
    (entry,) = queued(records(home)[0])
    assert entry.state == "pending"


@pytest.mark.parametrize("kind", ["task", "flow"])
def test_hook(kind: str, server: int, home: Path) -> None:
    """A hook takes a block like a task."""
    hook: Any = [gpualert_hook(mail(server))]

    @task(on_failure=hook if kind == "task" else None)
    def publish() -> None:
        raise ValueError("nothing to publish")

    @flow(on_failure=hook if kind == "flow" else None)
    def outer() -> None:
        publish()

    with pytest.raises(ValueError, match="nothing to publish"):
        outer()
    assert len(list((home / "mails").glob("*.eml"))) == 1


def test_operation(server: int, home: Path) -> None:
    """An operation stores the block's name alone, and loads the block at its run."""
    block = mail(server)
    with pytest.raises(ValueError, match="save the block"):
        TrainingOperation(commands=["exit 3"], notify=block)  # type: ignore[arg-type]
    block.save("stored", overwrite=True)
    operation = TrainingOperation(commands=["exit 3"], notify=[block, "mailbox"])  # type: ignore[list-item]
    operation.save("nightly", overwrite=True)

    @flow
    def outer() -> None:
        found: Any = TrainingOperation.load("nightly")
        assert found.notify == ["prefect:gpualert-mail/stored", "mailbox"]
        found.run()

    with pytest.raises(TrainingFailed):
        outer()
    assert states(records(home)[0]) == {"prefect:gpualert-mail/stored": "sent", "mailbox": "sent"}
    assert len(mails(home / "state" / "mailbox")) == 1


@pytest.mark.parametrize(
    "target", ["prefect:gpualert-mail/no-such-block", "prefect:gpualert-mail", "prefect:webhook/x"]
)
def test_wrong_name_starts_nothing(target: str, home: Path) -> None:
    """A missing block, or one that is no channel, is an error before the launch."""
    with pytest.raises(ConfigError, match=target):
        run("called", "echo started", notify=target)
    assert not (home / "state" / "runs").exists()


def test_wrong_setting_starts_nothing(home: Path) -> None:
    """An invalid setting is an error before the launch, whose message has no secrets."""
    wrong = [mail(1, ca_file=""), mail(1).model_copy(update={"port": 70_000})]
    for notify in (*wrong, [mail(1), 5]):
        with pytest.raises(ConfigError) as caught:
            run("called", "echo started", notify=notify)
        assert PASSWORD not in str(caught.value)
    assert not (home / "state" / "runs").exists()


# -- as blocks -------------------------------------------------------------------------------


def test_secrets_are_hidden(web: WebServer) -> None:
    """Neither a block's repr nor the API's default answer has the secrets."""
    for block in (mail(25), chat(web)):
        assert PASSWORD not in repr(block)
        assert PASSWORD not in str(block.channel())
        id_ = block.save("hidden", overwrite=True)
        with get_client(sync_client=True) as client:
            default: Any = client.read_block_document(id_, include_secrets=False)  # type: ignore[arg-type]
        assert PASSWORD not in str(default.data)


def test_test_of_mail(server: int, home: Path) -> None:
    """The test logs in with the password, and sends no mail."""
    message = mail(server).test()
    assert "127.0.0.1" in str(message)
    with pytest.raises(DeliveryError) as caught:
        mail(server, password=f"{PASSWORD}!").test()
    assert PASSWORD not in str(caught.value)
    assert asyncio.run(mail(server).atest()) == message

    async def awaited() -> Any:
        return await mail(server).test()

    assert asyncio.run(awaited()) == message
    assert not list((home / "mails").glob("*.eml"))


def test_test_of_chat(web: WebServer) -> None:
    """The test checks the URL by apprise, and does not contact the service."""
    message = chat(web).test()
    assert "apprise knows it" in str(message)
    assert PASSWORD not in str(message)
    with pytest.raises(DeliveryError):
        ChatChannel(url=f"no-such-service://{PASSWORD}").test()  # type: ignore[arg-type]
    assert not web.requests
