"""`python -m triskele` is `triskele`."""

import sys

from triskele.cli import main

if __name__ == "__main__":
    sys.exit(main())
