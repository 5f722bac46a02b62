"""The client by itself: one wheel, httpx alone, neither numpy nor numba nor the main package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """
import sys
from duelwise_client import Client
assert Client("http://127.0.0.1:1").stream("meals").name == "meals"
assert not {"numpy", "numba", "duelwise"} & set(sys.modules)
"""


@pytest.mark.long
def test_the_client_is_a_distribution_of_its_own(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path]
    subprocess.run([*build, ROOT / "packages" / "duelwise-client"], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("duelwise_client-*.whl")
    inside = {**os.environ, "PYTHONPATH": str(wheel)}
    subprocess.run([sys.executable, "-c", USE], check=True, env=inside, cwd=tmp_path)
