"""Says in metadata and dimensions what the config files of a talker checkpoint say."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

from engine.errors import ModelFileError
from engine.gguf.convert.settings import Settings
from engine.gguf.convert.vocabulary import vocabulary_metadata
from engine.gguf.layout import SpeakerEncoderDims, TalkerDims, TransformerDims
from engine.gguf.reader import Value
from engine.types import SIZE_NAMES, Family

MODEL_TYPE: Final = "qwen3_tts"
TOKENIZER_TYPE: Final = "qwen3_tts_tokenizer_12hz"
SPEAKER_ENCODER: Final = "speaker_encoder"

Entries: TypeAlias = list[tuple[str, Value]]

# GGUF key after "codec." and official key in talker_config.
_CODEC_IDS: Final = (
    ("pad_id", "codec_pad_id"),
    ("bos_id", "codec_bos_id"),
    ("eos_id", "codec_eos_token_id"),
    ("think_id", "codec_think_id"),
    ("nothink_id", "codec_nothink_id"),
    ("think_bos_id", "codec_think_bos_id"),
    ("think_eos_id", "codec_think_eos_id"),
)
_TEXT_IDS: Final = (
    ("im_start_id", "im_start_token_id"),
    ("im_end_id", "im_end_token_id"),
    ("tts_pad_id", "tts_pad_token_id"),
    ("tts_bos_id", "tts_bos_token_id"),
    ("tts_eos_id", "tts_eos_token_id"),
)
_GENERATION: Final = (
    ("do_sample", "do_sample", Settings.boolean),
    ("top_k", "top_k", Settings.integer),
    ("top_p", "top_p", Settings.number),
    ("temperature", "temperature", Settings.number),
    ("repetition_penalty", "repetition_penalty", Settings.number),
    ("subtalker_do_sample", "subtalker_dosample", Settings.boolean),
    ("subtalker_top_k", "subtalker_top_k", Settings.integer),
    ("subtalker_top_p", "subtalker_top_p", Settings.number),
    ("subtalker_temperature", "subtalker_temperature", Settings.number),
    ("max_new_tokens", "max_new_tokens", Settings.integer),
)


def talker_stem(config: Settings) -> str:
    """The name of the file without variant: `qwen-talker-0.6b-customvoice`."""
    size = _size(config)
    return f"qwen-talker-{size.lower()}-{_family(config).replace('_', '')}"


def talker_dims(config: Settings, *, speaker_encoder: bool) -> TalkerDims:
    """The sizes of all tensors; `speaker_encoder` says whether the checkpoint has one.

    Fine-tuned checkpoints keep the settings of the speaker encoder but not its tensors.
    """
    talker = config.section("talker_config")
    predictor = talker.section("code_predictor_config")
    width = talker.size("hidden_size")
    return TalkerDims(
        talker=_stack_dims(talker),
        predictor=_stack_dims(predictor),
        speaker_encoder=_speaker_dims(config, width) if speaker_encoder else None,
        text_vocabulary=talker.size("text_vocab_size"),
        text_width=talker.size("text_hidden_size"),
        codec_vocabulary=talker.size("vocab_size"),
        codebook_size=predictor.size("vocab_size"),
        code_groups=talker.size("num_code_groups"),
        talker_context=talker.size("max_position_embeddings"),
        predictor_context=predictor.size("max_position_embeddings"),
    )


def talker_metadata(folder: Path, config: Settings) -> Entries:
    """All keys of a talker file; raises `ModelFileError` naming the file and key at fault."""
    _check_tokenizer_type(config)
    talker = config.section("talker_config")
    predictor = talker.section("code_predictor_config")
    own: Entries = [
        ("tokenizer_type", TOKENIZER_TYPE),
        ("model_size", config.string("tts_model_size")),
        ("model_type", _family(config)),
        ("num_code_groups", talker.size("num_code_groups")),
        *_stack("talker", talker),
        ("talker.vocab_size", talker.size("vocab_size")),
        ("talker.text_vocab_size", talker.size("text_vocab_size")),
        ("talker.text_hidden_size", talker.size("text_hidden_size")),
        *_context("talker", talker),
        *_positions(talker),
        *_stack("code_pred", predictor),
        ("code_pred.vocab_size", predictor.size("vocab_size")),
        *_context("code_pred", predictor),
    ]
    if "speaker_encoder_config" in config:
        encoder = config.section("speaker_encoder_config")
        width = encoder.size("enc_dim") if "enc_dim" in encoder else talker.size("hidden_size")
        rate = encoder.size("sample_rate") if "sample_rate" in encoder else 24000
        own += [("spk_enc.embedding_length", width), ("spk_enc.sample_rate", rate)]
    own += [(f"codec.{key}", talker.integer(official)) for key, official in _CODEC_IDS]
    own += [*_languages(talker), *_speakers(talker)]
    own += [(f"text.{key}", config.integer(official)) for key, official in _TEXT_IDS]
    return [
        ("general.architecture", "qwen3-tts"),
        ("general.name", f"Qwen3-TTS-12Hz-{_size(config)}-{_family(config)}"),
        *((f"qwen3-tts.{key}", value) for key, value in own),
        *_generation(folder),
        *vocabulary_metadata(folder),
    ]


def _size(config: Settings) -> str:
    """The size as people write it, part of names."""
    size = config.string("tts_model_size")
    if not size.isalnum():
        raise config.wrong("tts_model_size", "a word of letters and digits")
    return SIZE_NAMES.get(size, size)


def _family(config: Settings) -> str:
    family = config.string("tts_model_type")
    if family not in set(Family):
        raise config.wrong("tts_model_type", f"one of {', '.join(Family)}")
    return family


def _check_tokenizer_type(config: Settings) -> None:
    tokenizer = config.string("tokenizer_type")
    if tokenizer != TOKENIZER_TYPE:
        raise ModelFileError(
            f"{config.path} names the audio tokenizer {tokenizer!r}; only {TOKENIZER_TYPE!r} is "
            "known here.",
            "Choose a 12 Hz checkpoint.",
        )


def _stack_dims(stack: Settings) -> TransformerDims:
    return TransformerDims(
        width=stack.size("hidden_size"),
        feed_forward=stack.size("intermediate_size"),
        blocks=stack.size("num_hidden_layers"),
        heads=stack.size("num_attention_heads"),
        key_value_heads=stack.size("num_key_value_heads"),
        head_width=stack.size("head_dim"),
    )


def _speaker_dims(config: Settings, width: int) -> SpeakerEncoderDims:
    """Settings that are left out have the value of the official code."""
    encoder = config.optional_section("speaker_encoder_config")
    usual = SpeakerEncoderDims(width)

    def size(key: str, default: int) -> int:
        return encoder.size(key) if key in encoder else default

    channels = usual.channels
    if "enc_channels" in encoder:
        widths = encoder.sizes("enc_channels")
        channels = widths[0] if widths else 0
        if widths != (channels,) * 4 + (3 * channels,):
            raise encoder.wrong("enc_channels", "four equal widths and three times that width")
    return SpeakerEncoderDims(
        embedding=size("enc_dim", width),
        mels=size("mel_dim", usual.mels),
        channels=channels,
        squeeze=size("enc_se_channels", usual.squeeze),
        attention=size("enc_attention_channels", usual.attention),
        scale=size("enc_res2net_scale", usual.scale),
    )


def _stack(prefix: str, stack: Settings) -> Entries:
    return [
        (f"{prefix}.embedding_length", stack.size("hidden_size")),
        (f"{prefix}.feed_forward_length", stack.size("intermediate_size")),
        (f"{prefix}.block_count", stack.size("num_hidden_layers")),
        (f"{prefix}.attention.head_count", stack.size("num_attention_heads")),
        (f"{prefix}.attention.head_count_kv", stack.size("num_key_value_heads")),
        (f"{prefix}.attention.key_length", stack.size("head_dim")),
    ]


def _context(prefix: str, stack: Settings) -> Entries:
    return [
        (f"{prefix}.context_length", stack.size("max_position_embeddings")),
        (f"{prefix}.rope.freq_base", stack.number("rope_theta")),
        (f"{prefix}.attention.layer_norm_rms_epsilon", stack.number("rms_norm_eps")),
    ]


def _positions(talker: Settings) -> Entries:
    """Settings of the positions that no implementation uses, as far as they are there."""
    entries: Entries = []
    if "position_id_per_seconds" in talker:
        seconds = talker.integer("position_id_per_seconds")
        entries.append(("talker.position_id_per_seconds", seconds))
    scaling = talker.optional_section("rope_scaling")
    if "mrope_section" in scaling:
        entries.append(("talker.rope.mrope_section", scaling.sizes("mrope_section")))
    if "interleaved" in scaling:
        entries.append(("talker.mrope_interleaved", scaling.boolean("interleaved")))
    return entries


def _languages(talker: Settings) -> Entries:
    table = talker.optional_section("codec_language_id")
    return [
        ("codec.language_names", tuple(name.lower() for name in table.values)),
        ("codec.language_ids", tuple(table.integer(name) for name in table.values)),
    ]


def _speakers(talker: Settings) -> Entries:
    """The speakers, also those that fine-tuning added; a family without any has no keys."""
    table = talker.optional_section("spk_id")
    dialects = talker.optional_section("spk_is_dialect")
    return [
        ("codec.speaker_names", tuple(name.lower() for name in table.values)),
        ("codec.speaker_ids", tuple(table.integer(name) for name in table.values)),
        ("codec.speaker_dialects", tuple(_dialect(dialects, name) for name in table.values)),
    ]


def _dialect(dialects: Settings, speaker: str) -> str:
    """The dialect of a speaker, empty for those who have none (false, or no entry)."""
    if dialects.values.get(speaker, False) is False:
        return ""
    return dialects.string(speaker)


def _generation(folder: Path) -> Entries:
    if not (folder / "generation_config.json").exists():
        return []
    config = Settings.read(folder / "generation_config.json")
    return [
        (f"generation.{key}", read(config, official))
        for key, official, read in _GENERATION
        if official in config
    ]
