"""The attack grid: one axis at a time from two bases, and how each recipe does in every cell."""
