"""Finds the files of a voice that is named by any one of them."""

from __future__ import annotations

from pathlib import Path

from engine.cli.console import Console
from engine.cli.voices import VoiceSources
from engine.errors import VoiceFileError

EMBEDDING, CODES, TRANSCRIPT = ".spk", ".rvq", ".txt"


def voice_sources(named: Path, console: Console, *, words: bool = True) -> VoiceSources:
    """The files behind NAME, NAME.spk, NAME.rvq or a recording.

    NAME.spk is the voice alone. NAME or NAME.rvq is the best likeness that the files allow:
    NAME.spk, with NAME.rvq and its transcript NAME.txt where both are there. Any other file is
    a recording, used with its transcript beside it if there is one; that one is missing is told
    where the model makes use of `words`. Raises VoiceFileError if what was named is not there.
    """
    if not named.name or named.name == "..":
        raise VoiceFileError(f"{named} is a folder.", "Name a voice in it.")
    suffix = named.suffix.lower()
    if suffix == EMBEDDING:
        return VoiceSources(embedding=named)
    if suffix != CODES and named.is_file():
        transcript = named.with_suffix(TRANSCRIPT)
        if transcript.is_file():
            return VoiceSources(recording=named, transcript=transcript)
        if words:
            console.say(
                f"note: {transcript.name} is missing. With the exact words of {named.name} in it, "
                "the clone is most alike."
            )
        return VoiceSources(recording=named)
    base = named.with_suffix("") if suffix == CODES else named
    embedding, codes, transcript = (
        base.with_name(base.name + ending) for ending in (EMBEDDING, CODES, TRANSCRIPT)
    )
    if suffix == CODES:
        missing = [path for path in (named, embedding, transcript) if not path.is_file()]
        if missing:
            raise VoiceFileError(
                f"{named} needs {missing[0]}, which is not there.",
                "A voice is NAME.spk, with NAME.rvq and NAME.txt for the best likeness.",
            )
        return VoiceSources(embedding=embedding, codes=named, transcript=transcript)
    if not embedding.is_file():
        what = f"recording {named}" if suffix else f"voice {embedding}"
        raise VoiceFileError(
            f"There is no {what}.",
            "Name a recording, a .spk file, or a voice without its suffix.",
        )
    if codes.is_file() and transcript.is_file():
        return VoiceSources(embedding=embedding, codes=codes, transcript=transcript)
    if codes.is_file():
        console.say(f"note: {codes.name} is not used, since {transcript.name} is missing.")
    return VoiceSources(embedding=embedding)
