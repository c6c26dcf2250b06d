"""Fetches the voice of a request on the engine's thread, learning what is still missing of it."""

from __future__ import annotations

from collections.abc import Callable

from app.core.takes import TakeRequest
from app.core.voice_cache import VoiceCache
from app.core.voice_folder import load_voice
from app.core.voice_record import LibraryVoice, Likeness
from app.core.voices import VoiceLibrary
from engine import CancelToken, Engine, Family, ModelDescription, Voice, VoiceFileError
from engine.audio import MODEL_RATE, read_reference
from engine.types import DEMO_WIDTH


class VoiceReader:
    """Reads voices out of a library. For the engine's thread."""

    def __init__(self, library: VoiceLibrary, learnt: Callable[[str], None]) -> None:
        """`learnt` is told the id of a voice that has got something new."""
        self._library = library
        self._learnt = learnt
        self._read = VoiceCache()

    def voice_of(
        self, request: TakeRequest, engine: Engine, token: CancelToken, *, remake: bool = False
    ) -> Voice | None:
        """The voice a request names, None if it names none.

        What it never had is made from its recording first: the speaker embedding, and codes where
        the best likeness needs them. An embedding for other models only is made again if `remake`,
        else that raises VoiceWidthError. Raises VoiceFileError if the voice or parts of it are
        missing, AudioFileError, ModeError, StorageError, and Cancelled.
        """
        if request.family is not Family.BASE or not request.voice_id:
            return None
        voice = self._library.list(self._read).find(request.voice_id)
        if voice is None:
            raise VoiceFileError(
                "The voice of this take is not in the library any more.",
                "Restore it from the trash, or choose another voice.",
            )
        model = engine.description
        likeness = Likeness.STEADY if model.x_vector_only else request.likeness
        if _is_incomplete(voice, model, likeness, remake=remake):
            voice = self._learn(voice, engine, token)
        return load_voice(voice, model.width, likeness, engine.codebook_size, model.codec_name)

    def _learn(self, voice: LibraryVoice, engine: Engine, token: CancelToken) -> LibraryVoice:
        assert voice.recording is not None, "looked at before"
        samples = read_reference(voice.recording).at(MODEL_RATE)
        made = engine.extract_voice(samples, cancel=token)
        voice = self._library.list(self._read).find(voice.id) or voice  # it may have been renamed
        codec = engine.description.codec_name
        codes = None if codec in voice.files.codecs else made.codes
        completed = self._library.complete(voice, made.embedding, codes, codec=codec)
        self._learnt(voice.id)
        return completed


def _is_incomplete(
    voice: LibraryVoice, model: ModelDescription, likeness: Likeness, *, remake: bool
) -> bool:
    """Whether something is missing that its recording can give."""
    if voice.recording is None:
        return False
    width = model.width
    has_other_widths = bool(set(voice.files.widths) - {DEMO_WIDTH}) and not remake
    lacks_embedding = width not in voice.files.widths and not has_other_widths
    wants_codes = likeness is Likeness.BEST and bool(voice.transcript)
    lacks_codes = wants_codes and model.codec_name not in voice.files.codecs
    lacks_codes = lacks_codes and width in voice.files.widths
    return lacks_embedding or lacks_codes
