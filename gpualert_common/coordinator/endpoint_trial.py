"""Trial of an address: its name is resolved, and a TCP connection is opened and closed.

Not a byte is sent, so the server at the other end takes the connection for a client that left.  An
address of this machine is not tried: the tables of the kernel show who listens there.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum

from gpualert_common.structs import Struct

NAME_TIMEOUT_S = 6.0
"""The resolver of glibc asks the next name server after 5 s."""
ANSWER_TIMEOUT_S = 4.0
"""A lost request for a connection is repeated after 1 s and after 3 s."""
_MOST_ADDRESSES = 4
_FOREIGN = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses for documentation, which no machine has."""
_NO_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


class TrialOutcome(StrEnum):
    """Outcome of a trial, as far as this machine can tell."""

    UNTRIED = "untried"
    """Nothing was tried yet."""
    UNKNOWN_NAME = "unknown_name"
    """The name servers, or the file of hosts, do not have the name."""
    NO_NAME_SERVER = "no_name_server"
    """The name could not be looked up."""
    IS_HERE = "is_here"
    """It is an address of this machine."""
    REFUSED = "refused"
    """The machine, or a firewall in its name, refuses: as a rule, no process listens there."""
    UNREACHABLE = "unreachable"
    """The network reports that there is no way to the machine."""
    NO_ANSWER = "no_answer"
    """The request got no answer in time."""
    DENIED = "denied"
    """This machine itself does not permit the connection."""
    ANSWERED = "answered"
    """A process accepts connections there."""


class EndpointTrial(Struct, frozen=True):
    """Result of a trial: the addresses of the name, and the system's words for a failure."""

    outcome: TrialOutcome
    addresses: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_loopback(self) -> bool:
        """True if the name stands for this machine on every machine."""
        return bool(self.addresses) and all(map(is_loopback, self.addresses))


_BY_ERRNO = {
    errno.ECONNREFUSED: TrialOutcome.REFUSED,
    errno.ECONNRESET: TrialOutcome.REFUSED,
    errno.EHOSTUNREACH: TrialOutcome.UNREACHABLE,
    errno.ENETUNREACH: TrialOutcome.UNREACHABLE,
    errno.EHOSTDOWN: TrialOutcome.UNREACHABLE,
    errno.EADDRNOTAVAIL: TrialOutcome.UNREACHABLE,
    errno.ETIMEDOUT: TrialOutcome.NO_ANSWER,
    errno.EPERM: TrialOutcome.DENIED,
    errno.EACCES: TrialOutcome.DENIED,
}
_BEST_FIRST = (
    TrialOutcome.REFUSED,
    TrialOutcome.NO_ANSWER,
    TrialOutcome.DENIED,
    TrialOutcome.UNREACHABLE,
)
"""Failures of several addresses: the one that came furthest counts, since a host without
IPv6 has no route for it."""


def try_endpoint(
    host: str,
    port: int,
    name_timeout_s: float = NAME_TIMEOUT_S,
    answer_timeout_s: float = ANSWER_TIMEOUT_S,
) -> EndpointTrial:
    """Return the result of a trial; it takes at most the sum of both times."""
    addresses, code, error = resolve(host, name_timeout_s)
    if not addresses:
        is_unknown = code in _NO_NAME
        outcome = TrialOutcome.UNKNOWN_NAME if is_unknown else TrialOutcome.NO_NAME_SERVER
        return EndpointTrial(outcome, (), error)
    if any(map(is_own, addresses)):
        return EndpointTrial(TrialOutcome.IS_HERE, addresses)
    tried = addresses[:_MOST_ADDRESSES]
    outcome, error = try_addresses(tried, port, answer_timeout_s)
    return EndpointTrial(outcome, tried, error)


def resolve(host: str, timeout_s: float) -> tuple[tuple[str, ...], int, str]:
    """Return the addresses of a name, or the resolver's error and its words.

    A resolver that hangs is left behind in a thread.
    """
    found: list[str] = []
    failure = [(socket.EAI_AGAIN, f"no name server answered within {timeout_s:.0f} s")]

    def look_up() -> None:
        try:
            rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            failure[0] = (error.errno or socket.EAI_FAIL, error.strerror or str(error))
        except (OSError, ValueError) as error:  # a name that no server can have
            failure[0] = (socket.EAI_NONAME, str(error))
        else:
            found.extend(dict.fromkeys(str(row[4][0]) for row in rows))

    thread = threading.Thread(target=look_up, name="gpualert-resolver", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return tuple(found), *failure[0]


def is_loopback(address: str) -> bool:
    """Return whether an address stands for the machine itself."""
    return address.startswith("127.") or address in ("::1", "0.0.0.0", "::")


def is_own(address: str) -> bool:
    """Return whether an address is one of this machine: only to such a one a socket can bind.

    Where ``ip_nonlocal_bind`` permits others, too, the way to an own address begins at itself.
    """
    if is_loopback(address):
        return True
    family = _find_family(address)
    if not _can_bind(family, address):
        return False
    return not _can_bind(family, _FOREIGN[family]) or _is_own_source(family, address)


def _find_family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _can_bind(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
            one.bind((address, 0))
    except OSError:
        return False
    return True


def _is_own_source(family: socket.AddressFamily, address: str) -> bool:
    """Return whether the kernel would send from an address to itself; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
            one.connect((address, 9))
            return str(one.getsockname()[0]) == address.partition("%")[0]
    except OSError:
        return False


def try_addresses(
    addresses: Sequence[str], port: int, timeout_s: float
) -> tuple[TrialOutcome, str]:
    """Open connections to all addresses at once, and close them; return outcome and error.

    The first answer counts, else the outcome that came furthest.
    """
    poll, pending, failures = select.poll(), {}, []
    deadline = time.monotonic() + timeout_s
    with ExitStack() as opened:
        for address in addresses:
            try:
                one = opened.enter_context(_open_socket(address))
                code = one.connect_ex((address, port))
            except OSError as error:
                code = error.errno or errno.EADDRNOTAVAIL
            if code == errno.EINPROGRESS:
                pending[one.fileno()] = one
                poll.register(one, select.POLLOUT)
            else:
                failures.append(code)
        while pending and 0 not in failures and (left_s := deadline - time.monotonic()) > 0:
            for fd, _events in poll.poll(left_s * 1000):
                poll.unregister(fd)
                failures.append(pending.pop(fd).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    failures += [errno.ETIMEDOUT] * len(pending)
    if 0 in failures:
        return TrialOutcome.ANSWERED, ""
    results = [
        (_BY_ERRNO.get(code, TrialOutcome.UNREACHABLE), os.strerror(code)) for code in failures
    ]
    return min(results, key=lambda one: _BEST_FIRST.index(one[0]))


def _open_socket(address: str) -> socket.socket:
    kind = socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    return socket.socket(_find_family(address), kind)
