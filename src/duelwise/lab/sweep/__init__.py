"""Playing many cells, and keeping their curves."""
