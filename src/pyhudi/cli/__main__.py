"""`python -m pyhudi.cli` is `pyhudi`."""

from pyhudi.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
