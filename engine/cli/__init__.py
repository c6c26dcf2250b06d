"""Headless commands of the engine."""
