"""Finds the files of a voice that is named by any one of them, or as the library calls it."""

from __future__ import annotations

import re
from pathlib import Path

from app.core.folding import fold
from app.core.names import slug
from app.core.voice_folder import TRANSCRIPT as LIBRARY_TRANSCRIPT
from app.core.voice_folder import codes_name, embedding_name, read_voice_folder
from app.core.voice_listing import VoiceListing, list_voices
from app.core.voice_record import LibraryVoice, sorted_voices
from engine.cli.console import Console
from engine.cli.voices import VoiceSources
from engine.errors import VoiceFileError
from engine.types import ModelDescription

_NUMBER = re.compile(r"-[0-9a-z]{1,8}$")

EMBEDDING, CODES, TRANSCRIPT = ".spk", ".rvq", ".txt"


def voice_sources(
    named: str, description: ModelDescription, library: Path, console: Console
) -> VoiceSources:
    """The files behind NAME, NAME.spk, NAME.rvq, a recording, or else a voice of the library.

    NAME.spk is the voice alone. NAME or NAME.rvq is the best likeness that the files allow:
    NAME.spk, with NAME.rvq and its transcript NAME.txt where both are there. Any other file is
    a recording, used with its transcript beside it if there is one; that one is missing is told
    where the model makes use of words. A voice of the library that was never made for a talker of
    this width is learnt from its clip. Raises VoiceFileError if what was named is not there,
    ExplainedError if a voice of that name is damaged, and OSError if it can be no file's name.
    """
    if not named.strip():
        raise VoiceFileError("--voice names nothing.", "Name a recording, or a voice.")
    try:
        return _files_named(Path(named), description, console)
    except (VoiceFileError, OSError) as error:
        voices = list_voices(library, read_voice_folder)
        voice = _find(named, voices, library, console)
        if voice is None:
            if isinstance(error, OSError):
                raise
            names = ", ".join(one.name for one in sorted_voices(voices.voices))
            known = f" The library has: {names}." if names else ""
            raise VoiceFileError(error.message, f"{error.hint}{known}") from error
        return _sources_of(voice, description)


def _files_named(named: Path, description: ModelDescription, console: Console) -> VoiceSources:
    if not named.name or named.name == "..":
        raise VoiceFileError(f"{named} is a folder.", "Name a voice in it.")
    suffix = named.suffix.lower()
    if suffix == EMBEDDING:
        if not named.exists():
            raise VoiceFileError(f"There is no {named}.", "Check its name.")
        return VoiceSources(embedding=named)
    if suffix != CODES and named.is_file():
        transcript = named.with_suffix(TRANSCRIPT)
        if transcript.is_file():
            return VoiceSources(recording=named, transcript=transcript)
        if not description.x_vector_only:
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


def _find(name: str, listing: VoiceListing, library: Path, console: Console) -> LibraryVoice | None:
    """The voice of that name, with just this spelling if there is one."""
    wanted = fold(name) or name
    alike = [voice for voice in sorted_voices(listing.voices) if fold(voice.name) == wanted]
    alike = [voice for voice in alike if voice.name == name] or alike
    if len(alike) > 1:
        console.say(f"note: {len(alike)} voices are called {alike[0].name}; the oldest is used.")
    if not alike:
        for damaged in listing.damaged:
            known_as = _NUMBER.sub("", damaged.name)  # as the library names folders
            if damaged.folder == library or known_as in (slug(name, fallback=name), name):
                raise damaged.error
    return alike[0] if alike else None


def _sources_of(voice: LibraryVoice, description: ModelDescription) -> VoiceSources:
    transcript = voice.folder / LIBRARY_TRANSCRIPT if voice.transcript else None
    if description.width not in voice.files.widths:
        if voice.recording is None and not voice.files.widths:
            raise VoiceFileError(
                f"The voice {voice.name!r} has neither a clip nor a speaker embedding.",
                "Import or record it again.",
            )
        if voice.recording is None:
            raise VoiceFileError(
                f"The voice {voice.name!r} was made for models of another size than "
                f"{description.path.name}, and has no clip to learn it from again.",
                "Choose a talker of its size with --model.",
            )
        return VoiceSources(recording=voice.recording, transcript=transcript)
    embedding = voice.folder / embedding_name(description.width)
    if transcript is None or description.codec_name not in voice.files.codecs:
        return VoiceSources(embedding=embedding)
    codes = voice.folder / codes_name(description.codec_name)
    return VoiceSources(embedding=embedding, codes=codes, transcript=transcript)
