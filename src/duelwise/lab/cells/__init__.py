"""Cells: one problem, one method and some runs, as settings that can be written down and played."""
