"""Undo and redo over values that never change: a step is kept as the value before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

T = TypeVar("T")

LIMIT = 200


@dataclass(frozen=True)
class Step(Generic[T]):
    """A value, and what was done to it next (`label`: "Delete take")."""

    value: T
    label: str


@dataclass(frozen=True)
class History(Generic[T]):
    """The present value between what can be undone and what can be done again."""

    present: T
    past: tuple[Step[T], ...] = ()  # oldest first
    future: tuple[Step[T], ...] = ()  # next one last
    limit: int = LIMIT
    merge: str = ""  # of the last step

    @property
    def undo_label(self) -> str:
        """What `undo` would take back, empty if nothing."""
        return self.past[-1].label if self.past else ""

    @property
    def redo_label(self) -> str:
        return self.future[-1].label if self.future else ""

    def push(self, value: T, label: str, merge: str = "") -> History[T]:
        """`value` as the new present; the future is gone, the oldest step too at the limit.

        Steps in a row with the same `merge` (typing in one box, one drag of a slider) are one.
        """
        if value == self.present:
            return self
        if merge and merge == self.merge and self.past and not self.future:
            return replace(self, present=value)
        past = (*self.past, Step(self.present, label))[-self.limit :]
        return replace(self, present=value, past=past, future=(), merge=merge)

    def undo(self) -> History[T]:
        """The value before the last step; the same history if there is none."""
        if not self.past:
            return self
        step = self.past[-1]
        future = (*self.future, Step(self.present, step.label))
        return replace(self, present=step.value, past=self.past[:-1], future=future, merge="")

    def redo(self) -> History[T]:
        """The value after the step that was undone last; the same history if there is none."""
        if not self.future:
            return self
        step = self.future[-1]
        past = (*self.past, Step(self.present, step.label))
        return replace(self, present=step.value, past=past, future=self.future[:-1], merge="")

    def everywhere(self, change: Callable[[T], T]) -> History[T]:
        """Apply to all values what is no step of its own, such as a take that has arrived.

        Without this, undoing an earlier step would make the take vanish.
        """
        return replace(
            self,
            present=change(self.present),
            past=tuple(Step(change(step.value), step.label) for step in self.past),
            future=tuple(Step(change(step.value), step.label) for step in self.future),
        )
