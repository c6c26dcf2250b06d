"""Decoder states as they are after a reference was played, so that a clone continues its sound."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

from engine.nn.state import Stack
from engine.qwen3tts.codec.decoder import CodecDecoder
from engine.types import CancelToken

KEPT_STATES = 8  # references remembered
PIECE_FRAMES = 32  # reference frames decoded between two looks at the cancel token


class PrimedStates:
    """The few references used last, each decoded once."""

    def __init__(self, decoder: CodecDecoder) -> None:
        self._decoder = decoder
        self._states: OrderedDict[bytes, Stack] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def behind(self, codes: Tensor, takes: int, cancel: CancelToken) -> Stack:
        """A state per take behind reference codes [T, codebooks]; raises Cancelled."""
        key = codes.cpu().numpy().tobytes()
        state = self._states.pop(key, None) or self._play(codes, cancel)
        self._states[key] = state
        if len(self._states) > KEPT_STATES:
            self._states.popitem(last=False)
        return state.select(torch.zeros(takes, dtype=torch.long, device=self._decoder.device))

    def _play(self, codes: Tensor, cancel: CancelToken) -> Stack:
        state = self._decoder.new_state(1)
        for piece in torch.split(codes.to(self._decoder.device), PIECE_FRAMES):
            cancel.check()
            self._decoder.step(piece[None], state)
        return state
