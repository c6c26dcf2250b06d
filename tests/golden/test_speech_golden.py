"""Prompt, hidden states, logits and codes against the official implementation, case by case.

Tolerance 1e-4: what two right float32 orders of evaluation keep apart from each other. Codes are
compared exactly; the smallest margin of the cases is 2e-6, above the rounding of the logits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.generation import FrameLoop
from engine.qwen3tts.prompt import Prompt, PromptBuilder, PromptParts, plan_prompt
from engine.qwen3tts.rules import CheckedRequest, check_request
from engine.types import CancelToken, Layout, Probe, Sampling, SpeechRequest, StackSampling, Voice
from tests.golden.conftest import Golden

TOLERANCE = 1e-4
DATA = Path(__file__).parent / "data"
GREEDY = sorted(
    path.stem for path in DATA.glob("*.json") if '"kind": "greedy"' in path.read_text("utf-8")
)
SAMPLED = sorted(
    path.stem for path in DATA.glob("*.json") if '"kind": "sample"' in path.read_text("utf-8")
)

# What the official code accepts and our rules refuse or change; the arithmetic is compared still.
REFUSED = {
    "edge_empty_nonstream": "no text",
    "edge_empty_stream": "no text",
    "vd_no_instruct": "no description",
}
CHANGED = {
    "edge_leading_newline": "blank space around the text is dropped",
    "vd_control_literal": "typed control tokens stay ordinary text",
}
Cases = Callable[[str], Golden]
Models = Callable[[str], ModelParts]


def request_of(golden: Golden, reference: Golden | None = None) -> SpeechRequest:
    """The request that a case was made with."""
    facts, arrays = golden.facts, (reference or golden).arrays
    voice = None
    if facts["clone"]:
        in_context = facts["clone"]["mode"] == "icl"
        voice = Voice(
            embedding=arrays["ref_spk"],
            codes=arrays["ref_code"].astype(np.int64) if in_context else None,
            transcript=facts["clone"]["ref_text"] if in_context else None,
        )
    return SpeechRequest(
        text=facts["text"],
        language=facts["language"],
        voice=voice,
        speaker=facts["speaker"],
        instruct=facts["instruct"],
        layout=Layout.NON_STREAMING if facts["non_streaming_mode"] else Layout.STREAMING,
    )


def official_parts(request: SpeechRequest, golden: Golden, model: ModelParts) -> PromptParts:
    """The prompt in ids as the official code would build it, whatever our rules say."""
    config = model.config
    allowed = replace(request, text="x", instruct=request.instruct or "x")
    if request.instruct is None and config.family != "voice_design":
        allowed = replace(allowed, instruct=None)
    checked = check_request(allowed, config, model.decoder.config.codebook_size)
    asked = replace(checked, text=request.text, instruct=request.instruct or "")
    parts = plan_prompt(asked, config, model.templates)
    return replace(parts, utterance_ids=golden.arrays["input_ids"].tolist())


def build(parts: PromptParts, model: ModelParts) -> Prompt:
    return PromptBuilder(model.talker, model.predictor, model.config).build(parts)


def generate(
    model: ModelParts,
    prompt: Prompt,
    sampling: Sampling,
    seeds: Sequence[int] = (0,),
    probe: Probe | None = None,
) -> list[NDArray[np.int64]]:
    """The codes [T, codebooks] of every seed."""
    loop = FrameLoop(model.talker, model.predictor, model.config, sampling)
    takes: list[list[NDArray[np.int64]]] = [[] for _ in seeds]
    for frame in loop.frames(prompt, tuple(seeds), CancelToken(), probe):
        for take, codes in zip(frame.takes, frame.codes, strict=True):
            takes[take].append(codes.numpy())
    return [np.stack(codes) for codes in takes]


def greedy(penalty: float) -> Sampling:
    stack = StackSampling(greedy=True)
    return Sampling(stack, stack, repetition_penalty=penalty, max_frames=60)


@pytest.mark.parametrize("name", [*GREEDY, *SAMPLED])
def test_prompt_ids_are_those_of_the_official_tokenizer(
    name: str, golden: Cases, model: Models
) -> None:
    case = golden(name)
    parts = model(case.facts["gguf"])
    templates = parts.templates
    ids = templates.utterance(case.facts["text"])
    if name == "vd_control_literal":
        assert ids != case.arrays["input_ids"].tolist()
        assert ids.count(parts.config.text.im_end) == 1
    else:
        assert ids == case.arrays["input_ids"].tolist()
    if "instruct_ids" in case.arrays:
        assert templates.instruct(case.facts["instruct"]) == case.arrays["instruct_ids"].tolist()
    if "ref_ids" in case.arrays:
        words = case.facts["clone"]["ref_text"]
        assert templates.reference(words) == case.arrays["ref_ids"].tolist()


@pytest.mark.parametrize("name", GREEDY)
def test_rules_plan_the_official_prompt(name: str, golden: Cases, model: Models) -> None:
    case = golden(name)
    parts = model(case.facts["gguf"])
    request = request_of(case)

    def check() -> CheckedRequest:
        return check_request(request, parts.config, parts.decoder.config.codebook_size)

    if name in REFUSED:
        with pytest.raises(Exception, match=r"needs a description|no text"):
            check()
        return
    mine = plan_prompt(check(), parts.config, parts.templates)
    official = official_parts(request, case, parts)
    if name in CHANGED or (parts.config.ignores_instruct and request.instruct):
        assert (mine.utterance_ids, mine.instruct_ids) != (
            official.utterance_ids,
            official.instruct_ids,
        )
        return
    assert mine.rows == case.facts["T_ctx"]
    assert list(mine.utterance_ids) == list(official.utterance_ids)
    assert (mine.tag_ids, mine.streaming_text) == (official.tag_ids, official.streaming_text)


@pytest.mark.parametrize("name", GREEDY)
def test_greedy_case(name: str, golden: Cases, model: Models) -> None:
    case = golden(name)
    parts = model(case.facts["gguf"])
    prompt = build(official_parts(request_of(case), case, parts), parts)
    case.assert_close("inputs_embeds", prompt.embeds[0], TOLERANCE)
    case.assert_close("trailing", prompt.trailing, TOLERANCE)
    case.assert_close("tts_pad_embed", prompt.pad, TOLERANCE)

    seen: dict[str, Tensor] = {}
    codes = generate(
        parts, prompt, greedy(1.0), probe=lambda name, value: seen.update({name: value.clone()})
    )
    blocks = parts.config.talker.blocks
    layers = torch.stack([seen[f"talker-hidden-prefill-l{block}"] for block in range(blocks)])
    if "layers" in case.arrays:
        case.assert_close("layers", layers, TOLERANCE)
    else:
        case.assert_close("layers_last", layers[:, -1], TOLERANCE)
    case.assert_close("final_hidden", seen["talker-hidden-prefill-final"], TOLERANCE)
    case.assert_close("logits0", seen["talker-logits-prefill"], TOLERANCE)
    books = range(1, parts.config.codebooks)
    case.assert_close(
        "cp_logits0",
        torch.stack([seen[f"predictor-logits-step0-c{book}"] for book in books]),
        TOLERANCE,
    )
    case.assert_close("next_embed", seen["next-emb-step0"], TOLERANCE)
    case.assert_close("hidden1", seen["talker-hidden-step1"], TOLERANCE)
    case.assert_close("logits1", seen["talker-logits-step1"], TOLERANCE)
    case.assert_codes("codes", codes[0])
    case.assert_codes("codes_rp105", generate(parts, prompt, greedy(1.05))[0])


def sampling_of(facts: dict[str, Any], key: str) -> tuple[Sampling, int]:
    """Sampling and seed of an array named codes_{config}_seed{n}."""
    _, config, seed = key.split("_")
    shared = {name: facts[name] for name in ("do_sample", "temperature") if name in facts}
    talker = shared | facts["configs"][config]
    predictor = facts["subtalker"] if isinstance(facts["subtalker"], dict) else talker

    def stack(settings: dict[str, Any]) -> StackSampling:
        if not settings["do_sample"]:
            return StackSampling(greedy=True)
        return StackSampling(
            temperature=settings["temperature"], top_k=settings["top_k"], top_p=settings["top_p"]
        )

    sampling = Sampling(
        stack(talker), stack(predictor), repetition_penalty=facts["repetition_penalty"]
    )
    return sampling, int(seed.removeprefix("seed"))


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_case(name: str, golden: Cases, model: Models) -> None:
    case = golden(name)
    parts = model(case.facts["gguf"])
    reference = golden("base_xvec_stream_en") if name == "sample_base_xvec" else None
    prompt = build(official_parts(request_of(case, reference), case, parts), parts)
    case.assert_close("inputs_embeds", prompt.embeds[0], TOLERANCE)
    keys = [key for key in case.arrays if key.startswith("codes_")]
    assert keys
    for key in keys:
        sampling, seed = sampling_of(case.facts, key)
        sampling = replace(sampling, max_frames=len(case.arrays[key]))
        case.assert_codes(key, generate(parts, prompt, sampling, (seed,))[0])
