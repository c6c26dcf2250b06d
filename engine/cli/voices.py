"""Turns the files that a command line names into the voice of a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from engine.audio import Recording, read_reference
from engine.cli.console import Console
from engine.cli.running import interruptible
from engine.cli.texts import read_text_file
from engine.families import Engine
from engine.types import Probe, Voice
from engine.voices import read_codes, read_embedding


@dataclass(frozen=True)
class VoiceSources:
    """Where the parts of a cloned voice lie; all None for none."""

    recording: Path | None = None  # any sound file
    embedding: Path | None = None  # .spk
    codes: Path | None = None  # .rvq
    transcript: Path | None = None  # .txt

    @property
    def is_empty(self) -> bool:
        return self == VoiceSources()


@dataclass(frozen=True, eq=False)
class VoiceInput:
    """What can be read of a voice before a model is loaded."""

    voice: Voice | None = None  # without what only a model can tell of `recording`
    recording: Recording | None = None

    def learned(self, engine: Engine, console: Console, probe: Probe | None = None) -> Voice | None:
        """The voice as a request wants it.

        A recording gives its x-vector, and with a transcript its codes too. Raises ModeError,
        AudioFileError, and Cancelled on Ctrl+C.
        """
        if self.recording is None:
            return self.voice
        console.say(f"Learning the voice of {self.recording.source.path}")
        samples = self.recording.at(engine.sample_rate)
        with interruptible() as cancel:
            learned = engine.extract_voice(samples, cancel=cancel, probe=probe)
        if self.voice is None:
            return Voice(embedding=learned.embedding)
        return replace(learned, transcript=self.voice.transcript)


def read_voice(sources: VoiceSources, width: int, console: Console) -> VoiceInput:
    """Read the files for a talker of `width`; what is wrong with a recording is told as notes.

    Raises VoiceFileError, AudioFileError and RequestError.
    """
    if sources.is_empty:
        return VoiceInput()
    transcript = None if sources.transcript is None else read_text_file(sources.transcript)
    if sources.recording is not None:
        recording = read_reference(sources.recording)
        for warning in recording.warnings:
            console.say(f"note: {warning.message}")
        return VoiceInput(
            None if transcript is None else Voice(transcript=transcript), recording=recording
        )
    return VoiceInput(
        Voice(
            embedding=(
                None if sources.embedding is None else read_embedding(sources.embedding, width)
            ),
            codes=None if sources.codes is None else read_codes(sources.codes),
            transcript=transcript,
        )
    )
