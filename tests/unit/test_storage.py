"""Documents, names and the trash: what is written comes back, and nothing is lost on the way."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.fields import Fields
from app.core.names import LONGEST_NAME, name_key, safe_name, slug, unique_name
from app.core.settings import Theme
from app.core.storage import (
    DamagedFileError,
    DocumentKind,
    StorageError,
    document_bytes,
    read_bytes,
    read_document,
    replace_bytes,
    set_aside,
    write_document,
)
from app.core.trash import NOTE, Trash

KIND = DocumentKind(
    "note", 3, {1: lambda old: {"words": [old["word"]]}, 2: lambda old: old | {"n": 2}}
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "schema"), JSON, max_size=4))
@example({"half a pair": "\ud800", "\udfff": 1})
def test_documents_round_trip(values: dict[str, Any]) -> None:
    data = document_bytes(DocumentKind("note"), values)
    assert json.loads(data.decode()) == {"schema": 1, **values}


def test_a_document_is_written_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    write_document(path, KIND, {"words": ["grün"]})
    assert "grün" in path.read_text("utf-8")  # readable without tools
    assert read_document(path, KIND).values == {"words": ["grün"]}
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["note.json"]


def test_older_documents_go_up_one_version_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text('{"schema": 1, "word": "x"}')
    before = path.read_bytes()
    document = read_document(path, KIND)
    assert document.values == {"words": ["x"], "n": 2}
    assert not document.read_only
    assert path.read_bytes() == before
    path.write_text('{"schema": 1}')
    with pytest.raises(DamagedFileError, match="from version 1 to 2"):
        read_document(path, KIND)


def test_newer_documents_are_only_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    path.write_text('{"schema": 4, "colour": 1}')
    document = read_document(path, KIND)
    assert document.read_only
    assert document.values == {"colour": 1}
    assert "newer version of the studio (version 4, this one knows 3)" in document.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100,
        b"{",
        b"[1]",
        b"{}",
        b'{"schema": true}',
        b'{"schema": 0}',
        b'{"schema": "1"}',
        b'{"schema": 3, "n": NaN}',
        b'{"schema": 3, "n": ' + b"9" * 5000 + b"}",
        b'{"schema": 3, "n": "\xff"}',
        b"[" * 100_000,
    ],
)
def test_damaged_documents_are_explained_and_kept(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "note.json"
    for number in (1, 2):
        path.write_bytes(data)
        with pytest.raises(DamagedFileError) as caught:
            read_document(path, KIND)
        assert str(path) in caught.value.message
        assert caught.value.hint
        assert set_aside(path).name == f"note.json.damaged-{number}"
        assert not path.exists()
    assert (tmp_path / "note.json.damaged-1").read_bytes() == data


def test_what_the_system_refuses_is_explained(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "note.json"
    with pytest.raises(StorageError, match="cannot be read: No such file"):
        read_document(missing, KIND)
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        replace_bytes(missing, b"x")
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(DamagedFileError, match="over 4 bytes"):
        read_bytes(tmp_path / "large", 4)


def test_no_seed_is_greater_than_the_engine_takes() -> None:
    assert Fields({"seed": 2**64 - 1}, "s").optional_integer("seed") == 2**64 - 1
    with pytest.raises(DamagedFileError, match="'seed' should be"):
        Fields({"seed": 2**64}, "s").optional_integer("seed")


def test_fields_name_what_is_wrong() -> None:
    wrong = {"text": 1, "flag": 0, "n": True, "share": 2.0, "theme": "pink", "list": ["x", 1]}
    strict = Fields(wrong, "here")
    for act in (
        lambda: strict.text("text", ""),
        lambda: strict.flag("flag", default=True),
        lambda: strict.integer("n", 1),
        lambda: strict.number("share", 0.5, 0, 1),
        lambda: strict.choice("theme", Theme, Theme.DARK),
        lambda: strict.texts("list"),
        lambda: strict.text("missing"),
    ):
        with pytest.raises(DamagedFileError, match=r"^here: '"):
            act()
    lenient = Fields(wrong, "here", lenient=True)
    assert lenient.integer("n", 1) == 1
    assert lenient.choice("theme", Theme, Theme.DARK) is Theme.DARK
    assert lenient.number("share", 0.5, 0, 1) == 0.5
    assert len(lenient.complaints) == 3
    assert set(lenient.rest) == {"text", "flag", "list"}


# --- names ---

HARD = ["con", "CON.txt", "a/b", "x:", "..", ".", "", " ", "COM¹", "nul ", "a" * 400, "é" * 400,
        "a\n\tb", "trailing. . .", ".hidden", "\ud800", "e\u0301" * 300, "<\u200d\u0338", "日本語",
        "aux.tar.gz", "\u202egnp.exe", "conin$", "🎤" * 99]  # fmt: skip


def is_safe(name: str) -> bool:
    return (
        0 < len(name.encode()) <= LONGEST_NAME
        and not any(char in '<>:"/\\|?*' or ord(char) < 32 for char in name)
        and name == name.strip(" .")
        and name.split(".")[0].rstrip().lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
        and unicodedata.is_normalized("NFC", name)
    )


@given(st.text(st.characters(), max_size=300) | st.sampled_from(HARD))
def test_any_text_makes_a_safe_name(text: str) -> None:
    name = safe_name(text)
    assert is_safe(name)
    assert safe_name(name) == name


@pytest.mark.parametrize("text", HARD)
def test_hard_names_can_be_files(tmp_path: Path, text: str) -> None:
    name = safe_name(text)
    assert is_safe(name)
    (tmp_path / name).write_bytes(b"")
    assert len([path for path in tmp_path.iterdir() if path.is_file()]) == 1
    folder = f"{slug(text, fallback='voice')}-01234567"
    assert is_safe(folder)
    (tmp_path / folder).mkdir()


def test_names_stay_readable() -> None:
    assert safe_name("Anna: “Hallo?” 1/2") == "Anna- “Hallo-” 1-2"
    assert safe_name("con") == "_con"
    assert safe_name("???", fallback="take") == "-"
    assert safe_name(" . ", fallback="take") == "take"
    assert slug("Ash & Élan, 2nd!", fallback="voice") == "ash-élan-2nd"
    assert slug("日本語 の声", fallback="voice") == "日本語-の声"
    assert slug("हिन्दी", fallback="voice") == "हिन्दी"
    assert slug("...", fallback="voice") == "voice"


@given(st.lists(st.sampled_from(["a", "A", "é", "e\u0301", "É", "ß", "SS", "a 2", "x.wav"])))
def test_names_that_a_file_system_may_confuse_are_kept_apart(wanted: list[str]) -> None:
    taken: list[str] = []
    for name in wanted:
        taken.append(unique_name(name, taken))
    assert len({name_key(name) for name in taken}) == len(taken)


def test_numbers_go_before_the_ending_and_names_stay_short() -> None:
    assert unique_name("take.wav", ["TAKE.WAV"]) == "take 2.wav"
    assert unique_name("v1.5 final", ["v1.5 final"]) == "v1.5 final 2"
    long = safe_name("é" * 400)
    assert len(unique_name(long, [long]).encode()) <= LONGEST_NAME


# --- trash ---


def test_the_trash_gives_back_what_it_got(tmp_path: Path) -> None:
    trash = Trash(tmp_path / "trash")
    voice = tmp_path / "voices" / "ash"
    voice.mkdir(parents=True)
    (voice / "a.txt").write_text("hello")
    loose = tmp_path / "b.wav"
    loose.write_bytes(b"sound")
    item = trash.move([voice, loose, tmp_path / "missing"], "voice", "Ash", "id1")
    assert not voice.exists()
    assert not loose.exists()
    (found,) = trash.items()
    assert found == item
    assert found.origins == (voice, loose)
    assert trash.find("voice", "id1") == item
    assert trash.find("take", "id1") is None
    loose.write_bytes(b"other")
    with pytest.raises(StorageError, match="is there again"):
        trash.restore(found)
    assert not voice.exists()
    loose.unlink()
    assert trash.restore(found) == (voice, loose)
    assert (voice / "a.txt").read_text() == "hello"
    assert loose.read_bytes() == b"sound"
    assert trash.items() == ()
    with pytest.raises(StorageError, match="no longer in the trash"):
        trash.restore(found)


def test_the_newest_comes_first_and_emptying_is_final(tmp_path: Path) -> None:
    trash = Trash(tmp_path / "trash")
    assert trash.items() == ()
    assert trash.empty() == 0
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
        trash.move([tmp_path / name], "take", name, "same")
    dates = [item.deleted for item in trash.items()]
    assert dates == sorted(dates, reverse=True)
    assert {item.label for item in trash.items()} == {"a", "b", "c"}
    assert trash.empty() == 3
    assert trash.items() == ()


def test_the_trash_moves_with_the_studio(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "a").write_text("a")
    Trash(old / "trash").move([old / "a"], "take", "a")
    old.rename(tmp_path / "new")
    trash = Trash(tmp_path / "new" / "trash")
    assert trash.restore(trash.items()[0]) == (tmp_path / "new" / "a",)


@pytest.mark.parametrize("origin", ["../outside", "/etc/outside", ""])
def test_notes_cannot_send_files_elsewhere(tmp_path: Path, origin: str) -> None:
    trash = Trash(tmp_path / "trash")
    (tmp_path / "a").write_text("a")
    item = trash.move([tmp_path / "a"], "take", "a")
    note = tmp_path / "trash" / item.id / NOTE
    values = json.loads(note.read_text())
    note.write_text(json.dumps(values | {"origins": [origin]}))
    assert trash.items() == ()  # passed over; the files stay
    assert any(path.name == "0-a" for path in (tmp_path / "trash").rglob("*"))


def test_what_cannot_be_moved_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trash = Trash(tmp_path / "trash")
    (tmp_path / "a").write_text("a")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.move", refuse)
    with pytest.raises(StorageError, match="cannot be moved: Permission denied"):
        trash.move([tmp_path / "a"], "take", "a")
    assert (tmp_path / "a").read_text() == "a"
    assert trash.items() == ()
