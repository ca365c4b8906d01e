"""A Maildir on this machine: the channel without any requirements.

Any mail program for Maildirs reads it (`mutt -f PATH`). It never holds the same alert twice, and
nothing is ever removed from it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager

from gpualert_common.errors import DeliveryError
from gpualert_common.notify.channels import _settings
from gpualert_common.record.files import write_all
from gpualert_common.record.private_directory import open_folder, resolve_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
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
        "report": (_settings.report, "attach the report as HTML: attach (default) or none"),
    }
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    SECRET: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._path: str = settings["path"]
        self._files_bytes: int = settings.get("files_bytes", _FILES_BYTES)
        self._settings = settings

    @staticmethod
    def find_obstacle(settings: Mapping[str, Any]) -> str:
        """Return the part of the path that is no directory, or cannot be written."""
        path: str = settings.get("path", "/")
        while not os.path.lexists(path):
            path = os.path.dirname(path)
        if not os.path.isdir(path):
            return f"path: {path} is not a directory"
        return "" if os.access(path, os.W_OK | os.X_OK) else f"path: {path} is not writable"

    @property
    def address(self) -> str:
        """The folder."""
        return f"mailbox:{self._path}"

    @property
    def budget(self) -> Budget:
        """The budget of a mail, with fewer files: they are on this machine anyway."""
        from gpualert_common.notify.message import Budget

        most = self._files_bytes
        report = _settings.choose_report(self._settings, "page")
        return Budget(_TEXT_BYTES, _HTML_BYTES, most, most, 50, report=report)

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
            with _open(self._path) as maildir:
                written = not maildir.is_in_cur(name) and maildir.put(name, mail)
        except OSError as error:
            where = os.path.join(self._path, error.filename or "")
            is_transient = not isinstance(error, PermissionError)
            reason = error.strerror or error
            raise DeliveryError(f"{where}: {reason}", transient=is_transient) from None
        progress.mark("mail")
        return f"in {self._path} as new/{name}" if written else f"in {self._path} already"


def _name(message_id: str) -> str:
    import hashlib

    return f"{hashlib.sha256(message_id.encode('utf-8', 'replace')).hexdigest()[:32]}.gpualert"


@contextmanager
def _open(path: str) -> Iterator[_Maildir]:
    """Open the Maildir, created if it does not exist; only this user can change its folders.

    Raises OSError, PermissionError if another user could change or replace it.
    """
    real = resolve_directory(path)
    with ExitStack() as stack:
        fds = []
        for folder in _FOLDERS:
            fds.append(open_folder(real, folder, create=True))
            stack.callback(os.close, fds[-1])
        yield _Maildir(*fds)


class _Maildir:
    """Descriptors of the three folders."""

    def __init__(self, tmp: int, new: int, cur: int) -> None:
        self._tmp, self._new, self._cur = tmp, new, cur

    def put(self, name: str, mail: bytes) -> bool:
        """Write the mail into new/; False when it is there, or was read meanwhile.

        A file in new/ is whole: it is written in tmp/, which readers leave alone, and linked.
        """
        draft = f"{name}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            self._write(draft, mail)
            try:
                os.link(draft, name, src_dir_fd=self._tmp, dst_dir_fd=self._new)
            except FileExistsError:
                return False
            except OSError:  # a filesystem without hard links
                os.rename(draft, name, src_dir_fd=self._tmp, dst_dir_fd=self._new)
            if self.is_in_cur(name):  # another sender's was read between the check and the link
                os.unlink(name, dir_fd=self._new)
                return False
            os.fsync(self._new)
            return True
        finally:
            self._remove(draft)

    def is_in_cur(self, name: str) -> bool:
        """True if a mail program moved the message to cur/, where flags follow its name."""
        return any(entry.partition(":")[0] == name for entry in os.listdir(self._cur))

    def _write(self, name: str, content: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=self._tmp)
        try:
            write_all(descriptor, content)
            os.fsync(descriptor)
        except OSError as error:  # os.write and os.fsync name no file
            raise OSError(error.errno, error.strerror, os.path.join("tmp", name)) from None
        finally:
            os.close(descriptor)

    def _remove(self, draft: str) -> None:
        try:
            os.unlink(draft, dir_fd=self._tmp)
        except OSError:  # renamed, or never made; the important error is being raised
            pass


Channel: type[_Channel] = MailboxChannel
