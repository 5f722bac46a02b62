"""How long a long-lived stream takes to open: python benchmarks/open_stream.py [duels].

Records that many duels with their votes in a temporary store, closes it, and times opening it
in a fresh process, where nothing is warm.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from duelwise.stream import DecisionStream, Import, StreamSettings

SETTINGS = StreamSettings(context_dim=10, post_dim=10)
AT_ONCE = 500

OPEN = """
import sys, time
from duelwise.stream import DecisionStream
start = time.perf_counter()
stream = DecisionStream.open(sys.argv[1], "bench")
print(f"opened at event {stream.model_version} in {time.perf_counter() - start:.2f} s")
"""


def record(url: str, duels: int) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    with DecisionStream.create(url, "bench", SETTINGS) as stream:
        start = time.perf_counter()
        for _ in range(0, duels, AT_ONCE):
            x = rng.uniform(-3, 3, (AT_ONCE, 2, SETTINGS.context_dim)).tolist()
            y = rng.uniform(-3, 3, (AT_ONCE, 2, SETTINGS.post_dim)).tolist()
            won = rng.choice(["left", "right"], AT_ONCE).tolist()
            stream.run([Import(x[i][0], x[i][1], won[i], y[i][0], y[i][1]) for i in range(AT_ONCE)])
        print(f"recorded {duels} duels in {time.perf_counter() - start:.0f} s")


def main(duels: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/duels.db"
        record(url, duels)
        print(f"{(Path(folder) / 'duels.db').stat().st_size / 1e6:.0f} MB")
        for _ in range(3):
            subprocess.run([sys.executable, "-c", OPEN, url], check=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
