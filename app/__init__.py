"""The studio around the engine."""
