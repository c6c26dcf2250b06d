"""The controllers behind the window: they own its state and do its work, without a widget."""
