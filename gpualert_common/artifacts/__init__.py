"""Files that a message carries: search, manifest, ends of the logs.

``process`` looks at the working directory once after launch; :func:`bundle` looks again at the end
and packs what the run made, each file with its row in the manifest.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.artifacts.log_tails import log_lines, log_tail
    from gpualert_common.artifacts.manifest import bundle, manifest_json

__all__ = ["bundle", "log_lines", "log_tail", "manifest_json"]


def __getattr__(name: str) -> object:
    """Import on first use: the look after launch needs none of it."""
    if name in ("bundle", "manifest_json"):
        from gpualert_common.artifacts import manifest

        return getattr(manifest, name)
    if name in ("log_lines", "log_tail"):
        from gpualert_common.artifacts import log_tails

        return getattr(log_tails, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
