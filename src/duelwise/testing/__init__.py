"""Conformance suites that your own parts can inherit. Each is a class of plain pytest tests."""
