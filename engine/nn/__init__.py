"""Layers that the models are built of; they know no model names."""
