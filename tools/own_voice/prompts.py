"""The rows before the first frame, as ids: the same as `engine.qwen3tts.prompt` makes."""

from __future__ import annotations

from dataclasses import dataclass

from tools.checkpoint_metadata import CONTROL_IDS, LANGUAGE_IDS
from tools.own_voice.teacher_voices import SPEAKER_IDS
from tools.own_voice.vocabulary import control, tokenizer

CODEC = dict(CONTROL_IDS)
ENGLISH = dict(LANGUAGE_IDS)["english"]
TEXT_PAD, TEXT_BOS, TEXT_EOS = (
    control(name) for name in ("<tts_pad>", "<tts_text_bos>", "<tts_text_eod>")
)
NO_CODE = -1


@dataclass(frozen=True)
class SpokenPrompt:
    """Text and codec ids per row; a codec id of NO_CODE adds nothing."""

    text: list[int]
    codec: list[int]
    speaker: int  # the row of the speaker; without one, that of the first tag behind
    body: int  # the row of the first token of the words
    tokens_of: list[int]  # for every character of the text, its token's place in the body

    @property
    def rows(self) -> int:
        return len(self.text)


def spoken_prompt(
    text: str,
    speaker: str | None,
    instruct: str = "",
    *,
    told_language: bool = True,
    cloned: bool = False,
) -> SpokenPrompt:
    """The prompt of a `custom_voice` request, with `instruct` of a `voice_design` one.

    That of a clone leaves a row for the x-vector. The text is given at once.
    """
    encode = tokenizer().encode
    turn: list[int] = []
    if instruct:
        turn = [control("<|im_start|>"), *encode(f"user\n{instruct}")]
        turn += [control("<|im_end|>"), *encode("\n")]
    body = encode(text)
    role = [control("<|im_start|>"), *encode("assistant"), *encode("\n")]
    assert len(role) == 3
    if told_language:
        tags = [CODEC["think"], CODEC["think_bos"], ENGLISH, CODEC["think_eos"]]
    else:
        tags = [CODEC["nothink"], CODEC["think_bos"], CODEC["think_eos"]]
    speaker_row = len(turn) + len(role) + len(tags)
    if cloned:
        tags.append(NO_CODE)
    elif speaker is not None:
        tags.append(SPEAKER_IDS[speaker])
    tags.append(CODEC["pad"])
    texts = turn + role + [TEXT_PAD] * (len(tags) - 1) + [TEXT_BOS]
    codes = [NO_CODE] * (len(turn) + len(role)) + tags
    start = len(texts)
    texts += [*body, TEXT_EOS, TEXT_PAD]
    codes += [CODEC["pad"]] * (len(body) + 1) + [CODEC["bos"]]
    return SpokenPrompt(texts, codes, speaker_row, start, _places(text, body))


def _places(text: str, body: list[int]) -> list[int]:
    """Which token each character belongs to; every token decodes to whole bytes."""
    lengths = [len(tokenizer().decode([token]).encode()) or 1 for token in body]
    places = [place for place, length in enumerate(lengths) for _ in range(length)]
    assert len(places) == len(text.encode()), text
    return places
