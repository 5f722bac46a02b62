"""What was played, as tables, charts and pages."""
