"""``python -m halfmoon``: the command line."""

from halfmoon.cli import main

main()
