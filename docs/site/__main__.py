"""Write the source of the site: ``python -m docs.site FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.source import write_source

if __name__ == "__main__":
    write_source(Path(sys.argv[1]))
