"""From a case to the arrays and the description that its .npz and .json hold."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tools.golden.cases import (
    GGUF_OF_CODEC,
    GGUF_OF_FAMILY,
    CodecCase,
    Codes,
    GreedyCase,
    Prompt,
    SampleCase,
    Settings,
)
from tools.golden.draws import uniform
from tools.golden.official import OfficialModel, PreparedPrompt
from tools.golden.recording import CODEBOOKS, Recording, record

Arrays = dict[str, NDArray[Any]]
Fields = dict[str, Any]

HOP = 1920
DRAW = (
    "Philox4x32-10 subsequence 16*f+k; talker: id order, first cumsum >= u*sum; "
    "predictor: descending probability, first cumsum > u (clamped)"
)


def run_greedy(
    official: OfficialModel, case: GreedyCase, audio: Path | None, *, all_layers: bool
) -> tuple[Arrays, Fields]:
    """Both greedy generations of a case; `all_layers` keeps every row of every block too."""
    prepared = official.prepare(case.prompt, audio)
    greedy = Settings(do_sample=False)
    plain, penalised = (
        record(
            official,
            case.prompt,
            prepared,
            talker=greedy,
            subtalker=greedy,
            repetition_penalty=penalty,
            seed=0,
        )
        for penalty in (1.0, 1.05)
    )
    trace = plain.trace
    inputs = trace.talker_inputs[0]
    blocks = torch.stack(
        [layer[0] for layer in trace.layers[: len(official.model.talker.model.layers)]]
    )
    arrays = _prompt_arrays(prepared) | {
        "inputs_embeds": inputs["inputs_embeds"][0].numpy(),
        "trailing": inputs["trailing_text_hidden"][0].numpy(),
        "tts_pad_embed": inputs["tts_pad_embed"][0, 0].numpy(),
        "final_hidden": trace.hidden[0][0].numpy(),
        "logits0": trace.logits[0][0, -1].numpy(),
        "codes": plain.codes,
        "cp_logits0": torch.stack(
            [logits[0, -1] for logits in trace.predictor_logits[: CODEBOOKS - 1]]
        ).numpy(),
        "next_embed": trace.stack_inputs[1][0, 0].numpy(),
        "hidden1": trace.hidden[1][0, 0].numpy(),
        "logits1": trace.logits[1][0, -1].numpy(),
        "margins": plain.margins,
        "codes_rp105": penalised.codes,
        "margins_rp105": penalised.margins,
        "c0_all": plain.first_codes,
        "c0_all_rp105": penalised.first_codes,
        "layers_last": blocks[:, -1].numpy(),
    }
    if all_layers:
        arrays |= {"layers": blocks.numpy(), "talker_hidden": plain.talker_hidden}
    return arrays, {
        "kind": "greedy",
        **_prompt_fields(case.prompt, official),
        "do_sample": False,
        "repetition_penalty": [1.0, 1.05],
        "T_ctx": int(inputs["inputs_embeds"].shape[1]),
        "frames": len(plain.codes),
        "frames_rp105": len(penalised.codes),
        "eos": plain.ended,
        "eos_rp105": penalised.ended,
        "min_margin": float(plain.margins.min()),
        "min_margin_rp105": float(penalised.margins.min()),
        "distinct_per_codebook": [len(np.unique(column)) for column in plain.codes.T],
        "eos_best_but_masked_at_steps": plain.masked_end_steps,
        "note": case.note,
    }


def run_sample(
    official: OfficialModel, case: SampleCase, audio: Path | None
) -> tuple[Arrays, Fields]:
    """Every configuration with every seed."""
    prepared = official.prepare(case.prompt, audio)
    arrays = _prompt_arrays(prepared)
    runs: dict[str, Recording] = {}
    for label, settings in case.configs:
        for seed in case.seeds:
            run = record(
                official,
                case.prompt,
                prepared,
                talker=settings,
                subtalker=case.subtalker or settings,
                repetition_penalty=case.repetition_penalty,
                seed=seed,
            )
            runs[f"{label}_seed{seed}"] = run
            arrays[f"codes_{label}_seed{seed}"] = run.codes
            arrays[f"margins_{label}_seed{seed}"] = run.margins
            arrays["inputs_embeds"] = run.trace.talker_inputs[0]["inputs_embeds"][0].numpy()
            arrays["logits0"] = run.trace.logits[0][0, -1].numpy()
    shown = 42 if 42 in case.seeds else case.seeds[0]
    arrays[f"u_seed{shown}_first32"] = np.array([uniform(shown, i) for i in range(32)], np.float32)
    common = case.configs[0][1]
    return arrays, {
        "kind": "sample",
        **_prompt_fields(case.prompt, official),
        "do_sample": common.do_sample,
        "temperature": common.temperature,
        "repetition_penalty": case.repetition_penalty,
        "subtalker": asdict(case.subtalker) if case.subtalker else "same temperature/top_k/top_p",
        "configs": {label: {"top_k": s.top_k, "top_p": s.top_p} for label, s in case.configs},
        "seeds": list(case.seeds),
        "frames_eos": {label: [len(run.codes), run.ended] for label, run in runs.items()},
        "min_margin": min(float(run.margins.min()) for run in runs.values()),
        "draw": DRAW,
        "note": case.note,
    }


def run_codec(official: OfficialModel, case: CodecCase) -> tuple[Arrays, Fields]:
    """Decode every signal of the case in one pass."""
    arrays: Arrays = {}
    info: Fields = {}
    for signal in case.signals:
        kept, summary = _decode(official.codec_decoder, signal)
        arrays |= {f"{signal.label}.{key}": value for key, value in kept.items()}
        info[signal.label] = summary
    return arrays, {
        "kind": "codec_decode",
        "gguf": GGUF_OF_CODEC,
        "note": case.note,
        "info": info,
    }


@torch.inference_mode()
def _decode(decoder: Any, signal: Codes) -> tuple[Arrays, Fields]:
    stages: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            stages[name] = getattr(output, "last_hidden_state", output)

        return hook

    def keep_input(module: Any, args: tuple[torch.Tensor, ...]) -> None:
        stages["quantized"] = args[0]

    handles = [
        decoder.pre_conv.register_forward_pre_hook(keep_input),
        decoder.pre_transformer.register_forward_hook(keep("pre_transformer")),
        decoder.upsample[-1][-1].register_forward_hook(keep("upsampled")),
    ]
    try:
        wav = decoder(torch.from_numpy(signal.codes.astype(np.int64))[None])[0, 0].numpy()
    finally:
        for handle in handles:
            handle.remove()
    rms = np.sqrt(np.square(wav.astype(np.float64)).reshape(-1, HOP).mean(axis=1))
    summary: Fields = {
        "rms": float(np.sqrt(np.square(wav.astype(np.float64)).mean())),
        "peak": float(np.abs(wav).max()),
        "clipped": int((np.abs(wav) >= 1.0).sum()),
    }
    if signal.whole:
        return {"codes": signal.codes, "wav": wav}, summary
    arrays: Arrays = {
        "codes": signal.codes,
        "n": np.array(wav.size, np.int32),
        "head": wav[: 4 * HOP],
        "tail": wav[-2 * HOP :],
        "stride37": wav[::37],
        "rms": rms.astype(np.float32),
    }
    if signal.middle is not None:
        start, stop = signal.middle
        summary["mid"] = [start, stop]
        arrays["mid"] = wav[start * HOP : stop * HOP]
    if signal.stages:
        arrays |= {
            "quantized_first8": stages["quantized"][0, :, :8].numpy(),
            "pre_transformer_last8": stages["pre_transformer"][0, -8:].numpy(),
            "upsampled_last8": stages["upsampled"][0, :, -8:].numpy(),
        }
    return arrays, summary


def _prompt_arrays(prepared: PreparedPrompt) -> Arrays:
    arrays: Arrays = {"input_ids": prepared.input_ids[0].numpy().astype(np.int32)}
    if prepared.instruct_ids is not None:
        arrays["instruct_ids"] = prepared.instruct_ids[0].numpy().astype(np.int32)
    if prepared.ref_ids is not None:
        arrays["ref_ids"] = prepared.ref_ids[0].numpy().astype(np.int32)
    if prepared.ref_code is not None:
        arrays["ref_code"] = prepared.ref_code.numpy().astype(np.int32)
    if prepared.ref_spk is not None:
        arrays["ref_spk"] = prepared.ref_spk.numpy()
    return arrays


def _prompt_fields(prompt: Prompt, official: OfficialModel) -> Fields:
    fields = asdict(prompt)
    clone = fields.pop("clone")
    if clone is not None and clone["samples"] is None:
        del clone["samples"]
    return {
        "family": fields.pop("family"),
        "gguf": GGUF_OF_FAMILY[official.family],
        "model_size": official.size,
        **fields,
        "clone": clone,
    }
