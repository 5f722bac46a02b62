"""The versions that every snapshot carries: of its layout and of the arithmetic that made it. Raised by hand.

A snapshot with another number is set aside, and the stream's log is folded again.
"""

FORMAT = 7
"""The layout of a snapshot: raise it when a name, a shape or the meaning of a stored value changes.

0.1 wrote no number, which counts as 1.
"""

ARITHMETIC = 5
"""The arithmetic of a fold: raise it when any log folds to other floats than before.

tests/stream/test_golden_log.py fails when floats move and this number does not. Servers with
different numbers refuse to share a store.
"""
