"""The tokenizer on vocabularies made by hand, against a direct reading of the BPE rules."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.text.bpe import ADDED, NORMAL, BytePairTokenizer

PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
# In the order of the Qwen vocabulary: bytes that stand for themselves first.
BYTES = [*map(chr, PRINTABLE), *(chr(0x100 + place) for place in range(len(OTHERS)))]
BYTE_ID = {byte: index for index, byte in enumerate([*PRINTABLE, *OTHERS])}


def build(
    merges: list[str], added: tuple[str, ...] = (), extra: tuple[str, ...] = ()
) -> BytePairTokenizer:
    """Ids: 0..255 the bytes, then what `merges` make in their order, then `extra`, then `added`."""
    normal = [*BYTES, *dict.fromkeys(merge.replace(" ", "") for merge in merges), *extra]
    types = [NORMAL] * len(normal) + [ADDED] * len(added)
    return BytePairTokenizer([*normal, *added], types, merges)


def spelled(text: str) -> list[int]:
    """The ids of `text`, byte by byte."""
    return [BYTE_ID[byte] for byte in text.encode("utf-8")]


def test_bytes_follow_the_table_of_gpt2() -> None:
    tokenizer = build([])
    assert tokenizer.encode(" ") == [BYTES.index("\u0120")]
    assert tokenizer.encode("\n") == [BYTES.index("\u010a")]
    assert tokenizer.encode("\x00") == [BYTES.index("\u0100")]
    assert tokenizer.encode("é") == [BYTES.index("Ã"), BYTES.index("©")]


def test_empty_text_has_no_ids() -> None:
    tokenizer = build([], added=("<x>",))
    assert tokenizer.encode("") == []
    assert tokenizer.encode_with_added("") == []
    assert tokenizer.decode([]) == ""


def test_lowest_rank_merges_first_then_the_leftmost() -> None:
    tokenizer = build(["b c", "a b", "a a"])
    bc, ab, aa = 256, 257, 258
    assert tokenizer.encode("abc") == [*spelled("a"), bc]
    assert tokenizer.encode("abab") == [ab, ab]
    assert tokenizer.encode("aaa") == [aa, *spelled("a")]
    assert tokenizer.encode("aaab") == [aa, ab]


def test_a_token_without_a_merge_is_never_made() -> None:
    assert build(["a b"], extra=("xy", "abc")).encode("xyabc") == [*spelled("xy"), 256, BYTE_ID[99]]


@pytest.mark.parametrize("kind", [2, 3, 5, 6])
def test_tokens_of_other_types_are_neither_made_nor_matched(kind: int) -> None:
    tokens = [*BYTES, "ab", "<s>"]
    tokenizer = BytePairTokenizer(tokens, [NORMAL] * 257 + [kind], ["a b"])
    assert dict(tokenizer.added) == {}
    assert tokenizer.encode_with_added("ab<s>") == [256, *spelled("<s>")]
    assert tokenizer.decode([256, 257]) == "ab<s>"


def test_merges_stay_within_a_word() -> None:
    tokenizer = build(["a Ġ", "1 2", "! a", "Ġ b", "a b"])
    assert tokenizer.encode("a 12") == spelled("a 12")
    assert tokenizer.encode("a b") == [*spelled("a"), 259]
    assert tokenizer.encode("!ab") == [258, *spelled("b")]


def naive(text: str, merges: list[str]) -> list[str]:
    """BPE as it is defined: look at every pair each time."""
    pieces = list(text)
    while True:
        known = [
            (merges.index(pair), place)
            for place, pair in enumerate(map(" ".join, pairwise(pieces)))
            if pair in merges
        ]
        if not known:
            return pieces
        place = min(known)[1]
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


@st.composite
def merge_lists(draw: st.DrawFn) -> list[str]:
    pieces, merges = ["a", "b", "c"], list[str]()
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(st.sampled_from(pieces)), draw(st.sampled_from(pieces))
        if len(left + right) <= 12 and left + right not in pieces:
            pieces.append(left + right)
            merges.append(f"{left} {right}")
    return draw(st.permutations(merges))


@given(merge_lists(), st.text("abc", max_size=80))
def test_merging_equals_the_definition(merges: list[str], word: str) -> None:
    tokenizer = build(merges)
    names = [*BYTES, *(merge.replace(" ", "") for merge in merges)]
    ids = tokenizer.encode(word)
    assert [names[index] for index in ids] == naive(word, merges)
    assert tokenizer.encode(word) == ids  # from the cache, where the word is short


def test_a_word_of_100_000_characters() -> None:
    tokenizer = build(["a b", "ab ab", "abab abab"])
    assert tokenizer.encode("ab" * 50_000) == [258] * 12_500
    assert tokenizer.encode("ab" * 50_000 + "c") == [258] * 12_500 + spelled("c")


def test_100_000_combining_marks() -> None:
    # A canonical order exists: marks below (class 220) before marks above (class 230).
    ids = build([]).encode("q" + "\u0301\u0316" * 50_000)
    assert ids == spelled("q" + "\u0316" * 50_000 + "\u0301" * 50_000)


@given(st.text(st.characters(categories=["M"]) | st.sampled_from("\u0f73\u0344"), min_size=60))
def test_runs_of_marks_become_nfc(marks: str) -> None:
    tokenizer = build([])
    assert tokenizer.encode("e" + marks) == spelled(unicodedata.normalize("NFC", "e" + marks))


def test_text_is_composed() -> None:
    assert build([]).encode("e\u0301") == spelled("\u00e9")
    assert build([]).encode("\u1100\u1161\u11a8") == spelled("\uac01")


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83c\udf89!", "\N{PARTY POPPER}!"),
        ("\ud83c\ud83c\udf89", "\ufffd\N{PARTY POPPER}"),
    ],
)
def test_surrogates(text: str, same_as: str) -> None:
    tokenizer = build(["a b"], added=("<x>",))
    assert tokenizer.encode(text) == spelled(same_as)
    assert tokenizer.encode_with_added(text) == spelled(same_as)


@given(st.text())
def test_decoding_gives_back_the_composed_text(text: str) -> None:
    tokenizer = build(["a b", "Ġ Ġ", "Ã ©", "' s"], added=("<x>",))
    assert tokenizer.decode(tokenizer.encode(text)) == unicodedata.normalize("NFC", text)


ADDED_TOKENS = ("<x>", "<x><y>", "y>.", "<|im_end|>")


def test_added_tokens_are_looked_up_by_text() -> None:
    tokenizer = build(["a b"], added=ADDED_TOKENS)
    assert tokenizer.added == {"<x>": 257, "<x><y>": 258, "y>.": 259, "<|im_end|>": 260}


def test_typed_control_tokens_are_ordinary_text() -> None:
    tokenizer = build(["a b"], added=ADDED_TOKENS)
    for token in ADDED_TOKENS:
        assert tokenizer.encode(f"a{token}b") == spelled(f"a{token}b")


def test_the_longest_added_token_at_the_leftmost_place_wins() -> None:
    tokenizer = build(["a b"], added=ADDED_TOKENS)
    assert tokenizer.encode_with_added("<x><y>.") == [258, *spelled(".")]
    assert tokenizer.encode_with_added("ab<x>ab y>.<|im_end|>") == [
        256,
        257,
        256,
        *spelled(" "),
        259,
        260,
    ]
    assert tokenizer.encode_with_added("<|im_end") == spelled("<|im_end")


def test_text_around_added_tokens_is_composed_and_split_on_its_own() -> None:
    tokenizer = build(["a b", "! Ċ"], added=("<x>",))
    assert tokenizer.encode_with_added("e<x>\u0301") == [*spelled("e"), 258, *spelled("\u0301")]
    assert tokenizer.encode_with_added("a<x>b") == [*spelled("a"), 258, *spelled("b")]
    assert tokenizer.encode_with_added("!<x>\n") == [*spelled("!"), 258, *spelled("\n")]


def test_decode_of_added_tokens_broken_bytes_and_foreign_ids() -> None:
    tokenizer = build(["a b"], added=("<é x>",))
    assert tokenizer.decode([256, 257, *spelled("é")[:1], *spelled("c")]) == "ab<é x>\ufffdc"
    assert tokenizer.decode([BYTE_ID[97], 258, -1, 10**9]) == "a\ufffd\ufffd\ufffd"


class TestLostMerges:
    """Merges that begin with "#" are missing from published files."""

    def test_put_back_where_ids_are_ranks(self) -> None:
        tokens = [*BYTES, "ab", "##", "#ab", "####", "bc"]
        tokenizer = BytePairTokenizer(tokens, [NORMAL] * len(tokens), ["a b", "b c"])
        assert tokenizer.encode("##") == [257]
        assert tokenizer.encode("#####") == [259, *spelled("#")]
        assert tokenizer.encode("#abc") == [258, *spelled("c")]
        assert tokenizer.encode("##ab") == [257, 256]  # "##" has the lower id, hence goes first

    def test_not_put_back_where_the_list_has_another_order(self) -> None:
        tokens = [*BYTES, "bc", "ab", "##"]
        tokenizer = BytePairTokenizer(tokens, [NORMAL] * len(tokens), ["a b", "b c"])
        assert tokenizer.encode("##") == spelled("##")
        assert tokenizer.encode("abc") == [257, *spelled("c")]

    def test_not_put_back_where_the_list_kept_one(self) -> None:
        tokens = [*BYTES, "##", "#a"]
        tokenizer = BytePairTokenizer(tokens, [NORMAL] * len(tokens), ["# #"])
        assert tokenizer.encode("##") == [256]
        assert tokenizer.encode("#a") == spelled("#a")

    def test_not_put_back_where_no_single_merge_makes_the_token(self) -> None:
        tokenizer = build(["a b"], extra=("#abc", "#bc"))
        assert tokenizer.encode("#abc") == [*spelled("#"), 256, *spelled("c")]
        assert tokenizer.encode("#bc") == spelled("#bc")

    def test_not_put_back_from_pieces_that_come_later(self) -> None:
        tokens = [*BYTES, "#ab", "ab"]
        tokenizer = BytePairTokenizer(tokens, [NORMAL] * len(tokens), ["a b"])
        assert tokenizer.encode("#ab") == [*spelled("#"), 257]

    def test_other_tokens_without_merges_are_left_alone(self) -> None:
        tokenizer = build(["a b"], extra=("##", "xy"))
        assert tokenizer.encode("##") == [257]
        assert tokenizer.encode("xy") == spelled("xy")


@pytest.mark.parametrize(
    ("tokens", "types", "merges", "key", "fault"),
    [
        (BYTES, [NORMAL] * 255, [], "token_type", "has 255 entries for 256 tokens"),
        ([], [], [], "tokens", "no token for the byte 0x00"),
        (BYTES[:-1], [NORMAL] * 255, [], "tokens", "no token for the byte 0xAD"),
        (BYTES, [ADDED] + [NORMAL] * 255, [], "tokens", "no token for the byte 0x21"),
        ([*BYTES, "ab", "ab"], [NORMAL] * 258, [], "tokens", "holds 'ab' twice"),
        ([*BYTES, "ab", "ab"], [NORMAL] * 257 + [ADDED], [], "tokens", "holds 'ab' twice"),
        ([*BYTES, "a b"], [NORMAL] * 257, [], "tokens", "uses ' ', which stands for no byte"),
        ([*BYTES, "ab"], [NORMAL] * 257, ["ab"], "merges", "'ab', which is not two pieces"),
        ([*BYTES, "ab"], [NORMAL] * 257, [" ab"], "merges", "' ab', which is not two pieces"),
        ([*BYTES, "ab"], [NORMAL] * 257, ["ab "], "merges", "'ab ', which is not two pieces"),
        ([*BYTES, "ab"], [NORMAL] * 257, ["a b c"], "merges", "'a b c', which is not two"),
        ([*BYTES, "ab"], [NORMAL] * 257, [""], "merges", "'', which is not two pieces"),
        ([*BYTES, "ab"], [NORMAL] * 257, ["a c"], "merges", "joins 'a' and 'c', which"),
        ([*BYTES, "abc"], [NORMAL] * 257, ["ab c"], "merges", "joins 'ab' and 'c', which"),
        ([*BYTES, "ab"], [NORMAL] * 256 + [ADDED], ["a b"], "merges", "joins 'a' and 'b', which"),
    ],
)
def test_damaged_vocabularies(
    tokens: list[str], types: list[int], merges: list[str], key: str, fault: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        BytePairTokenizer(tokens, types, merges, source="voice.gguf")
    assert caught.value.message.startswith(f"voice.gguf: tokenizer.ggml.{key} ")
    assert fault in caught.value.message
    assert caught.value.hint
