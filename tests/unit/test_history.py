"""Undo and redo: against two plain stacks, bounded, and with what arrives in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.core.history import History


@given(st.lists(st.sampled_from(["undo", "redo"]) | st.integers(0, 5)), st.integers(1, 6))
def test_it_behaves_as_two_stacks(acts: list[str | int], limit: int) -> None:
    history = History(0, limit=limit)
    past: list[int] = []
    future: list[int] = []
    present = 0
    for act in acts:
        if act == "undo":
            history = history.undo()
            if past:
                future.append(present)
                present = past.pop()
        elif act == "redo":
            history = history.redo()
            if future:
                past.append(present)
                present = future.pop()
        elif isinstance(act, int) and act != present:
            history = history.push(act, f"to {act}")
            past = [*past, present][-limit:]
            present, future = act, []
        assert history.present == present
        assert [step.value for step in history.past] == past
        assert [step.value for step in history.future] == future


def test_labels_say_what_would_happen() -> None:
    history = History("a").push("ab", "Type").push("b", "Delete")
    assert (history.undo_label, history.redo_label) == ("Delete", "")
    back = history.undo()
    assert (back.present, back.undo_label, back.redo_label) == ("ab", "Type", "Delete")
    assert back.redo() == history
    assert history.push("b", "Nothing") is history
    assert History("a").undo().redo() == History("a")


def test_typing_is_one_step_until_something_else_happens() -> None:
    history = History("").push("a", "Type", "box").push("ab", "Type", "box")
    assert history.undo().present == ""
    other = history.push("ab!", "Star").push("abc", "Type", "box").push("abcd", "Type", "box")
    assert [step.value for step in other.past] == ["", "ab", "ab!"]
    undone = other.undo().push("x", "Type", "box")
    assert undone.undo().present == "ab!"


def test_what_arrives_is_in_every_value() -> None:
    history = History[tuple[int, ...]]((1,)).push((1, 2), "Add").push((2,), "Delete").undo()
    arrived = history.everywhere(lambda takes: (*takes, 9))
    assert arrived.present == (1, 2, 9)
    assert arrived.undo().present == (1, 9)
    assert arrived.redo().present == (2, 9)
