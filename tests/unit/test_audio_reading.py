"""Recordings of every sort, whole, odd and broken: read, or refused in a sentence."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from engine.audio import (
    AudioWarningKind,
    Recording,
    assess,
    check_reference,
    read_audio,
    read_reference,
)
from engine.errors import AudioFileError

RATE = 24_000
Write = Callable[[str, bytes], Path]


def speech(seconds: float = 4.0, rate: int = RATE, level: float = 0.3) -> NDArray[np.float64]:
    """Something like speech: syllables of a buzz with pauses between them."""
    time = np.arange(int(seconds * rate)) / rate
    buzz = sum(np.sin(2 * np.pi * 140 * h * time + h) / h for h in range(1, 8))
    syllables = np.clip(np.sin(2 * np.pi * 2.5 * time) + 0.4, 0, 1)
    return np.asarray(level * buzz / 1.6 * syllables)


def encode(
    samples: NDArray[np.float64], container: str = "WAV", encoding: str = "PCM_16", rate: int = RATE
) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=container, subtype=encoding)
    return file.getvalue()


def wav(data: bytes, *, bits: int = 16, tag: int = 1, size: int | None = None) -> bytes:
    """A WAV file written by hand; `size` is what the header claims of `data`."""
    size = len(data) if size is None else size
    form = struct.pack("<HHIIHH", tag, 1, RATE, RATE * bits // 8, bits // 8, bits)
    head = b"WAVE" + b"fmt " + struct.pack("<I", len(form)) + form
    riff = struct.pack("<I", min(size + 36, 0xFFFF_FFFF))
    return b"RIFF" + riff + head + b"data" + struct.pack("<I", size) + data


def pcm(samples: NDArray[np.float64]) -> bytes:
    return (samples * 32767).astype("<i2").tobytes()


def kinds(recording: Recording) -> list[AudioWarningKind]:
    return [warning.kind for warning in recording.warnings]


def value(recording: Recording, kind: AudioWarningKind) -> float:
    (found,) = [warning for warning in recording.warnings if warning.kind == kind]
    assert found.message.endswith(".")
    assert "\n" not in found.message
    return found.value


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


def refusal(path: Path, read: Callable[[Path], Recording] = read_audio) -> AudioFileError:
    with pytest.raises(AudioFileError) as caught:
        read(path)
    error = caught.value
    assert str(path) in error.message
    assert error.message.endswith(".")
    assert "\n" not in error.message
    assert error.hint.endswith(".")
    return error


# What is read


@pytest.mark.parametrize(
    ("container", "encoding", "step"),
    [
        ("WAV", "PCM_U8", 1 / 128),
        ("WAV", "PCM_16", 1 / 32768),
        ("WAV", "PCM_24", 1 / 2**23),
        ("WAV", "PCM_32", 1 / 2**24),
        ("WAV", "FLOAT", 1 / 2**24),
        ("WAV", "DOUBLE", 1 / 2**24),
        ("WAV", "ULAW", 0.02),
        ("WAV", "IMA_ADPCM", 0.1),
        ("WAVEX", "PCM_16", 1 / 32768),
        ("WAVEX", "FLOAT", 1 / 2**24),
        ("RF64", "PCM_24", 1 / 2**23),
        ("W64", "PCM_16", 1 / 32768),
        ("CAF", "PCM_16", 1 / 32768),
        ("AIFF", "PCM_24", 1 / 2**23),
        ("AU", "PCM_16", 1 / 32768),
        ("FLAC", "PCM_16", 1 / 32768),
        ("FLAC", "PCM_24", 1 / 2**23),
        ("OGG", "VORBIS", 0.1),
        ("OGG", "OPUS", 0.2),
        ("MP3", "MPEG_LAYER_III", 0.1),
    ],
)
def test_formats(write: Write, container: str, encoding: str, step: float) -> None:
    samples = speech()
    recording = read_audio(write("a.bin", encode(samples, container, encoding)))
    assert recording.sample_rate == RATE
    assert recording.channels == 1
    assert recording.samples.dtype == np.float32
    assert recording.source.encoding == encoding
    assert recording.warnings == ()
    difference = np.abs(recording.samples[: len(samples)] - samples)
    assert difference.max() <= step * 1.01
    assert 0 <= len(recording.samples) - len(samples) < 2048  # ADPCM fills its last block


@pytest.mark.parametrize(
    ("bits", "tag", "data", "expected"),
    [
        (8, 1, bytes([0, 128, 255]), [-1, 0, 127 / 128]),
        (16, 1, struct.pack("<3h", -32768, 1, 32767), [-1, 1 / 32768, 32767 / 32768]),
        (24, 1, b"\0\0\x80\x01\0\0\xff\xff\x7f", [-1, 2**-23, 1 - 2**-23]),
        (32, 1, struct.pack("<3i", -(2**31), 2**20, 2**30), [-1, 2**-11, 0.5]),
        (32, 3, struct.pack("<3f", -1.5, 0.1, 1e-9), [-1.5, np.float32(0.1), np.float32(1e-9)]),
        (64, 3, struct.pack("<3d", -1.5, 0.1, 2.0), [-1.5, np.float32(0.1), 2]),
    ],
)
def test_scaling_is_exact(
    write: Write, bits: int, tag: int, data: bytes, expected: list[float]
) -> None:
    recording = read_audio(write("a.wav", wav(data, bits=bits, tag=tag)))
    assert recording.samples.tolist() == expected


@pytest.mark.parametrize("rate", [7350, 11_025, 22_255, 44_099, 96_000, 192_000])
def test_rates(write: Write, rate: int) -> None:
    recording = read_reference(write("a.wav", encode(speech(rate=rate), rate=rate)))
    assert recording.sample_rate == rate
    assert recording.seconds == pytest.approx(4)
    assert len(recording.at(24_000)) == 96_000


def test_channels_are_mixed_to_their_mean(write: Write) -> None:
    generator = np.random.default_rng(3)
    samples = generator.uniform(-0.5, 0.5, (RATE * 3, 6))
    recording = read_audio(write("surround.wav", encode(samples, "WAVEX", "FLOAT")))
    assert recording.channels == 6
    assert recording.warnings == ()
    np.testing.assert_allclose(recording.samples, samples.mean(axis=1), atol=1e-7)


def test_stereo_is_half_the_sum_bit_for_bit(write: Write) -> None:
    samples = np.stack([speech(), speech(level=0.2)], axis=1).astype(np.float32)
    recording = read_audio(write("a.wav", encode(samples.astype(float), encoding="FLOAT")))
    assert np.array_equal(recording.samples, (samples[:, 0] + samples[:, 1]) * np.float32(0.5))


def test_files_longer_than_a_block_are_whole(write: Write) -> None:
    samples = speech(14)
    stereo = np.stack([samples, samples], axis=1)
    recording = read_audio(write("a.flac", encode(stereo, "FLAC")))
    np.testing.assert_allclose(recording.samples, samples, atol=1 / 32768)


@pytest.mark.parametrize("size", [0x7FFF_FFFF, 0xFFFF_FFFF, 0x7FFF_FFDB, 0])
def test_streamed_wav(write: Write, size: int) -> None:
    """The size was not known when the header was written, or the recorder never came back to it."""
    recording = read_audio(write("a.wav", wav(pcm(speech()), size=size)))
    np.testing.assert_allclose(recording.samples, speech(), atol=2 / 32768)
    assert recording.warnings == ()


def test_odd_chunks_before_the_data(write: Write) -> None:
    whole = wav(pcm(speech()))
    odd = whole[:36] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + whole[36:]
    assert len(read_audio(write("a.wav", odd)).samples) == 96_000


def test_chunks_after_the_data_are_no_sound(write: Write) -> None:
    tail = b"LIST" + struct.pack("<I", 4) + b"INFO"
    assert len(read_audio(write("a.wav", wav(pcm(speech())) + tail)).samples) == 96_000
    error = refusal(write("b.wav", wav(b"") + tail))
    assert "no samples" in error.message


def test_mp3_with_tags(write: Write) -> None:
    tag = b"ID3\x03\0\0" + bytes([0, 0, 0, 40]) + bytes(40)
    recording = read_audio(write("a.mp3", tag + encode(speech(), "MP3", "MPEG_LAYER_III")))
    assert len(recording.samples) == 96_000


def test_a_flac_that_does_not_tell_its_length_is_whole(write: Write) -> None:
    content = bytearray(encode(speech(), "FLAC"))
    content[21] &= 0xF0  # 36 bits of total samples: 0 means unknown
    content[22:26] = bytes(4)
    recording = read_audio(write("a.flac", bytes(content)))
    np.testing.assert_allclose(recording.samples, speech(), atol=1 / 32768)
    assert recording.warnings == ()


@pytest.mark.parametrize("name", ["a.raw", "名前 ü.wav", "no-suffix", "a.RAW"])
def test_names_do_not_matter(write: Write, name: str) -> None:
    assert read_audio(write(name, encode(speech()))).seconds == 4


# What is refused


def test_missing_file_folder_and_device(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none.wav").message
    assert "is a folder" in refusal(tmp_path).message
    assert "is not a file" in refusal(Path(os.devnull)).message


def opens_as(monkeypatch: pytest.MonkeyPatch, path: Path, answer: Callable[[], IO[bytes]]) -> None:
    """Opening `path` gives `answer`; whoever opens another file meanwhile gets that one."""
    usual = Path.open

    def opened(self: Path, *given: Any, **named: Any) -> IO[Any]:
        return answer() if self == path else usual(self, *given, **named)

    monkeypatch.setattr(Path, "open", opened)


def test_no_permission(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.wav", encode(speech()))

    def refuse() -> IO[bytes]:
        raise PermissionError(13, "Permission denied")

    opens_as(monkeypatch, path, refuse)
    error = refusal(path)
    assert "Permission denied" in error.message
    assert "permissions" in error.hint


@pytest.mark.parametrize("place", [0, 12, 44, 70_000])
def test_a_drive_that_goes_away(write: Write, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= place:
                raise OSError(5, "Input/output error")
            return super().read(size)

    content = encode(speech())
    path = write("a.wav", content)
    opens_as(monkeypatch, path, lambda: Failing(content))
    assert "Input/output error" in refusal(path).message


def test_empty_file(write: Write) -> None:
    assert "is empty (0 bytes)" in refusal(write("a.wav", b"")).message


@pytest.mark.parametrize("container", ["WAV", "AIFF", "W64", "AU"])
def test_header_without_samples(write: Write, container: str) -> None:
    assert "no sound" in refusal(write("a.wav", encode(np.zeros(0), container))).message


def test_header_that_promises_samples(write: Write) -> None:
    assert "no samples" in refusal(write("a.wav", wav(b"", size=96_000))).message
    assert "no samples" in refusal(write("b.wav", wav(b"", size=0x7FFF_FFFF))).message
    assert "no samples" in refusal(write("a.flac", encode(speech(), "FLAC")[:100])).message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GGUF\3\0\0\0" + bytes(400), "model file"),
        (b"\0\0\0\x20ftypM4A " + bytes(400), "M4A"),
        (b"\x1aE\xdf\xa3" + bytes(400), "WebM"),
        (b"RIFF\x20\0\0\0AVI " + bytes(400), "video"),
        (b"PK\3\4" + bytes(400), "ZIP"),
        (b"%PDF-1.7" + bytes(400), "PDF"),
        (b"\xff\xf1\x50\x80" + bytes(400), "AAC"),
        (b"hello, this is text\n" * 20, "not a sound file"),
        (bytes(4096), "not a sound file"),
        (np.random.default_rng(0).bytes(4096), "not a sound file"),
        (b"\0", "not a sound file"),
        (b"RIFF", "damaged"),
        (wav(b"")[:30], "cut off within its header"),
        (wav(pcm(speech()), tag=0x1234), "rare encoding"),
        (encode(speech(), "OGG", "VORBIS")[:100], "OGG file is damaged"),
        (encode(speech(), "FLAC")[:30], "FLAC file is damaged"),
        (encode(speech(), "CAF")[:5000], "CAF file is damaged"),
        (encode(speech(), "MP3", "MPEG_LAYER_III")[:100], "MP3 file is damaged"),
    ],
)
def test_not_readable(write: Write, content: bytes, words: str) -> None:
    assert words in refusal(write("a.wav", content)).message


def test_voice_files(write: Write) -> None:
    vector = np.random.default_rng(0).standard_normal(1024).astype("<f4").tobytes()
    assert "speaker embedding" in refusal(write("a.spk", vector)).message
    assert "reference codes" in refusal(write("a.rvq", bytes(22 * 50))).message


@pytest.mark.parametrize("rate", [1, 900, 2**31 - 1])
def test_impossible_rates(write: Write, rate: int) -> None:
    content = bytearray(wav(pcm(speech())))
    content[24:28] = struct.pack("<I", rate)
    assert f"{rate} Hz" in refusal(write("a.wav", bytes(content))).message


def test_a_long_file_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    with path.open("wb") as file:
        file.write(wav(b"", size=0x7000_0000))
        file.truncate(44 + 0x7000_0000)  # sparse
    error = refusal(path)
    assert "652 minutes" in error.message
    assert "10 minutes" in error.message


def test_a_long_compressed_file_is_refused_while_reading(write: Write) -> None:
    silence = np.zeros(601 * 8000)
    assert "too long" in refusal(write("a.flac", encode(silence, "FLAC", rate=8000))).message
    ten = read_audio(write("b.flac", encode(silence[: 600 * 8000], "FLAC", rate=8000)))
    assert ten.seconds == 600


def test_references_must_be_long_enough(write: Write) -> None:
    read_reference(write("a.wav", encode(speech()[:1920])))
    short = write("b.wav", encode(speech()[:1919]))
    assert "too short" in refusal(short, read_reference).message
    assert "0.08 s" in refusal(short, read_reference).message
    assert len(read_audio(short).samples) == 1919


@pytest.mark.parametrize("level", [0.0, 1 / 32768])
def test_references_must_not_be_silent(write: Write, level: float) -> None:
    muted = write("a.wav", encode(np.resize([level, -level], 72_000)))
    error = refusal(muted, read_reference)
    assert "is silent" in error.message
    assert "microphone" in error.hint
    assert AudioWarningKind.QUIET in kinds(read_audio(muted)) or not level


# What is told


@pytest.mark.parametrize(
    ("container", "encoding"),
    [
        ("WAV", "PCM_16"),
        ("WAV", "FLOAT"),
        ("WAVEX", "PCM_24"),
        ("RF64", "PCM_16"),
        ("W64", "PCM_16"),
        ("AIFF", "PCM_16"),
        ("AU", "PCM_16"),
        ("FLAC", "PCM_16"),
        ("MP3", "MPEG_LAYER_III"),
    ],
)
def test_truncated(write: Write, container: str, encoding: str) -> None:
    content = encode(speech(8), container, encoding)
    recording = read_audio(write("a", content[: len(content) // 2]))
    assert recording.seconds == pytest.approx(4, abs=0.35)
    missing = value(recording, AudioWarningKind.TRUNCATED)
    assert missing == pytest.approx(8 - recording.seconds, abs=0.1)
    if container != "MP3":
        np.testing.assert_allclose(
            recording.samples, speech(8)[: len(recording.samples)], atol=1 / 32768
        )


@pytest.mark.parametrize("encoding", ["VORBIS", "OPUS"])
def test_truncated_ogg(write: Write, encoding: str) -> None:
    content = encode(speech(20), "OGG", encoding)
    recording = read_audio(write("a.ogg", content[: len(content) // 2]))
    assert 5 < recording.seconds < 15
    assert value(recording, AudioWarningKind.TRUNCATED) == 0
    assert kinds(read_audio(write("b.ogg", content))) == []


def test_damaged_in_the_middle(write: Write) -> None:
    content = bytearray(encode(speech(8), "FLAC"))
    middle = len(content) // 2
    content[middle : middle + 20] = b"x" * 20
    recording = read_audio(write("a.flac", bytes(content)))
    assert AudioWarningKind.TRUNCATED in kinds(recording)
    before = len(recording.samples) // 3
    np.testing.assert_allclose(recording.samples[:before], speech(8)[:before], atol=1 / 32768)


@pytest.mark.parametrize(
    ("name", "container", "encoding"),
    [
        ("a.wav", "MP3", "MPEG_LAYER_III"),
        ("a.mp3", "WAV", "PCM_16"),
        ("a.m4a", "FLAC", "PCM_16"),
        ("a.FLAC", "OGG", "VORBIS"),
    ],
)
def test_mislabelled(write: Write, name: str, container: str, encoding: str) -> None:
    recording = read_audio(write(name, encode(speech(), container, encoding)))
    assert kinds(recording) == [AudioWarningKind.MISLABELLED]
    assert f'"{name[1:].lower()}" but is {container}' in recording.warnings[0].message


@pytest.mark.parametrize("name", ["a.WAV", "a.wave", "a.dat", "a"])
def test_fitting_and_unknown_names_are_not_told(write: Write, name: str) -> None:
    assert kinds(read_audio(write(name, encode(speech())))) == []


@pytest.mark.parametrize(
    ("seconds", "kind"),
    [
        (0.3, AudioWarningKind.VERY_SHORT),
        (2.0, AudioWarningKind.SHORT),
        (31.0, AudioWarningKind.LONG),
    ],
)
def test_length(write: Write, seconds: float, kind: AudioWarningKind) -> None:
    recording = read_audio(write("a.wav", encode(speech(seconds))))
    assert kinds(recording) == [kind]
    assert value(recording, kind) == pytest.approx(seconds)


@pytest.mark.parametrize("seconds", [3.0, 6.0, 30.0])
def test_good_lengths_are_not_told(write: Write, seconds: float) -> None:
    assert kinds(read_audio(write("a.wav", encode(speech(seconds))))) == []


def test_a_whisper_is_quiet(write: Write) -> None:
    recording = read_audio(write("a.wav", encode(speech(level=0.005), encoding="PCM_24")))
    assert kinds(recording) == [AudioWarningKind.QUIET]
    assert value(recording, AudioWarningKind.QUIET) == pytest.approx(-55, abs=5)


def test_an_offset_does_not_hide_a_whisper(write: Write) -> None:
    samples = speech(level=0.005) + 0.05
    recording = read_audio(write("a.wav", encode(samples, encoding="PCM_24")))
    assert kinds(recording) == [AudioWarningKind.QUIET, AudioWarningKind.DC_OFFSET]
    assert value(recording, AudioWarningKind.DC_OFFSET) == pytest.approx(0.05, abs=0.002)


def test_clipped(write: Write) -> None:
    time = np.arange(4 * RATE) / RATE
    loud = np.clip(2 * np.sin(2 * np.pi * 100 * time + 0.1), -1, 1)
    recording = read_audio(write("a.wav", encode(loud)))
    assert value(recording, AudioWarningKind.CLIPPED) == 800  # two per period


def test_clipping_of_one_channel_shows_although_the_mix_is_fine(write: Write) -> None:
    samples = np.stack([speech(), np.zeros(4 * RATE)], axis=1)
    samples[1000:1005, 1] = 1
    samples[2000:2002, 1] = 1  # two samples are a loud peak
    samples[3000:3900, 1] = 1
    recording = read_audio(write("a.wav", encode(samples)))
    assert value(recording, AudioWarningKind.CLIPPED) == 2


@pytest.mark.parametrize("place", range(65_530, 65_540))
def test_a_clipped_place_across_two_blocks_counts_once(write: Write, place: int) -> None:
    samples = np.stack([speech(), speech()], axis=1)
    samples[place : place + 5, 0] = 1
    recording = read_audio(write("a.wav", encode(samples)))
    assert value(recording, AudioWarningKind.CLIPPED) == 1


@pytest.mark.parametrize("frequency", [60, 100, 440, 6000])
def test_a_clean_tone_at_full_scale_is_not_clipped(write: Write, frequency: int) -> None:
    tone = np.sin(2 * np.pi * frequency / 48_000 * np.arange(4 * 48_000) + 0.3)
    assert kinds(read_audio(write("a.wav", encode(0.99 * tone, rate=48_000)))) == []


def test_over_full_scale(write: Write) -> None:
    samples = speech()
    samples *= 2 / np.abs(samples).max()
    recording = read_audio(write("a.wav", encode(samples, encoding="FLOAT")))
    assert value(recording, AudioWarningKind.OVER_FULL_SCALE) == pytest.approx(6.02, abs=0.01)
    assert np.abs(recording.samples).max() == pytest.approx(2)  # not clipped by reading


@pytest.mark.parametrize("encoding", ["FLOAT", "DOUBLE"])
def test_values_that_are_no_numbers_become_silence(write: Write, encoding: str) -> None:
    samples = speech()
    samples[[5, 70_000, 80_000, 90_000]] = [np.nan, np.inf, -np.inf, 1e30]
    recording = read_audio(write("a.wav", encode(samples, encoding=encoding)))
    assert kinds(recording) == [AudioWarningKind.NOT_NUMBERS]
    assert value(recording, AudioWarningKind.NOT_NUMBERS) == 4
    assert not recording.samples[[5, 70_000, 80_000, 90_000]].any()
    np.testing.assert_allclose(recording.samples[6:70_000], samples[6:70_000], atol=1e-7)


def test_mostly_silence(write: Write) -> None:
    samples = np.concatenate([np.zeros(8 * RATE), speech(2), np.zeros(5 * RATE)])
    recording = read_audio(write("a.wav", encode(samples)))
    assert kinds(recording) == [AudioWarningKind.MOSTLY_SILENT]
    assert 0.03 < value(recording, AudioWarningKind.MOSTLY_SILENT) < 2 / 15


def test_digital_silence_can_be_opened(write: Write) -> None:
    recording = read_audio(write("a.wav", encode(np.zeros((4 * RATE, 2)))))
    assert kinds(recording) == [AudioWarningKind.MOSTLY_SILENT]
    assert recording.report.peak_dbfs == -120


def test_a_silent_channel(write: Write) -> None:
    samples = np.stack([speech(), np.zeros(4 * RATE)], axis=1)
    recording = read_audio(write("a.wav", encode(samples)))
    assert kinds(recording) == [AudioWarningKind.SILENT_CHANNEL]
    assert value(recording, AudioWarningKind.SILENT_CHANNEL) == pytest.approx(6.02, abs=0.01)
    assert "1 of the 2 channels is silent" in recording.warnings[0].message


def test_surround_with_a_voice_in_the_centre(write: Write) -> None:
    samples = np.zeros((4 * RATE, 6))
    samples[:, 2] = speech(level=0.8)
    recording = read_audio(write("a.wav", encode(samples, "WAVEX")))
    assert kinds(recording) == [AudioWarningKind.SILENT_CHANNEL]
    assert value(recording, AudioWarningKind.SILENT_CHANNEL) == pytest.approx(15.56, abs=0.01)


@pytest.mark.parametrize("gain", [-1.0, -0.8])
def test_channels_out_of_phase(write: Write, gain: float) -> None:
    samples = np.stack([speech(), gain * speech()], axis=1) + 0.005  # the same DC in both
    recording = read_audio(write("a.wav", encode(samples, encoding="FLOAT")))
    assert AudioWarningKind.OUT_OF_PHASE in kinds(recording)
    assert value(recording, AudioWarningKind.OUT_OF_PHASE) > 15


@pytest.mark.parametrize("gain", [1.0, 0.3, -0.1])
def test_ordinary_stereo_is_not_told(write: Write, gain: float) -> None:
    samples = np.stack([speech(), gain * speech()], axis=1)
    assert kinds(read_audio(write("a.wav", encode(samples)))) == []


# The figures


def test_report_of_a_tone() -> None:
    tone = (0.5 * np.sin(2 * np.pi * 500 / RATE * np.arange(2 * RATE))).astype(np.float32)
    report = assess(tone, RATE)
    assert report.seconds == 2
    assert report.peak_dbfs == pytest.approx(-6.02, abs=0.01)
    assert report.rms_dbfs == pytest.approx(-9.03, abs=0.01)
    assert report.noise_floor_dbfs == pytest.approx(-9.03, abs=0.1)
    assert report.speech_share == 1
    assert report.clipped == 0
    assert report.dc_offset == pytest.approx(0, abs=1e-6)


def test_report_of_speech_in_noise() -> None:
    noise = np.random.default_rng(1).standard_normal(10 * RATE) * 0.003
    samples = noise.copy()
    samples[2 * RATE : 6 * RATE] += speech(4)
    report = assess(samples.astype(np.float32), RATE)
    assert report.noise_floor_dbfs == pytest.approx(-50.5, abs=1)
    voiced = np.mean(np.abs(speech(4).reshape(-1, 480)).max(axis=1) > 0.02)
    assert report.speech_share == pytest.approx(0.4 * voiced, abs=0.05)


@pytest.mark.parametrize("count", [0, 1, 479, 481])
def test_report_of_next_to_nothing_is_finite(count: int) -> None:
    report = assess(np.full(count, -0.5, np.float32), RATE)
    assert all(np.isfinite(list(vars(report).values())))
    assert report.seconds == count / RATE
    assert report.peak_dbfs == (pytest.approx(-6.02, abs=0.01) if count else -120)


def test_a_checked_recording_passes(write: Write) -> None:
    check_reference(read_audio(write("a.wav", encode(speech()))))


def test_torch_is_not_needed() -> None:
    code = "import sys, engine.audio; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
