"""Turns the files that a command line names into the voice of a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from engine.audio import Recording, read_reference
from engine.cli.console import Console
from engine.cli.running import interruptible
from engine.cli.texts import read_text_file
from engine.families import Engine, check_can_learn
from engine.types import ModelDescription, Probe, Voice
from engine.voices import read_codes, read_embedding

NO_VOICE = "note: no voice is given, so the base model makes one up. Use {}."


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
    transcript: Path | None = None

    @property
    def known(self) -> Voice | None:
        """The voice, unless a model has to learn it first."""
        return self.voice if self.recording is None else None

    def learned(self, engine: Engine, console: Console, probe: Probe | None = None) -> Voice | None:
        """The voice as a request wants it.

        A recording gives its x-vector, and with a transcript its codes too. Raises ModeError,
        AudioFileError, and Cancelled on Ctrl+C.
        """
        if self.recording is None:
            return self.voice
        manner = "voice alone" if self.transcript is None else f"with {self.transcript.name}"
        console.say(f"Learning the voice of {self.recording.source.path} ({manner})")
        samples = self.recording.at(engine.sample_rate)
        with interruptible() as cancel:
            learned = engine.extract_voice(samples, cancel=cancel, probe=probe)
        if self.voice is None:
            return Voice(embedding=learned.embedding)
        return replace(learned, transcript=self.voice.transcript)


def read_voice(
    sources: VoiceSources, description: ModelDescription, console: Console
) -> VoiceInput:
    """Read the files for a talker; what is wrong with a recording is told as notes.

    Raises VoiceFileError, AudioFileError and RequestError, and ModeError if the talker cannot
    learn a voice from a recording.
    """
    if sources.is_empty:
        return VoiceInput()
    if sources.recording is not None:
        check_can_learn(description)
    transcript = None if sources.transcript is None else read_text_file(sources.transcript)
    if sources.recording is not None:
        recording = read_reference(sources.recording)
        for warning in recording.warnings:
            console.say(f"note: {warning.message}")
        return VoiceInput(
            None if transcript is None else Voice(transcript=transcript),
            recording,
            sources.transcript,
        )
    return VoiceInput(
        Voice(
            embedding=(
                None
                if sources.embedding is None
                else read_embedding(sources.embedding, description.width)
            ),
            codes=(
                None
                if sources.codes is None
                else read_codes(sources.codes, description.codebook_size)
            ),
            transcript=transcript,
        )
    )
