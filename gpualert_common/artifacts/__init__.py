"""Files that an alert carries: the artifacts of a run and the ends of its logs.

:mod:`.snapshot_program` lists the working directory right after the launch.  :func:`bundle` lists
it again after the end, packs the files that the run made, and writes a row for each file into the
manifest.  See docs/artifacts.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.artifacts.log_tails import read_last_lines, read_log_tails
    from gpualert_common.artifacts.manifest import bundle, encode_manifest

__all__ = ["bundle", "encode_manifest", "read_last_lines", "read_log_tails"]


def __getattr__(name: str) -> object:
    """Import on first use: the snapshot program needs none of these modules."""
    if name in ("bundle", "encode_manifest"):
        from gpualert_common.artifacts import manifest

        return getattr(manifest, name)
    if name in ("read_last_lines", "read_log_tails"):
        from gpualert_common.artifacts import log_tails

        return getattr(log_tails, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
