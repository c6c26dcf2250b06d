"""The shape of an attention, told without torch so that files can be described quickly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Heads:
    """How many attention heads there are and how wide each is."""

    queries: int
    keys: int
    width: int
