"""From ids to the rows that the talker reads: prefix, body and what is added to later frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.rules import CheckedRequest
from engine.qwen3tts.talker import Talker
from engine.text.bpe import BytePairTokenizer

ROLE_IDS = 3  # <|im_start|>, assistant, newline
UTTERANCE_TAIL = 5  # <|im_end|>, newline, <|im_start|>, assistant, newline
REFERENCE_TAIL = 2  # <|im_end|>, newline


@dataclass(frozen=True, eq=False)
class PromptParts:
    """A prompt before it is embedded. Ids hold the templates; see `Templates`."""

    utterance_ids: Sequence[int]
    tag_ids: Sequence[int]  # codec ids of the language, without speaker and pad
    instruct_ids: Sequence[int] = ()
    speaker: int | Tensor | None = None  # codec id, or x-vector [width]
    reference_ids: Sequence[int] = ()
    reference_codes: Tensor | None = None  # [T, codebooks]
    streaming_text: bool = False

    @property
    def rows(self) -> int:
        """How many positions the prefill will have."""
        body = len(self.utterance_ids) - ROLE_IDS - UTTERANCE_TAIL
        prefix = len(self.instruct_ids) + ROLE_IDS + len(self.tag_ids) + 1
        if self.speaker is not None:
            prefix += 1
        if self.reference_codes is not None:
            frames = len(self.reference_codes) + 1
            words = len(self.reference_ids) - ROLE_IDS - REFERENCE_TAIL + body + 1
            return prefix + frames + (0 if self.streaming_text else words)
        return prefix + (1 if self.streaming_text else body + 2)


@dataclass(frozen=True, eq=False)
class Prompt:
    """Rows for the prefill, and the rows added to the frames that follow."""

    embeds: Tensor  # [1, T, width]
    trailing: Tensor  # [n, width]; frame f adds trailing[f], or `pad` beyond the end
    pad: Tensor  # [width]

    def overlay(self, frame: int) -> Tensor:
        """What is added to the talker's input after frame f: [width]."""
        return self.trailing[frame] if frame < len(self.trailing) else self.pad


class Templates:
    """Wraps the user's words in control tokens that the words themselves can never form."""

    def __init__(self, tokenizer: BytePairTokenizer, config: TalkerConfig) -> None:
        self._encode = tokenizer.encode
        self._start, self._end = config.text.im_start, config.text.im_end

    def utterance(self, text: str) -> list[int]:
        tail = [*self._encode("\n"), self._start, *self._encode("assistant\n")]
        return [self._start, *self._encode(f"assistant\n{text}"), self._end, *tail]

    def reference(self, text: str) -> list[int]:
        return [self._start, *self._encode(f"assistant\n{text}"), self._end, *self._encode("\n")]

    def instruct(self, text: str) -> list[int]:
        return [self._start, *self._encode(f"user\n{text}"), self._end, *self._encode("\n")]


def plan_prompt(checked: CheckedRequest, config: TalkerConfig, templates: Templates) -> PromptParts:
    """The prompt of a checked request, in ids."""
    codec = config.codec
    tags: tuple[int, ...]
    if checked.language is None:
        tags = (codec.nothink, codec.think_bos, codec.think_eos)
    else:
        tags = (codec.think, codec.think_bos, checked.language, codec.think_eos)
    speaker: int | Tensor | None = checked.speaker
    if checked.embedding is not None:
        speaker = torch.from_numpy(checked.embedding)
    codes = checked.codes
    return PromptParts(
        utterance_ids=templates.utterance(checked.text),
        tag_ids=tags,
        instruct_ids=templates.instruct(checked.instruct) if checked.instruct else (),
        speaker=speaker,
        reference_ids=templates.reference(checked.transcript) if codes is not None else (),
        reference_codes=None if codes is None else torch.from_numpy(codes),
        streaming_text=checked.streaming_text,
    )


class PromptBuilder:
    """Builds prompts out of the talker's and the predictor's embeddings."""

    def __init__(self, talker: Talker, predictor: CodePredictor, config: TalkerConfig) -> None:
        self._talker = talker
        self._predictor = predictor
        self._config = config
        self._device = next(talker.parameters()).device

    @torch.inference_mode()
    def build(self, parts: PromptParts) -> Prompt:
        codec, text = self._config.codec, self._config.text
        ends = self._text([text.bos, text.eos, text.pad])
        bos, eos, pad = ends[0:1], ends[1:2], ends[2:3]  # [1, width] each
        utterance = self._text(parts.utterance_ids)
        role, body = utterance[:ROLE_IDS], utterance[ROLE_IDS:-UTTERANCE_TAIL]

        tags = torch.cat((self._speaker_rows(parts), self._codec([codec.pad])))
        prefix = [role, torch.cat((tags[:-1] + pad, tags[-1:] + bos))]
        if parts.instruct_ids:
            prefix.insert(0, self._text(parts.instruct_ids))

        if parts.reference_codes is not None:
            rows, trailing = self._cloned_body(parts, body, eos, pad)
        elif parts.streaming_text:
            # By position, as the official code slices: the first row is there even without a body.
            rows = utterance[ROLE_IDS : ROLE_IDS + 1] + self._codec([codec.bos])
            trailing = torch.cat((body[1:], eos))
        else:
            spoken = torch.cat((body, eos)) + self._codec([codec.pad])
            rows = torch.cat((spoken, pad + self._codec([codec.bos])))
            trailing = pad
        return Prompt(torch.cat((*prefix, rows))[None], trailing, pad[0])

    def _cloned_body(
        self, parts: PromptParts, body: Tensor, eos: Tensor, pad: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Reference text and text against the reference codes (in-context learning)."""
        assert parts.reference_codes is not None
        reference = self._text(parts.reference_ids)[ROLE_IDS:-REFERENCE_TAIL]
        words = torch.cat((reference, body, eos))  # [A, width]
        codes = parts.reference_codes.to(self._device)
        frames = self._talker.codec(codes[:, 0]) + self._predictor.embed(codes)
        sound = torch.cat((self._codec([self._config.codec.bos]), frames))  # [B, width]
        if not parts.streaming_text:
            rows = torch.cat((words + self._codec([self._config.codec.pad]), sound + pad))
            return rows, pad
        if len(words) > len(sound):
            return words[: len(sound)] + sound, words[len(sound) :]
        padding = pad.expand(len(sound) - len(words), -1)
        return torch.cat((words, padding)) + sound, pad

    def _speaker_rows(self, parts: PromptParts) -> Tensor:
        tags = self._codec(parts.tag_ids)
        if parts.speaker is None:
            return tags
        if isinstance(parts.speaker, int):
            return torch.cat((tags, self._codec([parts.speaker])))
        vector = parts.speaker.to(device=tags.device, dtype=tags.dtype)
        return torch.cat((tags, vector[None]))

    def _text(self, ids: Sequence[int]) -> Tensor:  # [n, width]
        return self._talker.text(torch.tensor([list(ids)], device=self._device))[0]

    def _codec(self, ids: Sequence[int]) -> Tensor:  # [n, width]
        return self._talker.codec(torch.tensor(list(ids), device=self._device))
