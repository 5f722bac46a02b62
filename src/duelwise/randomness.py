"""All randomness comes from here: a draw is a function of (seed, purpose, run, round).

A block of rounds shares one generator, so drawing is cheap, and nothing has to
be saved to replay: asking for the same round again gives the same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from duelwise.types import AnyArray

BLOCK = 256  # rounds drawn at once
ONCE = 0xFFFF_FFFF  # the block number of draws that belong to no round

Draw = Callable[[np.random.Generator, int], AnyArray]
"""(generator, rounds) → an array whose first axis is the round."""


def generator(seed: int, purpose: str, run: int, block: int = ONCE) -> np.random.Generator:
    """The generator of one seed, purpose, run and block of rounds."""
    key = [seed, zlib.crc32(purpose.encode()), run, block]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


def uniforms(generator: np.random.Generator, rounds: int) -> AnyArray:
    """(rounds,) uniform on [0, 1)."""
    return generator.random(rounds)


class RoundDraws:
    """The same kind of draw for every round, for several runs at once.

    `runs` lists run numbers and may repeat one: two entries with the same number
    see the same draws, which is how settings are compared on common random numbers.
    """

    def __init__(self, seed: int, purpose: str, runs: Sequence[int], draw: Draw) -> None:
        self._seed, self._purpose, self._runs, self._draw = seed, purpose, tuple(runs), draw
        self._block = -1
        self._values: AnyArray = np.empty(0)

    def at(self, round: int) -> AnyArray:
        """(R, ...) the draws of one round."""
        return self.block(round // BLOCK)[round % BLOCK]

    def block(self, number: int) -> AnyArray:
        """(BLOCK, R, ...) the draws of a block of rounds."""
        if number != self._block:
            once = {
                run: self._draw(generator(self._seed, self._purpose, run, number), BLOCK)
                for run in dict.fromkeys(self._runs)
            }
            self._values = np.ascontiguousarray(np.stack([once[run] for run in self._runs], axis=1))
            self._block = number
        return self._values
