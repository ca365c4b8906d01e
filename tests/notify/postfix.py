"""Debian's Postfix on loopback, with its own configuration: needs root and the package."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import trustme

from tests.supervised import free_port, until

LOOPBACK = "127.0.0.1"
DOMAIN = "mail.test"

MAIN = """\
compatibility_level = 3.7
queue_directory = {root}/queue
data_directory = {root}/data
maillog_file = {root}/log
maillog_file_prefixes = {root}
myhostname = {domain}
mydestination =
local_recipient_maps =
alias_maps =
inet_interfaces = {host}
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_tls_security_level = may
smtpd_tls_cert_file = {root}/certificate.pem
smtpd_tls_key_file = {root}/key.pem
virtual_mailbox_domains = {domain}
virtual_mailbox_base = {root}/boxes
virtual_mailbox_maps = inline:{{ {{me@{domain} = me/}}, {{you@{domain} = you/}} }}
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
virtual_mailbox_limit = 0
message_size_limit = {size}
"""

MASTER = """\
{host}:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
virtual unix - n n - - virtual
retry unix - - n - - error
error unix - - n - - error
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True)
class Postfix:
    """A running server, which accepts mail for ``me`` and ``you`` at ``DOMAIN``."""

    port: int
    root: Path
    host: str = LOOPBACK

    @property
    def ca_file(self) -> Path:
        """The authority of its certificate."""
        return self.root / "ca.pem"

    @property
    def log(self) -> str:
        """Its log."""
        return (self.root / "log").read_text()

    def mails(self, user: str = "me", number: int = 1) -> list[EmailMessage]:
        """Wait for that many mails in the mailbox of the user, and return them."""
        new = self.root / "boxes" / user / "new"

        def arrived() -> list[Path] | None:
            found = sorted(new.iterdir()) if new.is_dir() else []
            return found if len(found) >= number else None

        found = until(arrived, f"{number} mails for {user}")
        return [message_from_bytes(path.read_bytes(), policy=policy.default) for path in found]


@contextmanager
def postfix(size: int = 10_240_000) -> Iterator[Postfix]:
    """Run a Postfix that takes mails of ``size`` bytes, until the block ends."""
    root = Path(tempfile.mkdtemp(prefix="postfix-"))  # Postfix's own users must get there
    root.chmod(0o755)
    server = Postfix(free_port(), root)
    _configure(server, size)
    try:
        subprocess.run(["postfix", "-c", root, "start"], check=True, capture_output=True)
        until(lambda: _answers(server), "Postfix answers")
        yield server
    finally:
        subprocess.run(["postfix", "-c", root, "stop"], check=True, capture_output=True)
        shutil.rmtree(root)


def _configure(server: Postfix, size: int) -> None:
    root = server.root
    nobody, owner = pwd.getpwnam("nobody"), pwd.getpwnam("postfix")
    for name, user in (("queue", None), ("data", owner), ("boxes", nobody)):
        (root / name).mkdir()
        if user is not None:
            os.chown(root / name, user.pw_uid, user.pw_gid)
    (root / "main.cf").write_text(
        MAIN.format(
            root=root,
            domain=DOMAIN,
            host=LOOPBACK,
            size=size,
            uid=nobody.pw_uid,
            gid=nobody.pw_gid,
        )
    )
    (root / "master.cf").write_text(MASTER.format(host=LOOPBACK, port=server.port))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(server.ca_file))
    issued = authority.issue_cert(LOOPBACK, "localhost")
    issued.private_key_pem.write_to_path(str(root / "key.pem"))
    for part in issued.cert_chain_pems:
        part.write_to_path(str(root / "certificate.pem"), append=True)


def _answers(server: Postfix) -> bool:
    try:
        with socket.create_connection((server.host, server.port), 1.0) as client:
            return client.recv(4) == b"220 "
    except OSError:
        return False
