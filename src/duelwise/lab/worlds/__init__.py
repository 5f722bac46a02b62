"""Where votes come from: simulated and recorded worlds."""
