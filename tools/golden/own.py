"""The golden cases of our own: languages, layouts and settings that the given set lacks."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tools.golden.cases import (
    Case,
    Clone,
    CodecCase,
    Codes,
    GreedyCase,
    Prompt,
    SampleCase,
    Settings,
)

JAPANESE_LONG = (
    "朝の市場では、焼きたてのパンと新鮮な魚の匂いが混ざり合い、古い時計塔の鐘が七つ鳴るころには、"
    "通りは買い物をする人々の声でいっぱいになります。"
)
LIGHTHOUSE = "The old lighthouse keeper counted every ship that passed."
BREAD = (
    "Fresh bread was cooling by the window while the rain kept tapping on the roof, "
    "and nobody wanted to leave."
)


def own_cases() -> tuple[Case, ...]:
    """All cases that the script writes when no other case is named."""
    return (*_greedy_cases(), *_sample_cases(), _codec_case())


def _greedy_cases() -> tuple[GreedyCase, ...]:
    def base(text: str, language: str, *, whole_text: bool, clone: Clone | None) -> Prompt:
        return Prompt("base", text, language, whole_text, clone=clone)

    return (
        GreedyCase(
            "own_base_xvec_stream_japanese",
            base(
                JAPANESE_LONG, "japanese", whole_text=False, clone=Clone("x_vector", "clip_b.wav")
            ),
            "trailing is longer than the generation: the tts_pad row is never reached",
        ),
        GreedyCase(
            "own_base_xvec_nonstream_russian",
            base(
                "Поезд отправляется в семь вечера с третьего пути.",  # noqa: RUF001 - the language's own letters
                "russian",
                whole_text=True,
                clone=Clone("x_vector", "clip_a.wav"),
            ),
        ),
        GreedyCase(
            "own_base_icl_nonstream_auto",
            base(
                "Leave the keys under the mat.",
                "auto",
                whole_text=True,
                clone=Clone("icl", "clip_a.wav", LIGHTHOUSE),
            ),
        ),
        GreedyCase(
            "own_base_icl_nonstream_ref2",
            base(
                "Vorrei un caffè e un cornetto, per favore.",
                "italian",
                whole_text=True,
                clone=Clone("icl", "clip_b.wav", "Fresh bread", (24000, 24000 + 2 * 1920)),
            ),
            "reference of two frames",
        ),
        GreedyCase(
            "own_base_icl_stream_ref1",
            base(
                "O barco chegou ao porto antes da chuva.",
                "portuguese",
                whole_text=False,
                clone=Clone("icl", "clip_a.wav", "The", (12000, 12000 + 1920)),
            ),
            "reference of one frame: nearly all of both texts goes to trailing",
        ),
        GreedyCase(
            "own_base_icl_stream_ref3",
            base(
                "내일은 비가 온다고 하니 우산을 챙기세요.",
                "korean",
                whole_text=False,
                clone=Clone("icl", "clip_a.wav", "The old", (12000, 12000 + 2 * 1920 + 1)),
            ),
            "reference of two frames and one sample: the third frame is nearly all padding",
        ),
        GreedyCase(
            "own_base_auto_stream_spanish",
            base("¿Dónde está la biblioteca más cercana?", "spanish", whole_text=False, clone=None),
            "no reference, streaming layout",
        ),
        GreedyCase(
            "own_cv_dialect_stream_auto",
            Prompt(
                "custom_voice",
                "今天的天气真不错，我们出去走走吧。",  # noqa: RUF001 - the language's own letters
                "auto",
                non_streaming_mode=False,
                speaker="dylan",
                instruct="Sound excited, as if the bus were about to leave.",
            ),
            "dialect speaker + auto + instruct in the streaming layout",
        ),
        GreedyCase(
            "own_cv_dialect_stream_german",
            Prompt(
                "custom_voice",
                "Der Zug hat leider zehn Minuten Verspätung.",
                "german",
                non_streaming_mode=False,
                speaker="Eric",
                instruct="Whisper.",
            ),
            "explicit other language: the dialect is NOT used; speaker in mixed case",
        ),
        GreedyCase(
            "own_cv_dialect_language",
            Prompt(
                "custom_voice",
                "你吃饭了没有？",  # noqa: RUF001 - the language's own letters
                "sichuan_dialect",
                non_streaming_mode=True,
                speaker="vivian",
            ),
            "a dialect as the language itself, with a speaker who has none",
        ),
        GreedyCase(
            "own_cv_instruct_nonstream_korean",
            Prompt(
                "custom_voice",
                "창문을 닫아 주세요.",
                "Korean",
                non_streaming_mode=True,
                speaker="sohee",
                instruct="부드럽고 차분하게.",
            ),
        ),
        GreedyCase(
            "own_vd_stream_french",
            Prompt(
                "voice_design",
                "Il fera beau demain, n'est-ce pas ?",
                "french",
                non_streaming_mode=False,
                instruct="An elderly woman, warm and unhurried.",
            ),
        ),
        GreedyCase(
            "own_vd_stream_auto",
            Prompt(
                "voice_design",
                "Wait... what did you say? 12 or 20!",
                "auto",
                non_streaming_mode=False,
                instruct="A bright child's voice, speaking fast.",
            ),
        ),
    )


def _sample_cases() -> tuple[SampleCase, ...]:
    custom = Prompt(
        "custom_voice",
        "Good evening, everyone.",
        "english",
        non_streaming_mode=True,
        speaker="serena",
    )
    design = Prompt(
        "voice_design",
        "Please close the door behind you.",
        "english",
        non_streaming_mode=False,
        instruct="A tired narrator at midnight.",
    )
    hot = Settings(temperature=1.3, top_k=0)
    return (
        SampleCase(
            "own_sample_cv_hot",
            custom,
            (("k0", hot), ("k0p09", replace(hot, top_p=0.9)), ("k5", replace(hot, top_k=5))),
            repetition_penalty=1.0,
            # No choice, and no edge of a top-k or top-p set, closer than 1e-4 with these.
            seeds=(9, 10, 2**63 - 2),
            subtalker=Settings(temperature=0.5, top_k=10, top_p=0.7),
            note="talker without top-k, hot, no penalty; code predictor cold and narrow",
        ),
        SampleCase(
            "own_sample_cv_penalty",
            replace(custom, speaker="dylan", language="chinese", non_streaming_mode=False),
            (("k0p09", Settings(temperature=1.0, top_k=0, top_p=0.9)),),
            repetition_penalty=1.5,
            seeds=(4, 2**32 + 5),
            subtalker=Settings(temperature=1.7, top_k=0, top_p=1.0),
            note="strong penalty; temperature exactly 1; code predictor without limits",
        ),
        SampleCase(
            "own_sample_vd_talker_only",
            design,
            (("p1", Settings()),),
            repetition_penalty=1.05,
            seeds=(11,),
            subtalker=Settings(do_sample=False),
            note="talker sampled, code predictor greedy: its 15 subsequences are left unused",
        ),
        SampleCase(
            "own_sample_vd_predictor_only",
            design,
            (("greedy", Settings(do_sample=False)),),
            repetition_penalty=1.05,
            seeds=(11,),
            subtalker=Settings(top_p=0.8),
            note="talker greedy (its margins are logit differences), code predictor sampled",
        ),
    )


def _codec_case() -> CodecCase:
    highest = 63  # of the small codec: every codebook has 64 entries
    even = np.arange(16) % 2
    columns = (0 * even, 0 * even + highest, even * highest, (1 - even) * highest)
    extremes = np.stack([columns[i] for i in (0, 1, 2, 3, 1, 0)], axis=1).astype(np.int16)

    def random(frames: int) -> NDArray[np.int16]:
        generator = np.random.default_rng(frames)
        return generator.integers(0, highest + 1, (16, frames)).astype(np.int16)

    return CodecCase(
        "own_codec_decode",
        (
            Codes("T2", random(2), whole=True),
            Codes("extremes", extremes, whole=True),
            Codes("T73", random(73), whole=False),
            Codes("T145", random(145), whole=False, middle=(71, 74), stages=True),
        ),
        "codes [16,T]; whole decode = model.decoder(codes). T2, extremes (only the indices "
        "0 and 63): wav; T73, T145: head (first 4 frames), tail (last 2), mid (info.mid, frames "
        "[start, stop)), stride37 = wav[::37], rms per frame",
    )
