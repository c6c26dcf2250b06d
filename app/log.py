"""Keeps the log of the studio: a file of bounded size that a bug report may quote."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

LOG_FILE: Final = "studio.log"
LARGEST: Final = 1_000_000  # bytes
KEPT: Final = 3  # older files
FORMAT: Final = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


def start_log(folder: Path) -> logging.Handler:
    """Log to `folder`, or to the terminal where no file can be written; returns the handler."""
    handler: logging.Handler
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            folder / LOG_FILE, maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8", delay=False
        )
    except OSError as error:
        handler = logging.StreamHandler(sys.stderr)
        logging.getLogger(__name__).warning("No log in %s: %s", folder, error)
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return handler


def end_log(handler: logging.Handler) -> None:
    """Write what is left and let go of the file."""
    logging.getLogger().removeHandler(handler)
    handler.close()
