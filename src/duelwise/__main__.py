"""`python -m duelwise` is the command, where scripts are not on the path."""

from duelwise.cli import main

if __name__ == "__main__":
    main()
