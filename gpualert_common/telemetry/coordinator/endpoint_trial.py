"""Trial of an address: its name is resolved, and a TCP connection is opened and closed.

Not a byte is sent, so the server at the other end takes the connection for a client that left.  An
address of this machine is not tried: the tables of the kernel show who listens there.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum

from gpualert_common.structs import Struct

NAME_TIMEOUT_S = 6.0
"""The resolver of glibc asks the next name server after 5 s."""
ANSWER_TIMEOUT_S = 4.0
"""A lost request for a connection is repeated after 1 s and after 3 s."""
_MOST_ADDRESSES = 4
_NO_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


class TrialOutcome(StrEnum):
    """Outcome of a trial, as far as this machine can tell."""

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
    TrialOutcome.ANSWERED,
    TrialOutcome.REFUSED,
    TrialOutcome.NO_ANSWER,
    TrialOutcome.DENIED,
    TrialOutcome.UNREACHABLE,
)
"""Of several addresses, the outcome that came furthest: a host without IPv6 has no route for it."""


def try_endpoint(host: str, port: int, timeout_s: float = ANSWER_TIMEOUT_S) -> EndpointTrial:
    """Return the result of a trial, which takes at most NAME_TIMEOUT_S and *timeout_s*."""
    addresses, code, error = resolve(host, min(NAME_TIMEOUT_S, 2 * timeout_s))
    if not addresses:
        is_unknown = code in _NO_NAME
        outcome = TrialOutcome.UNKNOWN_NAME if is_unknown else TrialOutcome.NO_NAME_SERVER
        return EndpointTrial(outcome, (), error)
    if any(map(is_own, addresses)):
        return EndpointTrial(TrialOutcome.IS_HERE, addresses)
    return _connect_any(addresses[:_MOST_ADDRESSES], port, timeout_s)


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
        except (OSError, UnicodeError) as error:  # a name that no server can have
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
    """Return whether an address is one of this machine: only to such a one a socket can bind."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
            one.bind((address.partition("%")[0], 0))
    except OSError:
        return False
    return True


def _connect_any(addresses: Sequence[str], port: int, timeout_s: float) -> EndpointTrial:
    """Try the addresses at once; the first answer counts, else the outcome that came furthest."""
    results: dict[str, tuple[TrialOutcome, str]] = {}
    threads = [
        threading.Thread(
            target=lambda one=address: results.update({one: try_address(one, port, timeout_s)}),
            name="gpualert-trial",
            daemon=True,
        )
        for address in addresses
    ]
    deadline = time.monotonic() + timeout_s + 0.5
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    outcome, error = _choose(list(results.values()))
    return EndpointTrial(outcome, tuple(addresses), error)


def _choose(results: Iterable[tuple[TrialOutcome, str]]) -> tuple[TrialOutcome, str]:
    none = (TrialOutcome.NO_ANSWER, os.strerror(errno.ETIMEDOUT))
    return min(results, key=lambda one: _BEST_FIRST.index(one[0]), default=none)


def try_address(address: str, port: int, timeout_s: float) -> tuple[TrialOutcome, str]:
    """Open and close a connection to an address; return the outcome and the words of an error."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as one:
            one.settimeout(timeout_s)
            one.connect((address, port))
    except TimeoutError:
        return TrialOutcome.NO_ANSWER, os.strerror(errno.ETIMEDOUT)
    except OSError as error:
        outcome = _BY_ERRNO.get(error.errno or 0, TrialOutcome.UNREACHABLE)
        return outcome, error.strerror or str(error)
    except OverflowError:  # a port beyond 65535
        return TrialOutcome.REFUSED, f"no TCP port has the number {port}"
    return TrialOutcome.ANSWERED, ""
