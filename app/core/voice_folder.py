"""The files of one voice: what they are called, reading them, and speaking with them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from app.core.fields import Fields
from app.core.storage import DamagedFileError, read_bytes, read_document, storage_error
from app.core.transcripts import LONGEST_TRANSCRIPT, decode_transcript
from app.core.voice_record import (
    VOICE_DOCUMENT,
    LibraryVoice,
    Likeness,
    VoiceFiles,
    details_from,
)
from engine import Voice, VoiceFileError
from engine.types import CODEC_NAME
from engine.voices import KNOWN_WIDTHS, read_codes, read_embedding

DETAILS: Final = "voice.json"
CLIP: Final = "clip"  # and the ending of the file that was given
TRIMMED: Final = "trimmed.wav"
TRANSCRIPT: Final = "transcript.txt"
CODES: Final = "voice.rvq"  # of the official tokenizer
_CODES: Final = re.compile(rf"voice(?:-({CODEC_NAME.pattern}))?\.rvq")
_EMBEDDING: Final = re.compile(r"voice-([1-9][0-9]{0,5})\.spk")
_ENDING: Final = re.compile(r"\.[a-z0-9]{1,8}")


class VoiceWidthError(VoiceFileError):
    """The voice was made for models of another size; `can_be_remade` if its clip is there."""

    def __init__(self, message: str, hint: str, *, can_be_remade: bool) -> None:
        super().__init__(message, hint)
        self.can_be_remade = can_be_remade


def read_voice_folder(folder: Path) -> LibraryVoice:
    """The voice in a folder; raises ExplainedError."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError as error:
        raise storage_error(folder, "be read", error) from error
    if DETAILS not in names:
        raise DamagedFileError(
            f"The voice folder {folder} has no {DETAILS}.",
            "Import its .spk, .rvq and .txt files as a new voice, then delete it.",
        )
    document = read_document(folder / DETAILS, VOICE_DOCUMENT)
    details = details_from(Fields(document.values, str(folder / DETAILS)))
    transcript = ""
    if TRANSCRIPT in names:
        data = read_bytes(folder / TRANSCRIPT, LONGEST_TRANSCRIPT)
        transcript = decode_transcript(data, str(folder / TRANSCRIPT)).text
    return LibraryVoice(folder, details, _files(folder, names), transcript, document.read_only)


def load_voice(
    voice: LibraryVoice,
    width: int,
    likeness: Likeness = Likeness.STEADY,
    codebook_size: int = 2048,
    codec: str = "",
) -> Voice:
    """What a talker of `width` that speaks the codes of `codec` needs to speak with this voice.

    Raises VoiceWidthError if it was made for models of another size only, VoiceFileError if
    parts are missing or damaged.
    """
    if width not in voice.files.widths:
        raise _wrong_width(voice, width)
    embedding = read_embedding(voice.folder / embedding_name(width), width)
    if likeness is Likeness.STEADY:
        return Voice(embedding)
    has_codes = codec in voice.files.codecs
    if not has_codes or not voice.transcript:
        missing = "transcript" if has_codes else "reference codes"
        raise VoiceFileError(
            f"The voice {voice.name!r} has no {missing}, which the best likeness needs.",
            "Use its sound alone (Voice only)"
            + (", or add the words of its clip." if missing == "transcript" else "."),
        )
    codes = read_codes(voice.folder / codes_name(codec), codebook_size)
    return Voice(embedding, codes, voice.transcript)


def clip_name(path: Path) -> str:
    """How a clip is called in a voice folder: with its own ending, if that is one."""
    ending = path.suffix.lower()
    return CLIP + (ending if _ENDING.fullmatch(ending) else ".bin")


def embedding_name(width: int) -> str:
    return f"voice-{width}.spk"


def codes_name(codec: str) -> str:
    """The file of the reference codes of a tokenizer, as descriptions of models name it."""
    assert not codec or CODEC_NAME.fullmatch(codec), "whoever reads names of tokenizers checks them"
    return f"voice-{codec}.rvq" if codec else CODES


def is_voice_file(name: str) -> bool:
    """Whether a file of this name is part of a voice folder, beside `voice.json`."""
    return (
        name in (TRIMMED, TRANSCRIPT)
        or bool(_CODES.fullmatch(name))
        or bool(_EMBEDDING.fullmatch(name))
        or (name.startswith(CLIP) and bool(_ENDING.fullmatch(name[len(CLIP) :])))
    )


def encode_transcript(text: str) -> bytes:
    """How a transcript is stored: UTF-8, no mark; half a surrogate pair becomes "?"."""
    return text.strip().encode(errors="replace")


def voice_files(folder: Path) -> list[Path]:
    """What belongs to the voice in a folder, except `voice.json`; links are left out. OSError."""
    return [
        path
        for path in sorted(folder.iterdir())
        if is_voice_file(path.name) and path.is_file() and not path.is_symlink()
    ]


def copy_voice_files(source: Path, target: Path) -> None:
    """Copy what belongs to a voice, except `voice.json`. Raises OSError."""
    for path in voice_files(source):
        shutil.copyfile(path, target / path.name)


def _files(folder: Path, names: list[str]) -> VoiceFiles:
    clips = [name for name in names if name.startswith(CLIP + ".") and is_voice_file(name)]
    widths = [int(match.group(1)) for match in map(_EMBEDDING.fullmatch, names) if match]
    return VoiceFiles(
        clip=folder / clips[0] if clips else None,
        trimmed=folder / TRIMMED if TRIMMED in names else None,
        codecs=tuple(sorted(match[1] or "" for match in map(_CODES.fullmatch, names) if match)),
        widths=tuple(sorted(widths)),
    )


def _wrong_width(voice: LibraryVoice, width: int) -> VoiceFileError:
    wanted = _model(width)
    if voice.files.widths:
        made_for = " and the ".join(map(_model, voice.files.widths))
        message = (
            f"This voice was made for the {made_for} model; the {wanted} model cannot read it."
        )
    else:
        message = f"The voice {voice.name!r} is not finished: it has no speaker embedding yet."
    if voice.recording is not None:
        hint = "Make it again from its saved clip?"
    elif voice.files.widths:
        hint = (
            f"It has no clip to make it again from: load a {_model(voice.files.widths[0])} model."
        )
    else:
        hint = "It has no clip to make one from: import or record the voice again."
    return VoiceWidthError(message, hint, can_be_remade=voice.recording is not None)


def _model(width: int) -> str:
    return KNOWN_WIDTHS.get(width, f"{width}-wide")
