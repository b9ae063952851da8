"""`python -m assay` is the command `assay`."""

from .cli import main

if __name__ == "__main__":
    main()
