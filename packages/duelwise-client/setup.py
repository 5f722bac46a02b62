"""Takes the client, its errors and its answers over from the main package: there is one text of each."""

import shutil
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
MAIN = HERE.parents[1] / "src" / "duelwise"

if MAIN.is_dir():  # in the repository; a source archive has the files already
    for name in ("client.py", "errors.py", "receipts.py"):
        shutil.copyfile(MAIN / name, HERE / "duelwise_client" / name)

setup()
