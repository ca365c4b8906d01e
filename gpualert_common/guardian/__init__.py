"""Guardian: a run that outlives the process that started it.

docs/guardian.md has the protocol: states, requests, and the writer of each file.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.guardian.attempt import Attempt
    from gpualert_common.guardian.handle import RunHandle

__all__ = ["Attempt", "RunHandle"]


def __getattr__(name: str) -> object:
    """Import on first use: the guardian process itself needs neither."""
    if name == "Attempt":
        from gpualert_common.guardian.attempt import Attempt

        return Attempt
    if name == "RunHandle":
        from gpualert_common.guardian.handle import RunHandle

        return RunHandle
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
