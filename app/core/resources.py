"""Finds the data files that ship with the studio, in a checkout and in an installed package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@cache
def resources() -> Path | Traversable:
    """The folder `resources`: inside the package when installed, else beside it."""
    packaged = files("app") / "resources"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "resources"


@cache
def resource(*parts: str) -> bytes:
    """The content of a shipped file, for example `resource("icons", "play.svg")`."""
    return resources().joinpath(*parts).read_bytes()


def resource_path(*parts: str) -> str:
    """Where a shipped file lies, for what can only read files, with forward slashes."""
    return Path(str(resources().joinpath(*parts))).as_posix()
