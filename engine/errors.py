"""What the engine says when something is wrong: one sentence, and what to do about it."""

from __future__ import annotations


class ExplainedError(Exception):
    """An expected failure, worded for the person who will read it.

    `message` is one sentence with the cause (path, key, tensor or device in it), `hint` says what
    to do, `detail` holds whatever a bug report would want.
    """

    def __init__(self, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class ModelFileError(ExplainedError):
    """A model file is truncated, damaged, of another kind, or does not hold what it should."""


def no_numbers() -> ModelFileError:
    """The error of a model that has computed something that is no number."""
    return ModelFileError(
        "The model computed values that are no numbers.",
        "Its file is damaged, or its values do not fit the precision: download it again, or "
        "choose the precision f32.",
    )


class VoiceFileError(ExplainedError):
    """A `.spk` or `.rvq` file cannot be used: damaged, of the wrong kind or for another model."""


class AudioFileError(ExplainedError):
    """A recording cannot be read or cannot serve as a reference."""


class RequestError(ExplainedError):
    """A parameter of a request is missing or out of range."""


class ModeError(ExplainedError):
    """A request asks for something that the loaded model family cannot do."""


class DeviceError(ExplainedError):
    """The chosen device or precision is not available here."""


class Cancelled(Exception):
    """An ending that the user asked for, not an error: what was made until then is kept."""
