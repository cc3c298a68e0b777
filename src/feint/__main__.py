"""`python -m feint` is the `feint` command."""

from feint.cli import main

main()
