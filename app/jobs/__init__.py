"""Work that must not block the window: a queue of jobs for the engine's own thread."""
