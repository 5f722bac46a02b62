"""The paper's theory, executable: its bounds, its claims checked by simulation, and advice from both."""
