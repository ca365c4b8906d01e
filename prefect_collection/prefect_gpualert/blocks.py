"""Blocks for alert channels: filled in once, in the UI or by code, and named by tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from prefect.blocks.core import Block
from pydantic import Field, HttpUrl, SecretStr

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channel_config import resolve_channel
from gpualert_common.notify.channel_secrets import resolve_secrets
from gpualert_common.notify.channels import apprise, smtp
from prefect_gpualert.sync_async import dispatches_to, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

_DOCUMENTATION_URL = "https://pypi.org/project/prefect-gpualert/"
_LOGOS = "https://raw.githubusercontent.com/PrefectHQ/prefect/420d0d6a78bb6df1fc18bcf188fdad43c1d22ea9/assets/block-logos/"
_WAIT_S = 10.0
"""The longest wait for each answer of a mail server."""

Table = dict[str, Any]
"""A channel with its settings; secrets are masked values of pydantic."""


def reveal(table: Mapping[str, Any]) -> Table:
    """Return the table with its secrets in plain text."""
    return {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in table.items()
    }


class _ChannelBlock(ABC):
    """Base of the blocks of both kinds of channels."""

    @abstractmethod
    def channel(self) -> Table: ...

    @abstractmethod
    def _probe(self, settings: Table) -> str: ...

    async def atest(self) -> str:
        """As :meth:`test`."""
        return await run_in_thread(self._test)

    @dispatches_to(atest)
    def test(self) -> str:
        """Test the channel without sending anything; returns the result in one line.

        For mail it connects to the server and logs in; for a chat it checks the URL alone.  Raises
        ConfigError or DeliveryError.
        """
        return self._test()

    def _test(self) -> str:
        from gpualert_common.redact import Redactor  # slow to import

        table = self.channel()
        known = [one.get_secret_value() for one in table.values() if isinstance(one, SecretStr)]
        settings, found = resolve_secrets(resolve_channel(reveal(table), {}), {})
        masks = Redactor([*known, *found])
        try:
            return masks.mask_text(self._probe(settings))
        except DeliveryError as error:
            raise DeliveryError(masks.mask_text(str(error)), transient=error.transient) from None


class MailChannel(_ChannelBlock, Block):
    """Alerts by mail.

    Give the block, or its name as `prefect:gpualert-mail/BLOCK_NAME`, as `notify` to a task, an
    operation or a hook of prefect-gpualert.

    Attributes:
        host: The mail server.
        to: The addresses that get the alerts.
        port: The port of the server.
        security: How the connection is encrypted.
        user: The name that logs in.
        password: The password that logs in.
        sender: The address that alerts come from.
        ca_file: A file of certificates to trust.
        size_bytes: The largest mail.
        ehlo_name: The name of this host for the server.

    Examples:
        Send the alert of a training by a configured block:
        ```python
        from prefect_gpualert import MailChannel, gpualert_run

        ops = MailChannel.load("BLOCK_NAME")
        gpualert_run("python train.py", notify=ops)
        ```
    """

    _block_type_name = "GPUAlert Mail"
    _block_type_slug = "gpualert-mail"
    _logo_url = HttpUrl(f"{_LOGOS}email.png")
    _documentation_url = HttpUrl(_DOCUMENTATION_URL)

    host: str = Field(default=..., description="The mail server.")
    to: list[str] = Field(default=..., description="The addresses that get the alerts.")
    port: int | None = Field(
        default=None,
        description="Its port; 587 with `starttls`, 465 with `ssl`, 25 with `none` if unset.",
    )
    security: Literal["starttls", "ssl", "none"] = Field(
        default="starttls",
        description="How the connection is encrypted; `none` sends mails in plain text.",
    )
    user: str | None = Field(default=None, description="The name that logs in; no login if unset.")
    password: SecretStr | None = Field(
        default=None,
        description=(
            "The password, or `env:NAME` or `file:PATH` to read it on the machine that sends."
        ),
    )
    sender: str | None = Field(
        default=None,
        description=(
            "The address that alerts come from; the user, or gpualert at this host, if unset."
        ),
    )
    ca_file: str | None = Field(
        default=None,
        title="CA File",
        description="A file of certificates to trust, with those of the system.",
    )
    size_bytes: int | None = Field(
        default=None,
        title="Size",
        description="The largest mail, in bytes; the server's limit, at most 25 MB, if unset.",
    )
    ehlo_name: str | None = Field(
        default=None,
        title="EHLO Name",
        description="The name of this host for the server.",
    )

    def channel(self) -> Table:
        """Return the channel as a table of settings."""
        settings = self.model_dump(include=set(MailChannel.model_fields), exclude_none=True)
        if "sender" in settings:
            settings["from"] = settings.pop("sender")
        return {"kind": "smtp", "name": find_block_name(self), **settings}

    def _probe(self, settings: Table) -> str:
        return smtp.SmtpChannel(settings).probe(_WAIT_S)


class ChatChannel(_ChannelBlock, Block):
    """Alerts to a chat, a webhook, or any other service of apprise.

    Give the block, or its name as `prefect:gpualert-chat/BLOCK_NAME`, as `notify` to a task, an
    operation or a hook of prefect-gpualert.

    Attributes:
        url: The URL of apprise.
        text_bytes: The largest text.
        files_bytes: The size of all files of one alert together.

    Examples:
        Send the alert of a training by a configured block:
        ```python
        from prefect_gpualert import ChatChannel, gpualert_run

        team = ChatChannel.load("BLOCK_NAME")
        gpualert_run("python train.py", notify=team)
        ```
    """

    _block_type_name = "GPUAlert Chat"
    _block_type_slug = "gpualert-chat"
    _logo_url = HttpUrl(f"{_LOGOS}webhook.png")
    _documentation_url = HttpUrl(_DOCUMENTATION_URL)

    url: SecretStr = Field(
        default=...,
        title="URL",
        description=(
            "A URL of apprise, such as `ntfy://TOPIC`, or `env:NAME` or `file:PATH` to read it "
            "on the machine that sends."
        ),
    )
    text_bytes: int | None = Field(
        default=None,
        title="Text Size",
        description="The largest text, in bytes; the service's limit if unset.",
    )
    files_bytes: int | None = Field(
        default=None,
        title="Files Size",
        description="The size of all files of one alert together, in bytes; 8 MB if unset.",
    )

    def channel(self) -> Table:
        """Return the channel as a table of settings."""
        settings = self.model_dump(include=set(ChatChannel.model_fields), exclude_none=True)
        return {"kind": "apprise", "name": find_block_name(self), **settings}

    def _probe(self, settings: Table) -> str:
        return apprise.AppriseChannel(settings).probe()


def find_block_name(block: Block) -> str:
    """Return the target that names a stored block; "" for a block that is not stored."""
    name = block._block_document_name  # noqa: SLF001 - Prefect has no other way to ask
    return f"prefect:{block.get_block_type_slug()}/{name}" if name else ""
