"""A Maildir on this machine: the channel without any requirements.

Any mail program for Maildirs reads it (`mutt -f PATH`). It never holds the same alert twice, and
nothing is ever removed from it.
"""

from __future__ import annotations

import os

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels import _settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from gpualert_common.notify.channels._interface import Channel as _Channel
    from gpualert_common.notify.channels._interface import DeliveredParts
    from gpualert_common.notify.message import Budget, Message

_TEXT_BYTES = 64 << 10
_HTML_BYTES = 90_000
_FILES_BYTES = 1_000_000
_FOLDERS = ("tmp", "new", "cur")


class MailboxChannel:
    """A Maildir.  Each message has the name that follows from its id, and is there once."""

    KEYS: ClassVar[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
        "path": (_settings.path, "the Maildir; by default mailbox in the state directory"),
        "files_bytes": (_settings.size, "all files of one message together; 1MB by default"),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    SECRET: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._path: str = settings["path"]
        self._files_bytes: int = settings.get("files_bytes", _FILES_BYTES)

    @property
    def address(self) -> str:
        """The folder."""
        return f"mailbox:{self._path}"

    @property
    def budget(self) -> Budget:
        """The budget of a mail, with fewer files: they are on this machine anyway."""
        from gpualert_common.notify.message import Budget

        return Budget(_TEXT_BYTES, _HTML_BYTES, self._files_bytes, self._files_bytes, 50)

    def send(
        self,
        compose: Callable[[Budget], Message],
        progress: DeliveredParts,
        timeout_s: float,  # noqa: ARG002 - there is nothing to wait for
    ) -> str:
        """Store the message; it is on the disk when this returns."""
        from gpualert_common.notify.mime import as_mail, local_address

        if progress.has("mail"):
            return f"in {self._path} already"
        message = compose(self.budget)
        name = _name(message.id)
        mail = as_mail(message, local_address(), [local_address()], eol="\n")
        try:
            _make(self._path)
            written = not _is_in_cur(self._path, name) and _put(self._path, name, mail)
        except OSError as error:
            where = error.filename or self._path
            raise DeliveryError(f"{where}: {error.strerror or error}", transient=True) from None
        progress.mark("mail")
        return f"in {self._path} as new/{name}" if written else f"in {self._path} already"


def _name(message_id: str) -> str:
    import hashlib

    return f"{hashlib.sha256(message_id.encode('utf-8', 'replace')).hexdigest()[:32]}.gpualert"


def _make(path: str) -> None:
    """Create the Maildir if it does not exist, for its owner alone."""
    folders = [os.path.join(path, folder) for folder in _FOLDERS]
    if all(map(os.path.isdir, folders)):
        return
    os.makedirs(path, mode=0o700, exist_ok=True)
    for folder in folders:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    _sync(path)
    _sync(os.path.dirname(path))


def _put(path: str, name: str, mail: bytes) -> bool:
    """Write the mail into new/; False when it is there, or was read meanwhile.

    A file in new/ is whole: it is written in tmp/, which readers leave alone, and linked.
    """
    draft = os.path.join(path, "tmp", f"{name}.{os.getpid()}.{os.urandom(4).hex()}")
    arrived = os.path.join(path, "new", name)
    try:
        _write(draft, mail)
        try:
            os.link(draft, arrived)
        except FileExistsError:
            return False
        except OSError:  # a filesystem without hard links
            os.rename(draft, arrived)
        if _is_in_cur(path, name):  # another sender's was read between the check and the link
            os.unlink(arrived)
            return False
        _sync(os.path.join(path, "new"))
        return True
    finally:
        _remove(draft)


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError as error:  # os.write and os.fsync name no file
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.close(descriptor)


def _is_in_cur(path: str, name: str) -> bool:
    """True if a mail program moved the message to cur/, where flags follow its name."""
    with os.scandir(os.path.join(path, "cur")) as entries:
        return any(entry.name.partition(":")[0] == name for entry in entries)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # renamed, or never made; the important error is being raised
        pass


Channel: type[_Channel] = MailboxChannel
