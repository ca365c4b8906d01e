"""GPUAlert: supervises a training command, keeps its log, and says why it ended.

>>> from gpualert_common import run
>>> result = run(["python", "train.py"])  # doctest: +SKIP
>>> result.exit_code, result.verdict.cause  # doctest: +SKIP
(1, 'cuda_oom')
"""

from gpualert_common._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.api import RunResult, run

__all__ = ["RunResult", "__version__", "run"]


def __getattr__(name: str) -> object:
    """Import on first use: the program must not pay for what it does not need."""
    if name in ("RunResult", "run"):
        from gpualert_common import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
