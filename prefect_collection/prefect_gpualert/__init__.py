"""GPUAlert for Prefect.

This release only reserves the place: nothing here talks to Prefect yet, so it is no dependency.
``__version__`` is the core's, whose release this package belongs to.
"""

from gpualert_common._version import __version__

__all__ = ["__version__"]
