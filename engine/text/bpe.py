"""Turns text into the token ids a talker was trained on, from the vocabulary in its GGUF file.

The scheme is the byte-level BPE of Qwen2: Unicode NFC, a split into words, and merges of byte
pairs within each word. What a user types goes through `BytePairTokenizer.encode`, which knows no
control tokens: `<|im_end|>` is spelled out like any other text.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Final

import regex

from engine.errors import ModelFileError

NORMAL: Final = 1
ADDED: Final = 4
"""The two values of `tokenizer.ggml.token_type` that a Qwen vocabulary uses."""

_TOKENS_KEY: Final = "tokenizer.ggml.tokens"
_TYPES_KEY: Final = "tokenizer.ggml.token_type"
_MERGES_KEY: Final = "tokenizer.ggml.merges"

# The pre-tokenizer of the official tokenizer.json; its alternatives cover every character.
_WORD: Final = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)
_SURROGATE: Final = regex.compile(r"\p{Cs}")
_LONG_RUN_OF_MARKS: Final = regex.compile(r"\p{M}{64,}")

# Words of prose repeat; long ones (no spaces, or nonsense) hardly do and would fill the memory.
_CACHED_WORDS: Final = 8192
_CACHED_WORD_LENGTH: Final = 48


def _byte_alphabet() -> str:
    """The character that stands for each byte in a vocabulary (the table of GPT-2), 256 long.

    Printable Latin-1 bytes stand for themselves, the other 68 for U+0100 and up in their order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    substitutes = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in printable else next(substitutes)) for byte in range(256))


_ALPHABET: Final = _byte_alphabet()
_CHARACTER_OF_BYTE: Final[Mapping[int, str]] = MappingProxyType(dict(enumerate(_ALPHABET)))
_BYTE_OF_CHARACTER: Final[Mapping[str, int]] = MappingProxyType(
    {character: byte for byte, character in enumerate(_ALPHABET)}
)


class BytePairTokenizer:
    """The tokenizer described by the arrays `tokenizer.ggml.*` of a GGUF file.

    `tokens[id]` is a token in the byte alphabet (the plain text for added tokens), `token_types`
    its kind, and `merges` holds lines "left right", the merge to be made first on top. `source`
    names the file in errors.

    Raises `ModelFileError`, naming the key, where the arrays cannot be a byte-level vocabulary.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        token_types: Sequence[int],
        merges: Sequence[str],
        *,
        source: str = "The model file",
    ) -> None:
        if len(tokens) != len(token_types):
            raise _damaged(
                source, _TYPES_KEY, f"has {len(token_types)} entries for {len(tokens)} tokens"
            )
        ids = {token: index for index, token in enumerate(tokens)}
        if len(ids) != len(tokens):
            index = next(index for index, token in enumerate(tokens) if ids[token] != index)
            raise _damaged(source, _TOKENS_KEY, f"holds {tokens[index]!r} twice")

        normal = {
            t: i for (t, i), kind in zip(ids.items(), token_types, strict=True) if kind == NORMAL
        }
        missing = [byte for byte, character in enumerate(_ALPHABET) if character not in normal]
        if missing:
            raise _damaged(source, _TOKENS_KEY, f"has no token for the byte 0x{missing[0]:02X}")
        foreign = set("".join(normal)).difference(_ALPHABET)
        if foreign:
            raise _damaged(
                source, _TOKENS_KEY, f"uses {min(foreign)!r}, which stands for no byte, in a token"
            )
        made: list[int] = []
        for merge in merges:
            left, _, right = merge.partition(" ")
            made_id = normal.get(left + right)
            if left not in normal or right not in normal or made_id is None:
                raise _damaged(source, _MERGES_KEY, _merge_fault(merge))
            made.append(made_id)

        self._tokens = tuple(tokens)
        self._ids = normal
        self._ranks = _merge_ranks(normal, merges, made)
        self.added: Mapping[str, int] = MappingProxyType(
            {t: i for (t, i), kind in zip(ids.items(), token_types, strict=True) if kind == ADDED}
        )
        """The id of every added token, by its plain text."""
        self._cached_word_ids = lru_cache(maxsize=_CACHED_WORDS)(self._word_ids)

    def encode(self, text: str) -> list[int]:
        """Ids of `text` as ordinary text: no added token is ever produced, whatever it spells.

        Any string will do. Surrogates without a partner become U+FFFD, pairs the character they
        mean.
        """
        return list(self._ordinary_ids(_without_surrogates(text)))

    def encode_with_added(self, text: str) -> list[int]:
        """Ids of `text` where every added token is taken verbatim, as the official tokenizer does.

        For templates and comparisons only. The longest token at the leftmost place wins; the
        stretches between are normalised and split on their own.
        """
        text = _without_surrogates(text)
        ids: list[int] = []
        end = 0
        for match in self._added_pattern.finditer(text):
            ids.extend(self._ordinary_ids(text[end : match.start()]))
            ids.append(self.added[match.group()])
            end = match.end()
        ids.extend(self._ordinary_ids(text[end:]))
        return ids

    @cached_property
    def _added_pattern(self) -> regex.Pattern[str]:
        # An alternation takes the first branch that fits, so the longest has to come first.
        longest_first = sorted(filter(None, self.added), key=len, reverse=True)
        return regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, for people to read.

        Bytes that are no UTF-8, and ids outside the vocabulary, become U+FFFD.
        """
        return b"".join(map(self._bytes_of, ids)).decode("utf-8", "replace")

    def _ordinary_ids(self, text: str) -> Iterator[int]:
        for match in _WORD.finditer(_composed(text)):
            word = match.group()
            short = len(word) <= _CACHED_WORD_LENGTH
            yield from (self._cached_word_ids if short else self._word_ids)(word)

    def _word_ids(self, word: str) -> tuple[int, ...]:
        # Latin-1 gives every byte the code point of its value, which is what `translate` looks up.
        characters = word.encode("utf-8").decode("latin-1").translate(_CHARACTER_OF_BYTE)
        return tuple(self._ids[piece] for piece in _merged(characters, self._ranks))

    def _bytes_of(self, index: int) -> bytes:
        if not 0 <= index < len(self._tokens):
            return "\N{REPLACEMENT CHARACTER}".encode()
        token = self._tokens[index]
        if token in self._ids:
            return bytes(_BYTE_OF_CHARACTER[character] for character in token)
        return token.encode("utf-8", "replace")


def _merged(characters: str, ranks: Mapping[str, int]) -> list[str]:
    """`characters` after all merges: again and again the pair of lowest rank, the leftmost on ties.

    The pieces form a linked list and the candidates wait in a heap, O(n log n) for n characters.
    """
    pieces = list(characters)
    count = len(pieces)
    before = list(range(-1, count - 1))
    after = list(range(1, count + 1))
    candidates = [
        (ranks[pair], index)
        for index, pair in enumerate(map(" ".join, pairwise(pieces)))
        if pair in ranks
    ]
    heapq.heapify(candidates)
    while candidates:
        rank, left = heapq.heappop(candidates)
        right = after[left]
        # Either neighbour may have been merged away since; an emptied piece makes no known pair.
        if right == count or ranks.get(f"{pieces[left]} {pieces[right]}") != rank:
            continue
        pieces[left] += pieces[right]
        pieces[right] = ""
        beyond = after[right]
        after[left] = beyond
        if beyond < count:
            before[beyond] = left
            pair = f"{pieces[left]} {pieces[beyond]}"
            if pair in ranks:
                heapq.heappush(candidates, (ranks[pair], left))
        if before[left] >= 0:
            pair = f"{pieces[before[left]]} {pieces[left]}"
            if pair in ranks:
                heapq.heappush(candidates, (ranks[pair], before[left]))
    return [piece for piece in pieces if piece]


def _merge_ranks(
    ids: Mapping[str, int], merges: Sequence[str], made: Sequence[int]
) -> dict[str, int]:
    """The rank of every merge; `made[i]` is the id of the token that `merges[i]` makes.

    Published files lack the merges that begin with "#", which their converter took for comments.
    Where the others stand in the order of the ids they make (as in Qwen's vocabulary, whose ids
    are ranks), the id of a token is the rank of its merge, so the lost merge of a token is known:
    it joins the two pieces that the merges of lower rank leave of it. Nothing is put back if the
    list has a merge of this kind, or another order.
    """
    lost = [token for token in ids if token.startswith("#") and len(token) > 1]
    whole = not lost or any(merge.startswith("#") for merge in merges)
    if whole or any(earlier >= later for earlier, later in pairwise(made)):
        return {merge: rank for rank, merge in enumerate(merges)}
    ranks = dict(zip(merges, made, strict=True))
    for token in sorted(lost, key=ids.__getitem__):
        pieces = _merged(token, ranks)
        if len(pieces) == 2 and max(ids[piece] for piece in pieces) < ids[token]:
            ranks[" ".join(pieces)] = ids[token]
    return ranks


def _without_surrogates(text: str) -> str:
    """`text` as Unicode scalar values, which alone have a UTF-8 form."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _composed(text: str) -> str:
    """`text` in Unicode Normalization Form C.

    CPython sorts combining marks in quadratic time. Long runs of them come from no language, but
    a pasted one must not hang the program, so these are put in canonical order beforehand.
    """
    return unicodedata.normalize("NFC", _LONG_RUN_OF_MARKS.sub(_ordered_marks, text))


def _ordered_marks(run: regex.Match[str]) -> str:
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run.group())
    classes = [unicodedata.combining(mark) for mark in marks]
    # Nothing moves across a mark of class 0: such marks number the stretches to be sorted.
    stretches = accumulate(int(combining == 0) for combining in classes)
    ordered = sorted(zip(stretches, classes, marks, strict=True), key=itemgetter(0, 1))
    return "".join(mark for _, _, mark in ordered)


def _merge_fault(merge: str) -> str:
    left, _, right = merge.partition(" ")
    if not left or not right or " " in right:
        return f"has the entry {merge!r}, which is not two pieces with a blank between them"
    return f"joins {left!r} and {right!r}, which are not both tokens that make a third"


def _damaged(source: str, key: str, fault: str) -> ModelFileError:
    return ModelFileError(
        f"{source}: {key} {fault}.",
        "The file is damaged or not a Qwen3-TTS model; download or convert it again.",
    )
