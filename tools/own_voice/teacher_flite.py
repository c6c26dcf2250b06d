"""Let flite's voices read the sentences: many hours of plain speech in minutes.

    python -m tools.own_voice.teacher_flite WORK_DIR --voice slt --sentences 36000

Needs Debian's `libflite1`. Writes shards in the format of `teacher.py`, into `audio-flite/`, with
the voice's name in front of their number. Flite's speech is dull but clear (Whisper tiny gets 4
words in 100 wrong), equal words always sound alike, and every phoneme's time is exact.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import time
from ctypes import POINTER, c_char_p, c_float, c_int, c_short, c_void_p
from pathlib import Path

import numpy as np
import soxr  # type: ignore[import-not-found]

from tools.own_voice.teacher import MARGIN, RATE, SHARD, Reading, write_shard
from tools.own_voice.teacher_voices import FLITE_VOICES, PITCHES, Manner, varied_manner

QUIET = 0.01  # of full scale
VARIED = "varied"

_PHONES = (
    "aa ɑ ae æ ah ʌ ao ɔ aw a ax ə ay ʲ b b ch x d d dh ð eh ɛ er ɚ ey e f f g ɡ hh h ih ɪ iy i "  # noqa: RUF001
    "jh c k k l l m m n n ng ŋ ow o oy ɒ p p r ɹ s s sh ʃ t t th θ uh ʊ uw u v v w w y j z z zh ʒ"
)
PHONES = dict(zip(_PHONES.split()[::2], _PHONES.split()[1::2], strict=True))
"""Flite's phones as the teachers' alphabet has them; ay, aw, ch, jh and oy get rare symbols."""


class _Wave(ctypes.Structure):
    _fields_ = (
        ("type", c_char_p),
        ("rate", c_int),
        ("count", c_int),
        ("channels", c_int),
        ("samples", POINTER(c_short)),
    )


class FliteTeacher:
    """Reads with flite's voices, in any manner."""

    def __init__(self) -> None:
        self._flite = ctypes.CDLL("libflite.so.1", mode=ctypes.RTLD_GLOBAL)
        for part in ("usenglish", "cmulex"):
            ctypes.CDLL(f"libflite_{part}.so.1", mode=ctypes.RTLD_GLOBAL)
        for name, answer, given in (
            ("flite_synth_text", c_void_p, (c_char_p, c_void_p)),
            ("utt_wave", POINTER(_Wave), (c_void_p,)),
            ("utt_relation", c_void_p, (c_void_p, c_char_p)),
            ("relation_head", c_void_p, (c_void_p,)),
            ("item_next", c_void_p, (c_void_p,)),
            ("ffeature_string", c_char_p, (c_void_p, c_char_p)),
            ("item_feat_float", c_float, (c_void_p, c_char_p)),
            ("flite_feat_set_float", None, (c_void_p, c_char_p, c_float)),
            ("delete_utterance", None, (c_void_p,)),
        ):
            function = getattr(self._flite, name)
            function.restype, function.argtypes = answer, given
        self._flite.flite_init()
        self._voices: dict[str, int] = {}

    def _voice(self, manner: Manner) -> int:
        name = manner.voice
        if name not in self._voices:
            library = ctypes.CDLL(f"libflite_cmu_us_{name}.so.1")
            register = getattr(library, f"register_cmu_us_{name}")
            register.restype, register.argtypes = c_void_p, (c_char_p,)
            self._voices[name] = register(None)
        voice = self._voices[name]
        features = ctypes.cast(voice, POINTER(c_void_p))[1]  # the struct's second member
        settings = {b"duration_stretch": manner.pace * manner.warp}
        settings[b"int_f0_target_mean"] = PITCHES[name] * 2 ** (manner.pitch / 12)
        for setting, value in settings.items():
            self._flite.flite_feat_set_float(features, setting, value)
        return voice

    def read(self, text: str, manner: Manner) -> Reading:
        """Read `text`, speech only: the pauses around it are cut away."""
        flite, voice = self._flite, self._voice(manner)
        utterance = flite.flite_synth_text(text.encode("ascii", "replace"), voice)
        wave = flite.utt_wave(utterance).contents
        sound = np.ctypeslib.as_array(wave.samples, (wave.count,)).astype(np.float32) / 32768
        samples = soxr.resample(sound, wave.rate * manner.warp, RATE)
        phonemes, word_before = "", None
        ends: list[float] = []
        segment = flite.relation_head(flite.utt_relation(utterance, b"Segment"))
        while segment:
            phone = flite.ffeature_string(segment, b"name").decode()
            end = flite.item_feat_float(segment, b"end") / manner.warp
            if phone == "pau":
                if ends:
                    ends[-1] = end
            else:
                word = flite.ffeature_string(segment, b"R:SylStructure.parent.parent.name")
                place = flite.ffeature_string(segment, b"R:SylStructure.parent.parent.addr")
                if word_before not in (None, (word, place)):
                    phonemes += " "
                    ends.append(ends[-1])
                word_before = (word, place)
                phonemes += PHONES[phone]
                ends.append(end)
            segment = flite.item_next(segment)
        flite.delete_utterance(utterance)
        loud = np.flatnonzero(np.abs(samples) > QUIET)
        first = max(0, int(loud[0] - MARGIN * RATE))
        last = min(len(samples), int(loud[-1] + MARGIN * RATE))
        times = np.minimum(np.array(ends, np.float32), len(samples) / RATE) - first / RATE
        kept = (np.clip(samples[first:last], -1, 1) * 32767).astype(np.int16)
        return Reading(kept, phonemes, times.clip(min=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--voice", choices=(*FLITE_VOICES, VARIED), default="slt")
    parser.add_argument("--first", type=int, default=0, help="sentence")
    parser.add_argument("--sentences", type=int, default=36_000)
    parser.add_argument("--list", default="train", help="train or everyday")
    given = parser.parse_args()
    os.nice(5)
    texts = (given.work / f"{given.list}.txt").read_text().splitlines()
    texts = texts[given.first : given.first + given.sentences]
    folder = given.work / "-".join(
        ["audio-flite"]
        + [VARIED] * (given.voice == VARIED)
        + [given.list] * (given.list != "train")
    )
    folder.mkdir(exist_ok=True)
    teacher, seconds, started = FliteTeacher(), 0.0, time.monotonic()
    for at in range(0, len(texts), SHARD):
        file = folder / f"{given.voice}-{(given.first + at) // SHARD:05d}.npz"
        if file.exists():
            continue
        lines = texts[at : at + SHARD]
        if given.voice == VARIED:
            numbers = range(given.first + at, given.first + at + len(lines))
            manners = [varied_manner(number, given.list) for number in numbers]
            voices = [str(manner) for manner in manners]
        else:
            manners = [FLITE_VOICES[given.voice]] * len(lines)
            voices = [given.voice] * len(lines)
        readings = [teacher.read(*pair) for pair in zip(lines, manners, strict=True)]
        write_shard(file, lines, voices, readings)
        seconds += sum(len(reading.samples) for reading in readings) / RATE
    took = time.monotonic() - started
    print(f"{given.voice}: {seconds / 3600:.2f} h of speech in {took / 60:.1f} min")


if __name__ == "__main__":
    main()
