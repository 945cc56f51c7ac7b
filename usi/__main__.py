"""`python -m usi` is `narikin`."""

import sys

from usi.main import main

sys.exit(main())
