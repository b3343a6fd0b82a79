"""`python -m hsd`."""

import sys

from hsd.cli import main

sys.exit(main())
