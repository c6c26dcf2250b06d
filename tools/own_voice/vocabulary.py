"""The text side of the small talkers: bytes, and the few tokens that the prompt needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from engine.text.bpe import ADDED, NORMAL, BytePairTokenizer

MERGES = ("s s", "a ss", "ass i", "assi s", "assis t", "assist a", "assista n", "assistan t")
"""Make "assistant", one token in the prompt's template; the first pair is a rare one."""

CONTROLS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
)


def token_lists() -> tuple[list[str], list[int]]:
    """Tokens and their types, in the order of their ids."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    tokens = [chr(byte if byte in printable else next(others)) for byte in range(256)]
    tokens += ["".join(merge.split()) for merge in MERGES]
    return [*tokens, *CONTROLS], [NORMAL] * len(tokens) + [ADDED] * len(CONTROLS)


@cache
def tokenizer() -> BytePairTokenizer:
    tokens, types = token_lists()
    return BytePairTokenizer(tokens, types, MERGES, source="the small vocabulary")


def control(token: str) -> int:
    """The id of a control token."""
    return token_lists()[0].index(token)


class SmallVocabulary:
    """The same, as the metadata of a talker file is made of it."""

    path = Path("the small vocabulary")

    def string(self, key: str) -> str:
        return {"tokenizer.ggml.model": "gpt2"}[key]

    def integer(self, key: str) -> int:
        return {"tokenizer.ggml.eos_token_id": control("<|im_end|>")}[key]

    def strings(self, key: str) -> Sequence[str]:
        return {"tokenizer.ggml.tokens": token_lists()[0], "tokenizer.ggml.merges": MERGES}[key]

    def integers(self, key: str) -> Sequence[int]:
        return {"tokenizer.ggml.token_type": token_lists()[1]}[key]
