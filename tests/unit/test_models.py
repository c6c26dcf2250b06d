"""Models are found by what they hold, and the same files lead to the same choice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.models import (
    FoundCodec,
    FoundModels,
    UnusableFile,
    best_codec,
    choose_pair,
    find_models,
    look_into,
    voice_makers,
)
from engine import (
    DEMO_SIZE,
    Family,
    ModelDescription,
    ModelFileError,
    ModelPair,
    describe_file,
    describe_model,
)

BASE = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
PLAIN = (Family.CUSTOM_VOICE, Family.BASE, Family.VOICE_DESIGN)


@pytest.fixture
def described(data: Path) -> ModelDescription:
    return describe_model(data / BASE)


def shelf(described: ModelDescription, *rows: tuple[str, Family, int, int]) -> FoundModels:
    """Talkers (path, family, width, bytes) in /m, with one tokenizer."""
    talkers = tuple(
        replace(described, path=Path(path), name=Path(path).stem, family=family)
        for path, family, _, _ in rows
    )
    talkers = tuple(
        replace(talker, width=width, file_bytes=size)
        for talker, (_, _, width, size) in zip(talkers, rows, strict=True)
    )
    return FoundModels((Path("/m"),), talkers, (FoundCodec(Path("/m/codec.gguf"), 5),), ())


def test_files_are_found_by_what_they_hold(data: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (second / "deeper").mkdir(parents=True)
    shutil.copy(data / BASE, first / "b.GGUF")
    shutil.copy(data / CODEC, first / "a.gguf")
    shutil.copy(data / BASE, first / "notes.txt")
    shutil.copy(data / BASE, second / "deeper" / "c.gguf")
    (second / "cut.gguf").write_bytes((data / BASE).read_bytes()[:9000])
    (second / ".part.gguf").write_bytes(b"")
    found = find_models([first, tmp_path / "absent", second, first])
    assert found.folders == (first, tmp_path / "absent", second)
    assert [talker.path for talker in found.talkers] == [first / "b.GGUF"]
    assert found.codecs == (FoundCodec(first / "a.gguf", (data / CODEC).stat().st_size),)
    assert [file.path for file in found.unusable] == [second / "cut.gguf"]
    assert "cut.gguf" in found.unusable[0].error.message


def test_a_file_is_a_talker_or_a_tokenizer(data: Path, described: ModelDescription) -> None:
    assert describe_file(data / BASE) == described
    assert describe_file(data / CODEC) is None
    with pytest.raises(ModelFileError, match="tokenizer"):
        describe_model(data / CODEC)


def test_the_wanted_family_goes_first_then_the_largest(described: ModelDescription) -> None:
    found = shelf(
        described,
        ("/m/a.gguf", Family.BASE, 1024, 900),
        ("/m/b.gguf", Family.BASE, 2048, 400),
        ("/m/c.gguf", Family.BASE, 2048, 800),
        ("/m/d.gguf", Family.CUSTOM_VOICE, 1024, 100),
        ("/m/e.gguf", Family.BASE, 2048, 800),
    )
    assert choose_pair(found, PLAIN).talker == Path("/m/d.gguf")
    assert choose_pair(found, (Family.BASE,)).talker == Path("/m/c.gguf")
    assert choose_pair(found, (Family.BASE,)).codec == Path("/m/codec.gguf")
    turned = replace(found, talkers=found.talkers[::-1])
    assert choose_pair(turned, (Family.BASE,)).talker == Path("/m/c.gguf")
    with pytest.raises(ModelFileError, match=r"None of the models in /m is a voice_design model\."):
        choose_pair(found, (Family.VOICE_DESIGN,))


def test_names(described: ModelDescription, data: Path) -> None:
    found = shelf(
        described,
        ("/m/small-Q8_0.gguf", Family.BASE, 1024, 900),
        ("/m/small-Q8_0-new.gguf", Family.BASE, 1024, 900),
        ("/m/large.gguf", Family.CUSTOM_VOICE, 2048, 400),
    )
    for name in ("LARGE", "large.gguf", "arg"):
        assert choose_pair(found, PLAIN, name).talker == Path("/m/large.gguf")
    assert choose_pair(found, PLAIN, "small-q8_0").talker == Path("/m/small-Q8_0.gguf")
    with pytest.raises(
        ModelFileError,
        match=r"several models: small-Q8_0.gguf, small-Q.* example small-Q8_0.gguf\.$",
    ):
        choose_pair(found, PLAIN, "small")
    with pytest.raises(ModelFileError, match=r"no model 'huge' in /m\. There are: small-Q8_0"):
        choose_pair(found, PLAIN, "huge")
    named = choose_pair(found, PLAIN, str(data / BASE), Path("/other/codec.gguf"))
    assert (named.talker, named.codec) == (data / BASE, Path("/other/codec.gguf"))


def test_tokenizers(described: ModelDescription, data: Path) -> None:
    found = shelf(described, ("/m/a.gguf", Family.BASE, 1024, 900))
    codecs = (
        FoundCodec(Path("/x/huge.gguf"), 99),
        FoundCodec(Path("/m/small.gguf"), 1),
        FoundCodec(Path("/m/large.gguf"), 9),
    )
    assert choose_pair(replace(found, codecs=codecs), PLAIN).codec == Path("/m/large.gguf")
    assert choose_pair(replace(found, codecs=codecs[:2]), PLAIN).codec == Path("/m/small.gguf")
    assert choose_pair(replace(found, codecs=codecs[:1]), PLAIN).codec == Path("/x/huge.gguf")
    with pytest.raises(ModelFileError, match=r"no tokenizer in /m\. Put one there"):
        choose_pair(replace(found, codecs=()), PLAIN)
    # beside a talker that was named by its path
    assert choose_pair(found, PLAIN, str(data / BASE)).codec == data / CODEC


def test_a_tokenizer_goes_with_the_talkers_that_name_it(described: ModelDescription) -> None:
    official = FoundCodec(Path("/m/official.gguf"), 9)
    own = FoundCodec(Path("/m/own.gguf"), 99, "own")
    demo = replace(
        described, path=Path("/m/demo.gguf"), size=DEMO_SIZE, codec_name="own", family=Family.BASE
    )
    large = replace(described, path=Path("/m/large.gguf"), family=Family.BASE)
    assert best_codec((own, official), large) == official.path
    assert best_codec((official, own), demo) == own.path
    assert best_codec((official,), demo) is None
    found = FoundModels((Path("/m"),), (large, demo), (own, official), ())
    assert choose_pair(found, PLAIN).talker == large.path
    # a large one that has no tokenizer yet leaves the word to the demonstration voice
    assert choose_pair(replace(found, codecs=(own,)), PLAIN) == ModelPair(demo.path, own.path)
    with pytest.raises(ModelFileError, match=r"no tokenizer in /m"):
        choose_pair(replace(found, codecs=(own,)), PLAIN, "large.gguf")


def test_nothing_installed_says_what_and_where(described: ModelDescription) -> None:
    found = shelf(described)
    with pytest.raises(
        ModelFileError,
        match=r"no talker in /m\. .*0\.6b-custom.*about 0\.3 GB.*hf download .* --local-dir /m",
    ):
        choose_pair(found, PLAIN)
    damaged = UnusableFile(Path("/m/x.gguf"), ModelFileError("Cut."))
    with pytest.raises(ModelFileError, match=r"no talker in /m \(1 unusable: see voice-studio"):
        choose_pair(replace(found, unusable=(damaged,)), PLAIN)


def test_a_folder_that_may_not_be_read_hides_no_other(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, opened = tmp_path / "closed", tmp_path / "opened"
    closed.mkdir()
    opened.mkdir()
    shutil.copy(data / BASE, opened)
    list_folder = Path.iterdir

    def refuse(folder: Path) -> Iterator[Path]:
        if folder == closed:
            raise PermissionError(13, "Permission denied")
        return list_folder(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    found, problems = look_into([closed, opened, opened], tmp_path / "no-demo")
    assert found.folders == (closed, opened)
    assert [talker.path for talker in found.talkers] == [opened / BASE]
    assert [str(closed) in problem.message for problem in problems] == [True]
    with pytest.raises(ModelFileError, match="Permission denied"):
        find_models([closed, opened])


def test_one_base_talker_learns_voices_for_every_width(described: ModelDescription) -> None:
    found = shelf(
        described,
        ("/m/wide.gguf", Family.BASE, 2048, 400),
        ("/m/first.gguf", Family.BASE, 1024, 900),
        ("/m/second.gguf", Family.BASE, 1024, 800),
        ("/m/speakers.gguf", Family.CUSTOM_VOICE, 512, 900),
    )
    deaf = replace(described, path=Path("/m/deaf.gguf"), width=256, has_speaker_encoder=False)
    makers = voice_makers((*found.talkers, deaf))
    assert [maker.path.name for maker in makers] == ["first.gguf", "wide.gguf"]
    demo = replace(described, path=Path("/m/demo.gguf"), width=256, size=DEMO_SIZE)
    assert demo.family is Family.BASE
    assert voice_makers((demo, *makers)) == makers
    assert voice_makers((demo, deaf)) == (demo,)
    assert voice_makers(()) == ()
