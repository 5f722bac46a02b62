"""The long description: README.md with links that also work outside the repository.

Everything else about the package is in pyproject.toml; the address that links get is its `Source`.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent


def long_description() -> str:
    """README.md, relative links and pictures made absolute."""
    with (HERE / "pyproject.toml").open("rb") as file:
        base = tomllib.load(file)["project"]["urls"]["Source"]
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)([^)]+)", rf"\1{base}/raw/main/\2", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)([^)]+)", rf"\1{base}/blob/main/\2", text)


if __name__ == "__main__":
    setup(long_description=long_description(), long_description_content_type="text/markdown")
