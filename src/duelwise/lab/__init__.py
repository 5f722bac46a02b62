"""Experiments: simulated worlds, methods that play in them, sweeps and reports."""
