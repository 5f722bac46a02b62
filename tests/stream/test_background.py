"""Work in the background: one after the other, and who waits, waits for what it leads to."""

import threading

from duelwise.stream.background import Background


def test_who_waits_waits_for_what_a_task_has_queued() -> None:
    background, begun, go, done = Background("meals"), threading.Event(), threading.Event(), []

    def second() -> None:
        done.append("second")

    def first() -> None:
        begun.set()
        go.wait()
        background.do(second)
        done.append("first")

    background.do(first)
    begun.wait()
    threading.Timer(0.05, go.set).start()  # the task ends only once somebody waits for it
    background.wait()
    assert done == ["first", "second"]
    background.finish()


def test_a_task_that_fails_is_a_problem_and_the_next_is_done() -> None:
    background, done = Background("meals"), []
    background.do(lambda: done.index("nothing"))
    background.do(lambda: done.append("next"))
    background.finish()
    assert done == ["next"]
    assert "ValueError" in str(background.problem)
