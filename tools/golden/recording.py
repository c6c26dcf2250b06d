"""Running one prompt through the official frame loop while keeping what a golden case holds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tools.golden.cases import Prompt, Settings
from tools.golden.draws import draw_by_probability, draw_in_id_order, uniform
from tools.golden.official import OfficialModel, PreparedPrompt

CODEBOOKS = 16
FRAMES = 60

Draw = Callable[[NDArray[np.float32], np.float32], tuple[int, float]]


@dataclass
class Chooser:
    """Last logits processor of one stack: keeps each choice and its margin.

    Greedy: the margin is best minus second-best logit. Sampled: draws with Philox and leaves the
    drawn id alone with a finite score, so that any multinomial picks it; the margin is the distance
    of u from the nearest boundary.
    """

    draw: Draw | None
    seed: int
    subsequence: Callable[[int], int]
    chosen: list[int] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [1, V] after all official processors; returns scores of the same shape."""
        top = scores[0].topk(2)
        self.best.append(float(top.values[0]))
        if self.draw is None:
            self.chosen.append(int(scores[0].argmax()))
            self.margins.append(float(top.values[0] - top.values[1]))
            return scores
        u = uniform(self.seed, self.subsequence(len(self.chosen)))
        identifier, margin = self.draw(torch.softmax(scores[0], dim=-1).numpy(), u)
        self.chosen.append(identifier)
        self.margins.append(margin)
        only = torch.full_like(scores, -torch.inf)
        only[0, identifier] = 0.0
        return only


@dataclass
class Trace:
    """Inputs and outputs of the modules, call by call."""

    talker_inputs: list[dict[str, Any]] = field(default_factory=list)
    stack_inputs: list[torch.Tensor] = field(default_factory=list)
    layers: list[torch.Tensor] = field(default_factory=list)
    hidden: list[torch.Tensor] = field(default_factory=list)
    logits: list[torch.Tensor] = field(default_factory=list)
    predictor_logits: list[torch.Tensor] = field(default_factory=list)


@dataclass(frozen=True)
class Recording:
    """One generation: codes [F, 16], margins [F, 16], first codes [F + 1], hidden states [F, H]."""

    codes: NDArray[np.int16]
    margins: NDArray[np.float32]
    first_codes: NDArray[np.int32]
    talker_hidden: NDArray[np.float32]
    ended: bool
    masked_end_steps: list[int]
    trace: Trace


def record(
    official: OfficialModel,
    prompt: Prompt,
    prepared: PreparedPrompt,
    *,
    talker: Settings,
    subtalker: Settings,
    repetition_penalty: float,
    seed: int,
) -> Recording:
    """Generate up to 60 frames with the official inner generate() and keep its insides."""
    first = Chooser(draw_in_id_order if talker.do_sample else None, seed, _talker_subsequence)
    rest = Chooser(draw_by_probability if subtalker.do_sample else None, seed, _rest_subsequence)
    model = official.model
    trace = Trace()
    with (
        _last_processor(model.talker, first),
        _last_processor(model.talker.code_predictor, rest),
        _hooks(model.talker, trace),
    ):
        codes_list, hidden_list = model.generate(
            input_ids=[prepared.input_ids],
            instruct_ids=[prepared.instruct_ids],
            ref_ids=[prepared.ref_ids],
            voice_clone_prompt=prepared.clone_prompt,
            languages=[prompt.language],
            speakers=[prompt.speaker],
            non_streaming_mode=prompt.non_streaming_mode,
            max_new_tokens=FRAMES + 1,  # the last first code sampled never becomes a frame
            do_sample=talker.do_sample,
            top_k=talker.top_k,
            top_p=talker.top_p,
            temperature=talker.temperature,
            subtalker_dosample=subtalker.do_sample,
            subtalker_top_k=subtalker.top_k,
            subtalker_top_p=subtalker.top_p,
            subtalker_temperature=subtalker.temperature,
            repetition_penalty=repetition_penalty,
        )
    codes = codes_list[0].numpy().astype(np.int16)
    frames = codes.shape[0]
    acoustic = np.array(rest.chosen, np.int16).reshape(-1, CODEBOOKS - 1)[:frames]
    if not (
        np.array_equal(codes[:, 0], first.chosen[:frames])
        and np.array_equal(codes[:, 1:], acoustic)
    ):
        message = "the generated codes are not the recorded choices"
        raise RuntimeError(message)
    margins = np.column_stack(
        [first.margins[:frames], np.reshape(rest.margins, (-1, CODEBOOKS - 1))[:frames]]
    )
    end = model.config.talker_config.codec_eos_token_id
    return Recording(
        codes,
        margins.astype(np.float32),
        np.array(first.chosen, np.int32),
        hidden_list[0].numpy(),
        ended=first.chosen[-1] == end,
        masked_end_steps=[
            step for step in range(2) if float(trace.logits[step][0, -1, end]) > first.best[step]
        ],
        trace=trace,
    )


def _talker_subsequence(call: int) -> int:
    return CODEBOOKS * call


def _rest_subsequence(call: int) -> int:
    frame, codebook = divmod(call, CODEBOOKS - 1)
    return CODEBOOKS * frame + 1 + codebook


@contextmanager
def _last_processor(module: Any, chooser: Chooser) -> Iterator[None]:
    official = module._get_logits_processor

    def with_chooser(*args: object, **keywords: object) -> Any:
        processors = official(*args, **keywords)
        processors.append(chooser)
        return processors

    module._get_logits_processor = with_chooser
    try:
        yield
    finally:
        del module._get_logits_processor


@contextmanager
def _hooks(talker: Any, trace: Trace) -> Iterator[None]:
    def keep_inputs(kept: list[Any], name: str | None) -> Callable[..., None]:
        def hook(module: Any, args: Any, keywords: dict[str, Any]) -> None:
            kept.append(keywords if name is None else keywords[name])

        return hook

    def keep_output(kept: list[torch.Tensor]) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            kept.append(output[0] if isinstance(output, tuple) else output)

        return hook

    handles = [
        talker.register_forward_pre_hook(keep_inputs(trace.talker_inputs, None), with_kwargs=True),
        talker.model.register_forward_pre_hook(
            keep_inputs(trace.stack_inputs, "inputs_embeds"), with_kwargs=True
        ),
        talker.model.norm.register_forward_hook(keep_output(trace.hidden)),
        talker.codec_head.register_forward_hook(keep_output(trace.logits)),
        *(layer.register_forward_hook(keep_output(trace.layers)) for layer in talker.model.layers),
        *(
            head.register_forward_hook(keep_output(trace.predictor_logits))
            for head in talker.code_predictor.lm_head
        ),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
