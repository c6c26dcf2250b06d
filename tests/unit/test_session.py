"""Sessions and takes: saved as they change, undone through the trash, whole again after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from app.core import take_files
from app.core.autosave import Autosaver
from app.core.history import History
from app.core.presets import Preset
from app.core.session import Draft, Session
from app.core.session_store import SessionStore, list_sessions
from app.core.storage import DamagedFileError, StorageError
from app.core.take_files import (
    TakeWriter,
    read_samples,
    read_take,
    save_take_as,
    save_takes,
    saved_name,
)
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.trash import Trash
from app.core.voice_record import Likeness
from engine import Ending, Family, Layout, Sampling, StackSampling, Voice
from engine.types import Samples
from engine.voices import read_codes
from engine.wav import HEADER_BYTES, WavFormat, write_wav

REQUEST = TakeRequest(
    text="Grüße aus\nŁódź <|im_end|> \ud800",
    family=Family.BASE,
    language="german",
    voice_id="v1",
    likeness=Likeness.BEST,
    speaker="vivian",
    instruct="calm",
    layout=Layout.STREAMING,
    sampling=Sampling(StackSampling(temperature=0.3, top_k=7, top_p=0.5), max_frames=9),
)
TAKE = Take(
    REQUEST,
    seed=2**64 - 1,
    voice_label="Ash",
    model="Base 0.6B",
    model_fingerprint="abcd-ef01",
    device="cpu",
    precision="f32",
    note="mine",
    unknown={"later": 1},
)


@pytest.fixture
def trash(tmp_path: Path) -> Trash:
    return Trash(tmp_path / "data" / "trash")


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions"


@pytest.fixture
def store(sessions: Path, trash: Trash) -> Iterator[SessionStore]:
    store = SessionStore.create(sessions, "Film", trash)
    yield store
    store.close()


def sound(frames: int, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).uniform(-1, 1, 1920 * frames).astype(np.float32)


def speak(store: SessionStore, text: str = "Hello there.", seed: int = 1) -> Take:
    take = replace(TAKE, id=f"{seed:032x}", seed=seed, request=replace(REQUEST, text=text))
    writer = store.writer(take)
    writer.append(sound(2, seed), np.arange(32).reshape(2, 16))
    writer.append(sound(1, seed), np.arange(16).reshape(1, 16))
    made = writer.finish(TakeEnding.SPOKEN)
    assert made is not None
    return made


def reopened(store: SessionStore, trash: Trash) -> SessionStore:
    store.close()
    return SessionStore(store.folder, trash)


def names(store: SessionStore) -> list[str]:
    return sorted(path.name for path in store.takes_folder.iterdir())


# --- takes ---


def test_a_take_is_a_wav_with_its_provenance(store: SessionStore) -> None:
    take = speak(store)
    assert names(store) == [f"{take.id}{end}" for end in (".json", ".rvq", ".wav")]
    info = soundfile.info(store.sound_path(take))
    assert (info.samplerate, info.channels, info.subtype) == (24000, 1, "FLOAT")
    expected = np.concatenate([sound(2, 1), sound(1, 1)])
    np.testing.assert_array_equal(read_samples(store.sound_path(take)), expected)
    np.testing.assert_array_equal(
        read_codes(store.takes_folder / f"{take.id}.rvq"), [*range(16)] * np.ones((3, 1), int)
        + np.array([[0], [16], [0]])
    )  # fmt: skip
    assert (take.seconds, take.frames, take.ending) == (0.24, 3, TakeEnding.SPOKEN)
    assert read_take(store.takes_folder / f"{take.id}.json") == take
    sidecar = json.loads((store.takes_folder / f"{take.id}.json").read_text("utf-8"))
    for key in ("seed", "model_fingerprint", "device", "precision"):
        assert sidecar[key] == getattr(take, key)
    assert sidecar["request"]["sampling"]["talker"]["top_k"] == 7


def test_a_take_can_be_made_again_from_its_sidecar(store: SessionStore) -> None:
    take = read_take(store.takes_folder / f"{speak(store).id}.json")
    voice = Voice(np.ones(4, np.float32))
    request = take.request.speech((take.seed,), voice)
    assert request.text == "Hello there."
    assert request.sampling == REQUEST.sampling
    assert (request.voice, request.seeds) == (voice, (1,))
    assert (request.language, request.layout) == ("german", Layout.STREAMING)
    assert (request.speaker, request.instruct) == ("vivian", "calm")
    bare = TakeRequest("x", Family.BASE).speech((1, 2))
    assert (bare.speaker, bare.instruct, bare.voice) == (None, None, None)


def test_endings_have_the_names_of_the_engine() -> None:
    assert [TakeEnding.of(ending) for ending in Ending] == [TakeEnding.SPOKEN, TakeEnding.LIMIT]


def test_labels_are_short() -> None:
    assert TAKE.label == "Grüße aus Łódź <|im_end|> \ud800"
    long = replace(TAKE, request=replace(REQUEST, text="word " * 10_000))
    assert len(long.label) == 40
    assert long.label.endswith("…")


def test_nothing_heard_leaves_nothing_behind(store: SessionStore) -> None:
    assert store.writer(TAKE).finish(TakeEnding.FAILED) is None
    writer = store.writer(TAKE)
    writer.append(sound(1))
    writer.discard()
    assert names(store) == []


def test_sound_without_codes_is_a_take_too(store: SessionStore) -> None:
    writer = store.writer(TAKE)
    writer.append(sound(2))
    take = writer.finish(TakeEnding.STOPPED, frames=2, remark="Cancelled.")
    assert take is not None
    assert (take.frames, take.ending, take.remark) == (2, TakeEnding.STOPPED, "Cancelled.")
    assert names(store) == [f"{take.id}.json", f"{take.id}.wav"]


@pytest.mark.parametrize("wav_format", WavFormat)
def test_takes_are_saved_as_wav(store: SessionStore, tmp_path: Path, wav_format: WavFormat) -> None:
    take = speak(store)
    target = tmp_path / "clip.wav"
    save_take_as(store.sound_path(take), target, wav_format, take.sample_rate)
    assert target.stat().st_size == HEADER_BYTES + 3 * 1920 * wav_format.sample_bytes
    step = {WavFormat.WAV16: 2**-14, WavFormat.WAV24: 2**-22, WavFormat.WAV32: 0}[wav_format]
    samples = read_samples(target)
    np.testing.assert_allclose(samples, read_samples(store.sound_path(take)), atol=step, rtol=0)


def test_saving_never_claims_what_is_not_there(store: SessionStore, tmp_path: Path) -> None:
    source = store.sound_path(speak(store))
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        save_take_as(source, tmp_path / "gone" / "clip.wav", WavFormat.WAV16, 24000)
    if os.path.exists("/dev/full"):
        with pytest.raises(StorageError, match="No space left"):
            save_take_as(source, Path("/dev/full"), WavFormat.WAV16, 24000)
    with pytest.raises(StorageError, match="not there any more"):
        save_take_as(tmp_path / "gone.wav", tmp_path / "clip.wav", WavFormat.WAV16, 24000)
    source.write_bytes(b"RIFF")
    with pytest.raises(DamagedFileError, match="is damaged"):
        save_take_as(source, tmp_path / "clip.wav", WavFormat.WAV16, 24000)
    assert not (tmp_path / "clip.wav").exists()


def test_what_was_written_is_read_again(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = store.sound_path(speak(store)), tmp_path / "clip.wav"

    def other(path: Path, pieces: Any, wav_format: WavFormat, sample_rate: int) -> None:
        write_wav(path, [np.zeros_like(piece) for piece in pieces], wav_format, sample_rate)

    monkeypatch.setattr(take_files, "write_wav", other)
    with pytest.raises(StorageError, match="not written as a whole"):
        save_take_as(source, target, WavFormat.WAV16, 24000)


def test_takes_are_saved_together_under_names_of_their_own(
    store: SessionStore, tmp_path: Path
) -> None:
    takes = [(store.sound_path(take), take) for take in (speak(store), speak(store), speak(store))]
    gone = tmp_path / "gone.wav"
    name = saved_name(takes[0][1])
    (tmp_path / name).write_bytes(b"older")
    saved = save_takes([takes[0], (gone, takes[1][1]), takes[2]], tmp_path, WavFormat.WAV16)
    stem = name.removesuffix(".wav")
    assert [path.name for path in saved.files] == [f"{stem} 2.wav", f"{stem} 3.wav"]
    assert (tmp_path / name).read_bytes() == b"older"
    assert all(soundfile.info(path).frames == 3 * 1920 for path in saved.files)
    assert [str(gone) in problem.message for problem in saved.problems] == [True]
    with pytest.raises(StorageError, match="cannot be listed"):
        save_takes(takes, tmp_path / "nowhere", WavFormat.WAV16)


@pytest.mark.parametrize(
    ("voice", "text", "name"),
    [
        ("Mira", "Good morning. This is how I sound!", "Mira - Good morning This is how I sound"),
        ("", "What? A/B: no.", "What A-B no"),
        ("Anna", "…!", "Anna"),
        ("con", "", "_con"),
        ("", " \n", "Take"),
        ("Ryan", "«Oh!» 3.5 km, don't <|im_end|> ../etc", "Ryan - Oh 3.5 km don't im_end etc"),
        ("Ann", "word " * 1000, f"Ann - {' '.join(['word'] * 12)}"),
        ("李", "你好吗" * 100, f"李 - {('你好吗' * 100)[:31]}"),
    ],
)
def test_saved_takes_are_named_after_voice_and_words(voice: str, text: str, name: str) -> None:
    take = replace(TAKE, request=replace(REQUEST, text=text), voice_label=voice)
    assert saved_name(take) == f"{name}.wav"


# --- sessions ---


def test_sessions_are_values() -> None:
    first, second = replace(TAKE, id="1"), replace(TAKE, id="2")
    session = Session("x").with_take(first).with_take(second)
    assert [take.id for take in session.takes] == ["2", "1"]
    starred = session.with_take(replace(first, star=True))
    assert [(take.id, take.star) for take in starred.takes] == [("2", False), ("1", True)]
    assert starred.without_takes("2", "3").takes == (replace(first, star=True),)
    assert session.draft("clone") == Draft()
    assert session.with_draft("clone", Draft("hi")).draft("clone").text == "hi"
    assert session.drafts == {}


def test_a_session_comes_back_as_it_was(store: SessionStore, trash: Trash) -> None:
    assert store.session == Session("Film")
    first, second = speak(store, seed=1), speak(store, seed=2)
    draft = Draft(
        "text \ud800", "german", 7, "v1", Likeness.STEADY, "vivian", "calm", Preset.WILD, Sampling()
    )
    session = Session("Film", (first, second), {"clone": draft, "design": Draft()}, {"later": 1})
    session = session.with_take(replace(second, star=True, note="good"))
    assert store.save(session) == ()
    again = reopened(store, trash)
    assert again.session == session
    assert again.notices == ()
    again.close()


def test_only_what_changed_is_written(store: SessionStore) -> None:
    session = Session("Film").with_take(speak(store, seed=1)).with_take(speak(store, seed=2))
    store.save(session)

    def times() -> dict[str, int]:
        paths = store.folder.rglob("*.json")
        return {path.name: path.stat().st_ino for path in paths}

    before = times()
    store.save(session)
    assert times() == before
    store.save(session.with_take(replace(session.takes[0], star=True)))
    after = times()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {f"{session.takes[0].id}.json"}
    store.save(session.with_draft("clone", Draft("x")))
    assert times()["session.json"] != after["session.json"]


def test_deleting_a_take_can_be_undone_and_done_again(store: SessionStore, trash: Trash) -> None:
    take = speak(store)
    files = names(store)
    history = History(Session("Film").with_take(take))
    assert store.save(history.present) == ()
    history = history.push(history.present.without_takes(take.id), "Delete take")
    for _ in range(2):
        assert store.save(history.present) == ()
        assert names(store) == []
        assert [item.label for item in trash.items()] == ["Hello there."]
        history = history.undo()
        assert store.save(history.present) == ()
        assert names(store) == files
        assert trash.items() == ()
        history = history.redo()
    store.save(history.present)
    again = reopened(store, trash)
    assert again.session.takes == ()
    assert again.save(history.undo().present) == ()
    assert names(again) == files
    again.close()


def test_an_emptied_trash_is_told_and_stops_nothing(store: SessionStore, trash: Trash) -> None:
    take, other = speak(store, seed=1), speak(store, seed=2)
    session = Session("Film").with_take(take)
    store.save(session)
    store.save(session.without_takes(take.id))
    trash.empty()
    (problem,) = store.save(session.with_take(other).with_draft("clone", Draft("kept")))
    assert "is gone" in problem.message
    again = reopened(store, trash)
    assert again.session.takes == (other,)
    assert again.session.draft("clone").text == "kept"
    again.close()


def test_two_studios_do_not_share_a_session(store: SessionStore, trash: Trash) -> None:
    with pytest.raises(StorageError, match="open in another window"):
        SessionStore(store.folder, trash)
    reopened(store, trash).close()


def test_names_of_sessions_are_safe_and_their_own(sessions: Path, trash: Trash) -> None:
    assert list_sessions(sessions) == ()
    stores = [
        SessionStore.create(sessions, name, trash) for name in ("con", "a/b", "A/B", "x" * 400)
    ]
    folders = [store.folder.name for store in stores]
    assert folders[:3] == ["_con.studio", "a-b.studio", "A-B 2.studio"]
    for store in stores:
        store.save(store.session)
        os.utime(store.folder / "session.json", (len(store.folder.name),) * 2)
        store.close()
    assert list_sessions(sessions)[0].name == "x" * 100
    assert {entry.folder.name for entry in list_sessions(sessions)} == set(folders)


# --- damage ---


def test_a_lost_or_damaged_session_file_costs_no_take(store: SessionStore, trash: Trash) -> None:
    first, second = speak(store, seed=1), speak(store, seed=2)
    first = replace(first, created="2026-01-01")
    session = Session("Film", (first, second))
    store.save(session)
    path = store.folder / "session.json"
    path.write_bytes(b"\0" * 50)
    store = reopened(store, trash)
    assert store.session.takes == (second, first)  # newest first
    assert "kept as session.json.damaged-1" in store.notices[0]
    assert path.with_name("session.json.damaged-1").read_bytes() == b"\0" * 50
    path.unlink(missing_ok=True)
    store = reopened(store, trash)
    assert store.session.takes == (second, first)
    assert store.notices == ()
    store.close()


def test_a_damaged_take_stops_no_other(store: SessionStore, trash: Trash) -> None:
    takes = [speak(store, seed=seed) for seed in range(1, 5)]
    store.save(Session("Film", tuple(takes)))
    folder = store.takes_folder
    (folder / f"{takes[0].id}.json").write_bytes(b"{")
    store.sound_path(takes[1]).unlink()
    os.replace(folder / f"{takes[2].id}.json", folder / "other.json")
    store = reopened(store, trash)
    assert store.session.takes == (takes[3],)
    assert len(store.unread) == 3
    assert store.notices == ()
    assert store.sound_path(takes[0]).exists()
    store.close()


def test_a_newer_session_is_only_looked_at(store: SessionStore, trash: Trash) -> None:
    take = speak(store)
    store.save(Session("Film", (take,)))
    path = store.folder / "session.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    before = path.read_bytes()
    store = reopened(store, trash)
    assert store.read_only
    assert store.session.takes == (take,)
    assert "newer version" in store.notices[0]
    (problem,) = store.save(Session("Film"))
    assert "not saved" in problem.hint
    with pytest.raises(StorageError, match="newer version"):
        store.writer(TAKE)
    assert path.read_bytes() == before
    assert len(names(store)) == 3
    store.close()


# --- crashes ---


def begun(store: SessionStore) -> TakeWriter:
    writer = store.writer(TAKE)
    writer.append(sound(2), np.arange(32).reshape(2, 16))
    return writer


def test_a_half_made_take_is_recovered(store: SessionStore, trash: Trash) -> None:
    begun(store).close()
    for name in (f"{TAKE.id}.part", f"{TAKE.id}.codes.part"):
        with (store.takes_folder / name).open("ab") as file:
            file.write(b"\1\2\3")  # cut off in mid-value
    store = reopened(store, trash)
    (take,) = store.session.takes
    assert take == replace(
        TAKE, seconds=0.16, frames=2, ending=TakeEnding.STOPPED, remark=take.remark
    )
    assert "Recovered" in take.remark
    assert "recovered" in store.notices[0]
    np.testing.assert_array_equal(read_samples(store.sound_path(take)), sound(2))
    assert names(store) == [f"{take.id}{end}" for end in (".json", ".rvq", ".wav")]
    store.close()


def test_damaged_codes_do_not_cost_the_sound(store: SessionStore, trash: Trash) -> None:
    begun(store).close()
    with (store.takes_folder / f"{TAKE.id}.codes.part").open("ab") as file:
        file.write(b"\xff" * 32)
    store = reopened(store, trash)
    assert [(take.frames, take.seconds) for take in store.session.takes] == [(2, 0.16)]
    store.close()


@pytest.mark.parametrize("fails_at", ["write_codes", "write_sidecar", "_remove_parts"])
def test_a_crash_while_finishing_is_recovered(
    store: SessionStore, trash: Trash, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    writer = begun(store)
    with monkeypatch.context() as patch:
        patch.setattr(f"app.core.take_files.{fails_at}", crash)
        with pytest.raises(KeyboardInterrupt):
            writer.finish(TakeEnding.SPOKEN)
    store = reopened(store, trash)
    assert [(take.id, take.frames) for take in store.session.takes] == [(TAKE.id, 2)]
    assert names(store) == [f"{TAKE.id}{end}" for end in (".json", ".rvq", ".wav")]
    store.close()


def test_what_cannot_be_recovered_is_kept(store: SessionStore, trash: Trash) -> None:
    begun(store).close()
    (store.takes_folder / f"{TAKE.id}.begun.json").write_bytes(b"{")
    before = names(store)
    store = reopened(store, trash)
    assert store.session.takes == ()
    assert "damaged" in store.unread[0].message
    assert names(store) == before
    store.close()


CHILD = """
import sys, time
from dataclasses import replace
from pathlib import Path
import numpy as np
from app.core.autosave import Autosaver
from app.core.session import Draft
from app.core.session_store import SessionStore
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.trash import Trash
from engine import Family

home = Path(sys.argv[1])
store = SessionStore.create(home / "sessions", "Film", Trash(home / "trash"))
saver = Autosaver(store, lambda problem: sys.exit(str(problem)), delay=0)
request = TakeRequest("A line that was whole.", Family.BASE)
writer = store.writer(Take(request, 1, "Ash", id="a" * 32))
writer.append(np.full(1920, 0.5, np.float32), np.full((1, 16), 3))
session = store.session.with_take(writer.finish(TakeEnding.SPOKEN))
session = session.with_draft("clone", Draft("What was typed."))
saver.change(session)
saver.flush()
writer = store.writer(Take(replace(request, text="A line cut short."), 2, "Ash", id="b" * 32))
for frame in range(1_000_000):
    writer.append(np.full(1920, frame, np.float32), np.full((1, 16), frame % 2048))
    print(frame, flush=True)
    time.sleep(0.001)
"""


def test_a_kill_loses_nothing_that_was_heard(tmp_path: Path) -> None:
    home = tmp_path / "home"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(home)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    heard = -1
    for line in child.stdout:
        heard = int(line)
        if heard >= 20:
            break
    child.kill()  # -9
    child.wait()
    child.stdout.close()
    trash = Trash(home / "trash")
    (entry,) = list_sessions(home / "sessions")
    store = SessionStore(entry.folder, trash)  # the lock died with its process
    cut, whole = store.session.takes
    assert (whole.text, whole.ending) == ("A line that was whole.", TakeEnding.SPOKEN)
    assert (cut.text, cut.ending, cut.seed) == ("A line cut short.", TakeEnding.STOPPED, 2)
    assert store.session.draft("clone").text == "What was typed."
    assert cut.frames > heard
    samples = read_samples(store.sound_path(cut))
    np.testing.assert_array_equal(samples[: 1920 * heard : 1920], np.arange(heard))
    codes = read_codes(store.takes_folder / f"{cut.id}.rvq")
    np.testing.assert_array_equal(codes[:, 15], np.arange(len(codes)))
    store.close()


# --- autosave ---


def test_changes_are_saved_by_themselves(store: SessionStore, trash: Trash) -> None:
    problems: list[Exception] = []
    saver = Autosaver(store, problems.append)
    session = store.session
    for number in range(100):
        session = session.with_draft("clone", Draft(f"{number}"))
        saver.change(session)
    assert saver.flush()
    on_disk = json.loads((store.folder / "session.json").read_text())
    assert on_disk["drafts"]["clone"]["text"] == "99"
    saver.change(session.with_draft("clone", Draft("last")))
    assert saver.close()
    assert saver.flush()
    assert problems == []
    again = reopened(store, trash)
    assert again.session.draft("clone").text == "last"
    again.close()


def test_a_change_is_saved_without_being_asked(store: SessionStore) -> None:
    saved = threading.Event()
    plain_save = store.save

    def save(session: Session) -> tuple[StorageError, ...]:
        problems = plain_save(session)
        saved.set()
        return problems

    store.save = save  # type: ignore[method-assign]
    saver = Autosaver(store, lambda problem: None, delay=0.01)
    saver.change(store.session.with_draft("clone", Draft("x")))
    assert saved.wait(20)
    assert (store.folder / "session.json").exists()
    assert saver.close()


def test_a_disk_that_refuses_is_told_and_tried_again(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[Exception] = []
    saver = Autosaver(store, problems.append, delay=0)

    def refuse(*_: object) -> None:
        raise StorageError("The disk is full.")

    session = store.session.with_draft("clone", Draft("x"))
    with monkeypatch.context() as patch:
        patch.setattr("app.core.session_store.write_document", refuse)
        saver.change(session)
        assert saver.flush()
    assert [str(problem) for problem in problems] == ["The disk is full."]
    saver.change(session)
    assert saver.flush()
    assert len(problems) == 1
    assert (store.folder / "session.json").exists()
    assert saver.close()
    assert not any(thread.name == "autosave" for thread in threading.enumerate())


def test_what_nobody_expected_does_not_end_the_saving(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[Exception] = []
    saver = Autosaver(store, problems.append, delay=0)

    def fail(*_: object) -> None:
        raise KeyError("a fault of ours")

    session = store.session.with_draft("clone", Draft("x"))
    with monkeypatch.context() as patch:
        patch.setattr("app.core.session_store.write_document", fail)
        saver.change(session)
        assert saver.flush()
    assert [type(problem) for problem in problems] == [KeyError]
    saver.change(session)
    assert saver.close()
    assert len(problems) == 1
    assert (store.folder / "session.json").exists()


def test_a_take_that_was_deleted_at_once_is_in_the_trash(store: SessionStore, trash: Trash) -> None:
    made = speak(store)
    with_it = Session(store.folder.stem).with_take(made)
    saver = Autosaver(store, lambda problem: None)
    saver.change(with_it)
    saver.change(with_it.without_takes(made.id))
    assert saver.close()
    assert not store.sound_path(made).exists()
    assert [item.label for item in trash.items()] == [made.label]
