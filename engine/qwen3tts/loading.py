"""Builds an engine out of a talker file and a tokenizer file."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelFileError, RequestError
from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.qwen3tts.codec.config import DecoderConfig, read_decoder_config
from engine.qwen3tts.codec.decoder import NOT_NEEDED, build_codec_decoder
from engine.qwen3tts.config import TalkerConfig, read_talker_config
from engine.qwen3tts.describe import describe_talker
from engine.qwen3tts.encoders import VoiceEncoders
from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.prompt import Templates
from engine.qwen3tts.rules import check_sampling
from engine.qwen3tts.talker import Talker
from engine.runtime import Runtime
from engine.text.bpe import BytePairTokenizer
from engine.types import CancelToken, Progress, Sampling, StackSampling

_PAIR_HINT = "Choose a talker and a tokenizer that belong together."
SPEAKER_ENCODER = "spk_enc."  # turns recordings into voices; not needed to speak


def load_model(
    talker_path: Path,
    codec_path: Path,
    runtime: Runtime,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> ModelParts:
    """Load both files into the runtime's form.

    `progress` counts the bytes of both files. Raises ModelFileError, and Cancelled.
    """
    with GgufFile.open(talker_path) as talker_file, GgufFile.open(codec_path) as codec_file:
        config = read_talker_config(talker_file)
        codec_config = read_decoder_config(codec_file)
        _check_pair(talker_file, config, codec_path, codec_config)
        templates = Templates(_read_tokenizer(talker_file, config), config)
        sampling = _default_sampling(talker_file)

        sizes = [_bytes_to_read(talker_file), _bytes_to_read(codec_file)]
        meter = _Meter(progress, sum(sizes))
        talker_weights = Weights(talker_file, meter.part(0), cancel)
        talker_weights.skip(SPEAKER_ENCODER)
        talker = Talker(talker_weights, config, runtime)
        predictor = CodePredictor(talker_weights, config, runtime)
        talker_weights.finish()

        decoder = build_codec_decoder(codec_file, runtime, meter.part(sizes[0]), cancel)

        return ModelParts(
            description=describe_talker(talker_file),
            runtime=runtime,
            config=config,
            sampling=sampling,
            templates=templates,
            talker=talker,
            predictor=predictor,
            decoder=decoder,
            encoders=VoiceEncoders(
                talker_path, codec_path, config.talker.width, runtime, config.codec_name
            ),
        )


class _Meter:
    """Joins the progress of two files into one."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total

    def part(self, before: int) -> Progress:
        def tell(done: int, _: int) -> None:
            if self._progress is not None:
                self._progress(before + done, self._total)

        return tell


def _bytes_to_read(file: GgufFile) -> int:
    return sum(
        info.nbytes
        for name, info in file.tensors.items()
        if not name.startswith((SPEAKER_ENCODER, *NOT_NEEDED))
    )


def _check_pair(
    talker_file: GgufFile, config: TalkerConfig, codec_path: Path, codec: DecoderConfig
) -> None:
    if (config.codebooks, config.predictor.vocabulary) != (codec.codebooks, codec.codebook_size):
        raise ModelFileError(
            f"{talker_file.path} speaks {config.codebooks} codebooks of "
            f"{config.predictor.vocabulary} codes; the tokenizer {codec_path} has "
            f"{codec.codebooks} of {codec.codebook_size}.",
            _PAIR_HINT,
        )
    if config.codec_name != codec.codec_name:
        raise ModelFileError(
            f"{talker_file.path} speaks the codes of another tokenizer than {codec_path}.",
            _PAIR_HINT,
        )


def _read_tokenizer(file: GgufFile, config: TalkerConfig) -> BytePairTokenizer:
    tokens = file.strings("tokenizer.ggml.tokens")
    if len(tokens) > config.text_vocabulary:
        raise ModelFileError(
            f"{file.path} lists {len(tokens)} tokens in tokenizer.ggml.tokens but embeds only "
            f"{config.text_vocabulary}.",
            "The file is damaged; download it again.",
        )
    return BytePairTokenizer(
        tokens,
        file.integers("tokenizer.ggml.token_type"),
        file.strings("tokenizer.ggml.merges", default=[]),
        source=str(file.path),
    )


def _default_sampling(file: GgufFile) -> Sampling:
    """The sampling that the checkpoint recommends; what it does not say stays as it is.

    Without its limit of frames: at 8192 a take that does not end would last 11 minutes.
    """
    usual = Sampling()

    def stack(prefix: str, stack: StackSampling) -> StackSampling:
        return StackSampling(
            greedy=not file.boolean(f"generation.{prefix}do_sample", default=not stack.greedy),
            temperature=_plain(file.number(f"generation.{prefix}temperature", stack.temperature)),
            top_k=file.integer(f"generation.{prefix}top_k", stack.top_k),
            top_p=_plain(file.number(f"generation.{prefix}top_p", stack.top_p)),
        )

    penalty = file.number("generation.repetition_penalty", usual.repetition_penalty)
    sampling = Sampling(
        talker=stack("", usual.talker),
        predictor=stack("subtalker_", usual.predictor),
        repetition_penalty=_plain(penalty),
    )
    try:
        check_sampling(sampling)
    except RequestError as error:
        raise ModelFileError(
            f"{file.path} recommends a sampling that cannot be used: {error.message}",
            "The file is damaged; download it again.",
        ) from error
    return sampling


def _plain(value: float) -> float:
    """A float32 of the file as people write it: 0.9, not 0.8999999761581421."""
    return float(f"{value:.7g}")
