"""Which of two dishes shall the app show? Warmth and lateness are only known after delivery.

    duelwise serve &
    python examples/food_delivery.py http://127.0.0.1:8000

Customers here are simulated: they like cheap, warm and punctual food, answer late, and
some never do. The stream learns from what they say which dishes to show, and from what
the courier reports which dishes arrive cold.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np

from duelwise.client import Client, RemoteStream, Winner
from duelwise.randomness import generator

FEATURES = ("price", "distance", "rating", "warmth", "lateness")
TASTE = np.array(
    [-1.0, 0.0, 0.5, 2.0, -1.5]
)  # what a customer cares about; distance only through its effects
ANSWERED = 0.9  # of the customers


def dishes(rng: np.random.Generator, how_many: int = 6) -> np.ndarray:
    """(K, 3) price, distance and rating of what is on offer now, each scaled to [0, 1]."""
    return rng.random((how_many, 3))


def delivered(rng: np.random.Generator, dish: np.ndarray) -> list[float]:
    """Warmth and lateness of a delivered dish: far means cold and late."""
    warmth = 1.0 - 0.8 * dish[1] + 0.05 * rng.standard_normal()
    lateness = 0.9 * dish[1] ** 2 + 0.05 * rng.standard_normal()
    return [float(warmth), float(lateness)]


def evening(meals: RemoteStream, rng: np.random.Generator, orders: int) -> float:
    """Serve some orders and let the votes come in late. Returns how good the better dish was on average."""
    votes: list[tuple[str, Winner]] = []
    joy = 0.0
    for _ in range(orders):
        menu = dishes(rng)
        duel = meals.ask(
            [{"id": f"dish {i}", "features": list(map(float, dish))} for i, dish in enumerate(menu)]
        )
        shown = [menu[duel.left.index], menu[duel.right.index]]
        known = [delivered(rng, dish) for dish in shown]
        meals.observe(duel.ticket, left=known[0], right=known[1])
        worth = [float(TASTE @ [*dish, *after]) for dish, after in zip(shown, known, strict=True)]
        joy += max(worth)
        if rng.random() < ANSWERED:
            says_left = rng.random() < 1 / (1 + np.exp(worth[1] - worth[0]))
            votes.append((duel.ticket, "left" if says_left else "right"))
    for ticket, winner in reversed(votes):  # the last customer answers first
        meals.tell(ticket, winner, source="app")
    return joy / orders


def main(url: str = "http://127.0.0.1:8000", *, evenings: int = 10, orders: int = 40,
         client: Client | None = None) -> list[float]:  # fmt: skip
    """Serve some evenings; the average joy should rise."""
    rng = generator(7, "food delivery", 0)
    with client or Client(url) as service:
        meals = service.create("dinner", context_dim=3, post_dim=2, feature_names=FEATURES)
        joys = [evening(meals, rng, orders) for _ in range(evenings)]
        report = meals.report()
    for number, joy in enumerate(joys, start=1):
        print(f"evening {number}: average joy {joy:.2f}")
    for one in cast("list[dict[str, Any]]", report["coefficients"]):
        print(f"{one['feature']:>10} {one['estimate']:+.2f} ± {one['standard_error']:.2f}")
    print(f"{report['pending']} customers have not answered yet")
    return joys


if __name__ == "__main__":
    main(*sys.argv[1:])
