"""Settings: their declarations, and how they are read from flags, variables and files.

Everything here is imported before the child is launched, and imports nothing heavy.
"""

from gpualert_common.settings.loading import (
    PROJECT_FILE,
    Setting,
    load_settings,
    name_origin,
    user_file,
)
from gpualert_common.settings.option import Interface, Option
from gpualert_common.settings.options import OPTIONS, given_options, option_names
from gpualert_common.settings.values import parse_duration, parse_size

__all__ = [
    "OPTIONS",
    "PROJECT_FILE",
    "Interface",
    "Option",
    "Setting",
    "given_options",
    "load_settings",
    "name_origin",
    "option_names",
    "parse_duration",
    "parse_size",
    "user_file",
]
