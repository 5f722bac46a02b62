"""Serves a stream until it is ended; prints every acknowledged event.

On SIGTERM it stops, waits for others to stop, and prints its state.
"""

import hashlib
import signal
import sys
import threading
import time

import numpy as np
from living import candidates

from duelwise.stream import DecisionStream

url, seed = sys.argv[1], int(sys.argv[2])
stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopping.set())
stream = DecisionStream.open(url, "meals")
printing = threading.Lock()


def say(line: str) -> None:
    with printing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def serve(number: int) -> None:
    rng = np.random.Generator(np.random.PCG64([seed, number]))
    while not stopping.is_set():
        ticket = stream.ask(candidates(rng)).ticket
        round = ticket.split("-")[0]
        say(f"asked {round}")
        stream.observe(ticket, [1.0, rng.normal()], [0.5, rng.normal()])
        say(f"observed {round}")
        if rng.random() < 0.8:
            stream.tell(ticket, "left" if rng.random() < 0.6 else "right", source=f"user {number}")
            say(f"told {round}")
            if rng.random() < 0.03:
                stream.retract(ticket)


threads = [threading.Thread(target=serve, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
head = -1
while head != stream.model_version or stream.report().rebuild_is_due:  # until the others are quiet too
    head = stream.model_version
    time.sleep(1.5)
    stream.wait_for_background()
say(f"{stream.model_version} {hashlib.sha256(stream.snapshot_state()).hexdigest()}")
stream.close()
