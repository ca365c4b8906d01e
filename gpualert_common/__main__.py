"""``python -m gpualert_common`` is the program ``gpualert``."""

import sys

from gpualert_common.cli.main import main

sys.exit(main())
