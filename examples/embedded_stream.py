"""A durable stream inside a plain script: no server, one file.

    python examples/embedded_stream.py [duels.db]

Run it again with the same file, and it goes on where it stopped.
"""

from __future__ import annotations

import sys

from duelwise.stream import DecisionStream, StreamSettings

HEADLINES = [
    {"id": "plain", "features": {"words": 0.6, "question": 0, "number": 0}},
    {"id": "question", "features": {"words": 0.8, "question": 1, "number": 0}},
    {"id": "list", "features": {"words": 0.7, "question": 0, "number": 1}},
    {"id": "short", "features": {"words": 0.3, "question": 0, "number": 0}},
]
READERS_LIKE = {"plain": 0, "question": 1, "list": 3, "short": 2}


def main(path: str = "headlines.db", readers: int = 60) -> dict[str, float]:
    """Show two headlines to each reader; the one they open wins. Returns what each feature is worth."""
    settings = StreamSettings(
        context_dim=3,
        feature_names=("words", "question", "number"),
    )
    with DecisionStream.create(f"sqlite:///{path}", "headlines", settings) as stream:
        for _ in range(readers):
            duel = stream.ask(HEADLINES)
            left, right = READERS_LIKE[str(duel.left.id)], READERS_LIKE[str(duel.right.id)]
            stream.tell(duel.ticket, "left" if left > right else "right")
        report = stream.report()
    print(f"{report.counts['told']} votes learned")
    for one in report.coefficients:
        print(f"{one.feature:>10} {one.estimate:+.2f} ± {one.standard_error:.2f}")
    return {one.feature: one.estimate for one in report.coefficients}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "headlines.db")
