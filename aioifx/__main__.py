"""python -m aioifx: calls the command line. Never: what a verb does."""

from __future__ import annotations

import sys

from aioifx.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
