"""What waits: slots are freed, memory follows what is pending, order does not matter."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise.learning.learner import DuelingLearner
from duelwise.learning.recipes import rcdp_ucb
from duelwise.randomness import generator
from duelwise.testing.life import assert_same_state
from duelwise.types import Contexts, Duel, Votes


def fresh(runs: int = 1) -> DuelingLearner:
    return rcdp_ucb(runs=runs, context_dim=2, post_dim=1, post_serving="ridge", estimate="one-pass")


def serve(learner: DuelingLearner) -> int:
    """One more duel, the same for all runs; returns its round."""
    t = learner.round
    x = generator(t, "pairs", 0).standard_normal((learner.runs, 2, 2))
    learner.serve(Duel(t, np.tile([0, 1], (learner.runs, 1)), x, np.zeros((learner.runs, 2, 1))))
    return t


def context(*where: tuple[int, int]) -> Contexts:
    run, round = np.array(where).T
    return Contexts(run, round, np.array([[[0.1 * t], [-0.2]] for t in round]))


def vote(*where: tuple[int, int]) -> Votes:
    run, round = np.array(where).T
    return Votes(run, round, (round % 3) / 2.0)


def slots(learner: DuelingLearner) -> int:
    return learner.pending.state.shape[1]


def waiting(learner: DuelingLearner) -> list[int]:
    return sorted(set(learner.snapshot()["pending.round"].tolist()))


def test_a_long_stream_needs_no_more_room_than_what_waits() -> None:
    learner = fresh()
    for _ in range(3000):
        t = serve(learner)
        learner.observe(context((0, t)))
        if t >= 5:
            learner.tell(vote((0, t - 5)))
    assert slots(learner) == 8
    assert learner.pending.slot_of.shape[1] == 64
    assert waiting(learner) == list(range(2995, 3000))
    assert learner.pending.out.tolist() == [5]
    for _ in range(20):  # more wait, of rounds as near to each other as before
        serve(learner)
    assert slots(learner) == 32
    assert learner.pending.slot_of.shape[1] == 64


@given(seed=st.integers(0, 9999))
@settings(max_examples=15)
def test_random_schedules_keep_what_waits_and_nothing_else(seed: int) -> None:
    """Contexts, votes and forgetting in any order, against a plain dictionary of what is missing."""
    random, learner, runs = generator(seed, "schedule", 0), fresh(2), 2
    missing: dict[tuple[int, int], set[str]] = {}
    most = 0
    for _ in range(250):
        t = serve(learner)
        missing |= {(run, t): {"context", "vote"} for run in range(runs)}
        most = max(most, len({t for _, t in missing}))
        for key in list(missing):
            for what in sorted(missing.get(key, ())):
                if random.random() < 0.25:
                    if what == "context":
                        learner.observe(context(key))
                    else:
                        learner.tell(vote(key))
                    missing[key].discard(what)
            if key in missing and random.random() < 0.02:
                if missing[key]:
                    learner.forget(*key)
                missing[key] = set()
            if not missing.get(key, {"gone"}):
                del missing[key]
    assert waiting(learner) == sorted({t for _, t in missing})
    for run in range(runs):
        assert learner.pending.out[run] == sum("vote" in what for (r, _), what in missing.items() if r == run)
    assert slots(learner) <= max(8, 2 * most)
    rebuilt = fresh(2)
    rebuilt.restore(learner.snapshot())
    assert_same_state(rebuilt.snapshot(), learner.snapshot())
    for key, what in sorted(missing.items()):
        for state in (learner, rebuilt):
            if "context" in what:
                state.observe(context(key))
            if "vote" in what:
                state.tell(vote(key))
    assert waiting(learner) == []
    assert_same_state(rebuilt.snapshot(), learner.snapshot())


def test_the_index_slides_past_finished_rounds_and_keeps_a_straggler() -> None:
    learner = fresh()
    straggler = serve(learner)
    for _ in range(500):
        t = serve(learner)
        learner.observe(context((0, t)))
        learner.tell(vote((0, t)))
    assert waiting(learner) == [straggler]
    assert slots(learner) == 8
    learner.tell(vote((0, straggler)))
    assert learner.votes[0] == 500
    learner.observe(context((0, straggler)))
    assert learner.votes[0] == 501
    for _ in range(600):
        learner.forget(0, serve(learner))
    assert learner.pending.oldest[0] > straggler
    assert learner.round == 1101


def test_a_vote_before_its_context_waits_for_it() -> None:
    early, late = fresh(), fresh()
    for learner in (early, late):
        serve(learner)
    learned = early.tell(vote((0, 0)))
    assert len(learned.run) == 0
    np.testing.assert_array_equal(early.theta, 0.0)
    assert early.pending.out[0] == 0  # the vote is in: nobody waits for it
    learned = early.observe(context((0, 0)))
    assert (learned.run.tolist(), learned.round.tolist()) == ([0], [0])
    late.observe(context((0, 0)))
    late.tell(vote((0, 0)))
    assert_same_state(early.snapshot(), late.snapshot())


def test_votes_of_one_call_are_taken_in_serving_order() -> None:
    """However they are listed: run by run, and each run's in the order of its rounds."""
    one, other = fresh(2), fresh(2)
    for learner in (one, other):
        for _ in range(4):
            serve(learner)
        learner.observe(context(*((run, t) for t in range(4) for run in range(2))))
    listed = [(1, 3), (0, 0), (1, 0), (0, 2), (1, 2)]
    learned = one.tell(vote(*listed))
    assert list(zip(learned.run.tolist(), learned.round.tolist(), strict=True)) == sorted(listed)
    other.tell(vote(*sorted(listed)))
    assert_same_state(one.snapshot(), other.snapshot())


def test_forgetting_one_run_keeps_the_others() -> None:
    learner = fresh(3)
    t = serve(learner)
    learner.forget(1, t)
    assert learner.pending.out.tolist() == [1, 0, 1]
    assert waiting(learner) == [t]
    learner.observe(context((0, t), (2, t)))
    learner.tell(vote((2, t), (0, t)))
    assert waiting(learner) == []
    assert learner.votes.tolist() == [1, 0, 1]


def test_a_forgotten_duel_stays_in_the_served_geometry() -> None:
    learner = fresh()
    learner.observe(context((0, serve(learner))))
    before = learner.served_geometry.matrix.copy()
    learner.forget(0, 0)
    np.testing.assert_array_equal(learner.served_geometry.matrix, before)
    assert not np.array_equal(before[0], np.eye(3))


def test_a_served_duel_can_be_looked_at_while_it_waits() -> None:
    learner = fresh()
    t = serve(learner)
    x = generator(t, "pairs", 0).standard_normal((1, 2, 2))
    np.testing.assert_allclose(learner.served(t).dz[0], [*(x[0, 0] - x[0, 1]), 0.0])  # as predicted
    learner.observe(context((0, t)))
    served = learner.served(t)
    np.testing.assert_allclose(served.dz[0], [*(x[0, 0] - x[0, 1]), 0.2])
    assert served.leverage[0] == np.linalg.norm(served.dz[0])  # V = I before the first duel
    assert served.pending.tolist() == [1]


def test_a_reused_slot_remembers_nothing() -> None:
    """Equal states have equal snapshots, whatever stood in a slot before."""
    used, unused = fresh(), fresh()
    for _ in range(20):
        t = serve(used)
        used.observe(context((0, t)))
        used.tell(vote((0, t)))
    unused.restore(used.snapshot())
    for learner in (used, unused):
        t = serve(learner)
        served = learner.served(t)
        assert served.dz[0, 2] == 0.0
        assert (served.weight[0], served.leverage[0]) == (1.0, 0.0)
    assert_same_state(used.snapshot(), unused.snapshot())
