"""The dimensions and ids of a talker file, read once and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.errors import ModelFileError
from engine.gguf.reader import GgufFile
from engine.nn.heads import Heads
from engine.qwen3tts.codec.metadata import read_codec_name
from engine.types import DEMO_SIZE, Family

ARCHITECTURE = "qwen3-tts"
NON_STREAMING = "studio.non_streaming"
X_VECTOR_ONLY = "studio.x_vector_only"
RESERVED_CODES = 1024  # ids at the end of the codec vocabulary that are never spoken, but for EOS

SHOWN = 5  # wrong ids in a message


@dataclass(frozen=True)
class StackConfig:
    """One transformer stack (talker or code predictor)."""

    width: int
    inner: int
    blocks: int
    heads: Heads
    vocabulary: int
    rope_base: float
    eps: float


@dataclass(frozen=True)
class CodecIds:
    """Control tokens of the codec vocabulary."""

    pad: int
    bos: int
    eos: int
    think: int
    nothink: int
    think_bos: int
    think_eos: int


@dataclass(frozen=True)
class TextIds:
    """Control tokens of the text vocabulary."""

    im_start: int
    im_end: int
    pad: int
    bos: int
    eos: int


@dataclass(frozen=True)
class TalkerConfig:
    """Everything the metadata of a talker file says about the model."""

    family: Family
    size: str  # "0b6" or "1b7", as the file says
    talker: StackConfig
    predictor: StackConfig
    codebooks: int
    codec_name: str  # of the tokenizer whose codes it speaks, "" for the official one
    non_streaming: bool  # clones, too, were trained with all of their text before the first frame
    x_vector_only: bool  # clones never learnt to go on from reference codes
    text_vocabulary: int
    text_width: int
    context: int  # longest prompt + speech, in positions
    codec: CodecIds
    text: TextIds
    languages: Mapping[str, int]
    speakers: Mapping[str, int]
    dialects: Mapping[str, str]  # speaker -> dialect, for those who have one

    @property
    def ignores_instruct(self) -> bool:
        """The official wrapper drops the instruct of the small custom-voice model."""
        return self.family is Family.CUSTOM_VOICE and ("0b6" in self.size or self.size == DEMO_SIZE)


def read_talker_config(file: GgufFile) -> TalkerConfig:
    """Read and check the metadata of a talker file; raises ModelFileError naming the key."""
    architecture = file.string("general.architecture")
    if architecture != ARCHITECTURE:
        raise ModelFileError(
            f"{file.path} is not a talker: its general.architecture is {architecture!r}.",
            f"Choose a file whose architecture is {ARCHITECTURE!r} (qwen-talker-*.gguf).",
        )
    model_type = file.string("qwen3-tts.model_type")
    if model_type not in set(Family):
        raise ModelFileError(
            f"{file.path} holds an unknown kind of talker: qwen3-tts.model_type is {model_type!r}.",
            f"Known kinds are {', '.join(Family)}.",
        )
    prefix = "qwen3-tts.codec."
    languages = _table(file, f"{prefix}language_names", f"{prefix}language_ids")
    speakers = _table(file, f"{prefix}speaker_names", f"{prefix}speaker_ids")
    dialects = file.strings(f"{prefix}speaker_dialects", default=[""] * len(speakers))
    if len(dialects) != len(speakers):
        raise _mismatch(file, f"{prefix}speaker_names", f"{prefix}speaker_dialects")
    config = TalkerConfig(
        family=Family(model_type),
        size=file.string("qwen3-tts.model_size"),
        talker=_stack(file, "qwen3-tts.talker"),
        predictor=_stack(file, "qwen3-tts.code_pred"),
        codebooks=_positive(file, "qwen3-tts.num_code_groups"),
        codec_name=read_codec_name(file),
        non_streaming=file.boolean(NON_STREAMING, default=False),
        x_vector_only=file.boolean(X_VECTOR_ONLY, default=False),
        text_vocabulary=_positive(file, "qwen3-tts.talker.text_vocab_size"),
        text_width=_positive(file, "qwen3-tts.talker.text_hidden_size"),
        context=_positive(file, "qwen3-tts.talker.context_length"),
        codec=CodecIds(
            pad=file.integer(f"{prefix}pad_id"),
            bos=file.integer(f"{prefix}bos_id"),
            eos=file.integer(f"{prefix}eos_id"),
            think=file.integer(f"{prefix}think_id"),
            nothink=file.integer(f"{prefix}nothink_id"),
            think_bos=file.integer(f"{prefix}think_bos_id"),
            think_eos=file.integer(f"{prefix}think_eos_id"),
        ),
        text=TextIds(
            im_start=file.integer("qwen3-tts.text.im_start_id"),
            im_end=file.integer("qwen3-tts.text.im_end_id"),
            pad=file.integer("qwen3-tts.text.tts_pad_id"),
            bos=file.integer("qwen3-tts.text.tts_bos_id"),
            eos=file.integer("qwen3-tts.text.tts_eos_id"),
        ),
        languages=languages,
        speakers=speakers,
        dialects=MappingProxyType(
            {
                name: dialect.lower()
                for name, dialect in zip(speakers, dialects, strict=True)
                if dialect
            }
        ),
    )
    _check_ids(file, config)
    return config


def _stack(file: GgufFile, prefix: str) -> StackConfig:
    heads = Heads(
        queries=_positive(file, f"{prefix}.attention.head_count"),
        keys=_positive(file, f"{prefix}.attention.head_count_kv"),
        width=_positive(file, f"{prefix}.attention.key_length"),
    )
    if heads.queries % heads.keys or heads.width % 2:
        raise ModelFileError(
            f"{file.path} gives {heads.queries} query heads, {heads.keys} key heads of width "
            f"{heads.width} under {prefix}.attention, which do not fit together.",
            "The file is damaged or of an unknown version; download it again.",
        )
    return StackConfig(
        width=_positive(file, f"{prefix}.embedding_length"),
        inner=_positive(file, f"{prefix}.feed_forward_length"),
        blocks=_positive(file, f"{prefix}.block_count"),
        heads=heads,
        vocabulary=_positive(file, f"{prefix}.vocab_size"),
        rope_base=_above_zero(file, f"{prefix}.rope.freq_base"),
        eps=_above_zero(file, f"{prefix}.attention.layer_norm_rms_epsilon"),
    )


def _positive(file: GgufFile, key: str) -> int:
    value = file.integer(key)
    if not 0 < value < 2**31:
        raise _impossible(file, key, value)
    return value


def _above_zero(file: GgufFile, key: str) -> float:
    value = file.number(key)
    if value <= 0:
        raise _impossible(file, key, value)
    return value


def _impossible(file: GgufFile, key: str, value: float) -> ModelFileError:
    return ModelFileError(
        f"{file.path} gives {value} for {key}, which cannot be right.",
        "The file is damaged; download it again.",
    )


def _table(file: GgufFile, names_key: str, ids_key: str) -> Mapping[str, int]:
    names = file.strings(names_key, default=[])
    ids = file.integers(ids_key, default=[])
    if len(names) != len(ids):
        raise _mismatch(file, names_key, ids_key)
    return MappingProxyType({name.lower(): row for name, row in zip(names, ids, strict=True)})


def _mismatch(file: GgufFile, first: str, second: str) -> ModelFileError:
    return ModelFileError(
        f"{file.path} gives lists of different lengths for {first} and {second}.",
        "The file is damaged; download it again.",
    )


def _check_ids(file: GgufFile, config: TalkerConfig) -> None:
    """Every id must be a row of its table: a wild one would read beyond it.

    The first code of a frame is one of those before the reserved ones, and the codec and the
    predictor have as many for every other.
    """
    rows = config.talker.vocabulary
    codec = vars(config.codec) | dict(config.languages) | dict(config.speakers)
    wild = [f"{name} = {row}" for name, row in codec.items() if not 0 <= row < rows]
    wild += [
        f"{name} = {row}"
        for name, row in vars(config.text).items()
        if not 0 <= row < config.text_vocabulary
    ]
    wild += [
        f"dialect {dialect!r}"
        for dialect in config.dialects.values()
        if dialect not in config.languages
    ]
    if config.predictor.vocabulary != rows - RESERVED_CODES:
        wild.append(f"predictor vocabulary = {config.predictor.vocabulary}")
    if config.codebooks < 2:
        wild.append(f"num_code_groups = {config.codebooks}")
    if wild:
        raise ModelFileError(
            f"{file.path} names ids that its tables do not have: {', '.join(wild[:SHOWN])}.",
            "The file is damaged; download it again.",
            detail="\n".join(wild),
        )
