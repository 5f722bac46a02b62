import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from duelwise.stream.group_commit import MOST_AT_ONCE, GroupCommit


def _in_threads(count: int, work: Callable[[int], None]):
    threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def test_those_who_wait_share_one_commit() -> None:
    sizes, got = [], {}

    def commit(items: list[Any]):
        sizes.append(len(items))
        time.sleep(0.02)
        return [item * 10 for item in items]

    group = GroupCommit(commit, threading.Lock())

    def work(number: int):
        for i in range(5):
            item = number * 100 + i
            got[item] = group.submit([item, item + 50])

    _in_threads(12, work)
    assert got == {item: [item * 10, (item + 50) * 10] for item in got}
    assert len(got) == 60
    assert sum(sizes) == 120
    assert len(sizes) < 30


def test_a_commit_is_not_too_large() -> None:
    sizes = []
    entered = threading.Event()

    def commit(items: list[Any]):
        entered.wait()
        sizes.append(len(items))
        return items

    group = GroupCommit(commit, threading.Lock())
    threads = [threading.Thread(target=group.submit, args=[[0] * 200]) for _ in range(7)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    entered.set()
    for thread in threads:
        thread.join(30)
    assert sum(sizes) == 1400
    assert 200 < max(sizes) <= MOST_AT_ONCE


def test_a_failure_reaches_everyone_in_the_transaction_and_no_one_else() -> None:
    def commit(items: list[Any]):
        time.sleep(0.005)
        if "bad" in items:
            raise OSError("no")
        return items

    group = GroupCommit(commit, threading.Lock())
    outcomes = []

    def work(number: int):
        for i in range(10):
            item = "bad" if (number, i) == (3, 5) else f"{number} {i}"
            try:
                assert group.submit([item]) == [item]
                outcomes.append("fine")
            except OSError:
                outcomes.append("failed")

    _in_threads(6, work)
    assert len(outcomes) == 60
    assert 1 <= outcomes.count("failed") <= 6


def test_an_interrupted_leader_hands_on() -> None:
    calls = []

    def commit(items: list[Any]):
        calls.append(items)
        if items == ["stop"]:
            raise KeyboardInterrupt
        return items

    group = GroupCommit(commit, threading.Lock())
    with pytest.raises(KeyboardInterrupt):
        group.submit(["stop"])
    assert group.submit(["on"]) == ["on"]
