"""Token ids against the official tokenizer, with a small vocabulary and with the whole one."""

from __future__ import annotations

import json
import lzma
import unicodedata
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.gguf.reader import GgufFile
from engine.text.bpe import BytePairTokenizer


class Row(NamedTuple):
    """A text and what the official tokenizer makes of it."""

    text: str
    ids: list[int]  # with the small vocabulary
    utter: list[int]  # the same within the assistant template
    real_ids: list[int]  # with the published vocabulary


def open_tokenizer(path: Path) -> BytePairTokenizer:
    with GgufFile.open(path) as file:
        return BytePairTokenizer(
            file.strings("tokenizer.ggml.tokens"),
            file.integers("tokenizer.ggml.token_type"),
            file.strings("tokenizer.ggml.merges"),
            source=path.name,
        )


@pytest.fixture(scope="session")
def small(data: Path) -> BytePairTokenizer:
    return open_tokenizer(data / "qwen-talker-1.7b-base-F32.gguf")


@pytest.fixture(scope="session")
def real(data: Path, tmp_path_factory: pytest.TempPathFactory) -> BytePairTokenizer:
    """The vocabulary of the published files; their lost "#" merges are lost here too."""
    packed = (data / "qwen-bpe-only.gguf.xz").read_bytes()
    path = tmp_path_factory.mktemp("vocabulary") / "qwen-bpe-only.gguf"
    path.write_bytes(lzma.decompress(packed))
    return open_tokenizer(path)


@pytest.fixture(scope="session")
def rows(data: Path) -> list[Row]:
    content = json.loads((data / "text.json").read_text(encoding="utf-8"))
    rows = [Row(r["text"], r["ids"], r["utter"], r["real_ids"]) for r in content["rows"]]
    assert len(rows) == 57
    return rows


def assert_same(tokenizer: BytePairTokenizer, text: str, ids: list[int], wanted: list[int]) -> None:
    """Fail with the first place where `ids` differs from `wanted`."""
    for place, (ours, official) in enumerate(zip_longest(ids, wanted)):
        if ours != official:
            pytest.fail(
                f"{text!r}, token {place}: {ours}, official {official}, "
                f"after {tokenizer.decode(wanted[:place])!r}"
            )


def test_ids_of_the_small_vocabulary(small: BytePairTokenizer, rows: list[Row]) -> None:
    for row in rows:
        assert_same(small, row.text, small.encode_with_added(row.text), row.ids)


def test_ids_of_the_published_vocabulary(real: BytePairTokenizer, rows: list[Row]) -> None:
    for row in rows:
        assert_same(real, row.text, real.encode_with_added(row.text), row.real_ids)


def test_ids_within_the_assistant_template(small: BytePairTokenizer, rows: list[Row]) -> None:
    for row in rows:
        text = f"<|im_start|>assistant\n{row.text}<|im_end|>\n<|im_start|>assistant\n"
        assert_same(small, text, small.encode_with_added(text), row.utter)


def test_template_ids_around_ordinary_text(small: BytePairTokenizer, rows: list[Row]) -> None:
    """A template put together from ids is the official one, unless text spells control tokens."""
    start, end = small.added["<|im_start|>"], small.added["<|im_end|>"]
    role, line_end = [start, *small.encode("assistant\n")], small.encode("\n")
    plain = [
        row
        for row in rows
        if row.text == row.text.strip() and not any(token in row.text for token in small.added)
    ]
    assert len(plain) > 40
    for row in plain:
        ids = [*role, *small.encode(row.text), end, *line_end, *role]
        assert_same(small, row.text, ids, row.utter)


def test_every_control_token_can_be_spelled(
    small: BytePairTokenizer, real: BytePairTokenizer
) -> None:
    for tokenizer in (small, real):
        assert len(tokenizer.added) == 33
        for token, index in tokenizer.added.items():
            assert tokenizer.encode_with_added(f"a{token}\n")[1] == index
            ids = tokenizer.encode(f"a{token} b")
            assert not set(ids) & set(tokenizer.added.values())
            assert tokenizer.decode(ids) == f"a{token} b"


# Agreed by Hugging Face tokenizers and tiktoken, both given the tiktoken ranks of Qwen, which
# hold the "#" merges.
REFERENCE = [
    ("##", [565]),
    ("###", [14374]),
    ("####", [820]),
    ("#include <stdio.h>", [1067, 366, 10345, 860, 29]),
    ("# ## ### title", [2, 7704, 16600, 2265]),
    ("a##b", [64, 565, 65]),
    ("#!/bin/sh", [8701, 6863, 14688]),
    (
        "'S 'Ll x'RE '\u017f don't'ved",
        [13272, 364, 43, 75, 856, 94153, 364, 144815, 1513, 944, 3003, 67],
    ),
    ("' s '", [6, 274, 364]),
    ("'Tis 'LLama", [17323, 285, 364, 4086, 3029]),
    ("O'Day 'DATA", [46, 27705, 352, 364, 17777]),
    ("'Twas 'sure", [17323, 16123, 364, 19098]),
    ("a \t\n b", [64, 17476, 293]),
    ("  \r\n\r\n  x", [72745, 220, 856]),
    ("   ", [262]),
    ("x   ", [87, 262]),
    ("\xa0\xa0x\u3000", [4102, 4102, 87, 22441]),
    (  # digits: Arabic, Devanagari, Roman, a fraction, full width
        "\u0663\u0664 \u0967\u0968 \u2167\xbd \uff14\uff12",
        [149, 96, 149, 97, 220, 12619, 100, 12619, 101, 220, 70467, 100, 26062, 220, 45602, 24918],
    ),
    ("e\u0301", [963]),
    ("\u0301e", [53839, 68]),
    ("\u1100\u1161\u11a8", [126317]),
    ("<|im_end|>", [27, 91, 318, 6213, 91, 29]),
    ("<tts_pad>", [62752, 2576, 30290, 29]),
    ("<|im_start|>user\n", [27, 91, 318, 4906, 91, 29, 872, 198]),
    ("\x00", [188]),
    ("\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", [126654, 123855, 124907]),
    (
        "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627",
        [10176, 27910, 11071, 59397, 29825, 27910, 21360, 127837],
    ),
    (
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        [145233, 378, 235, 145233, 378, 235, 145665],
    ),
    ("\ufffd", [5691]),
    ("OK?!\n\n", [3925, 68013]),
    ("--- \n", [4421, 715]),
    ("iPhone", [44740]),
]


@pytest.mark.parametrize(("text", "ids"), REFERENCE, ids=[ascii(text) for text, _ in REFERENCE])
def test_ordinary_text_as_two_references_agree(
    real: BytePairTokenizer, text: str, ids: list[int]
) -> None:
    assert_same(real, text, real.encode(text), ids)


def test_every_token_that_needs_a_lost_merge_can_be_made(real: BytePairTokenizer) -> None:
    words = {index: real.decode([index]) for index in range(151_643)}
    lost = {index: word for index, word in words.items() if word[:1] == "#" and len(word) > 1}
    assert len(lost) == 96
    assert {index: real.encode(word) for index, word in lost.items()} == {i: [i] for i in lost}


# A prompt and an instruct as a run of the original program logged them.
LOGGED_IDS = [
    "151644 77091 198 80 41600 2576 7208 374 264 17377 356 1027 16 22 323 56698 2668 2635 315 1207"
    " 16948 18 9285 9951 369 7168 6552 2745 49823 1467 311 8806 13 151645 198 151644 77091 198",
    "151644 872 198 36476 11 3908 6683 11 23193 9649 151645 198",
]


@pytest.mark.parametrize("logged", LOGGED_IDS)
def test_logged_prompts_are_read_and_made_again(real: BytePairTokenizer, logged: str) -> None:
    ids = [int(word) for word in logged.split()]
    text = real.decode(ids)
    assert text.startswith("<|im_start|>")
    assert_same(real, text, real.encode_with_added(text), ids)


@given(st.text())
def test_decoding_gives_back_the_composed_text(real: BytePairTokenizer, text: str) -> None:
    assert real.decode(real.encode(text)) == unicodedata.normalize("NFC", text)
