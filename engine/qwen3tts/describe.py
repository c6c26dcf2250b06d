"""What a talker file holds, told from its header alone: no weights, no torch."""

from __future__ import annotations

from collections import Counter

from engine.gguf.reader import GgufFile
from engine.qwen3tts.config import ARCHITECTURE, read_talker_config
from engine.types import SIZE_NAMES, ModelDescription


def describe_talker(file: GgufFile) -> ModelDescription:
    """Describe an open talker file; raises ModelFileError as loading it would."""
    config = read_talker_config(file)
    bytes_by_type: Counter[str] = Counter()
    for info in file.tensors.values():
        if ".blk." in info.name and len(info.shape) == 2:
            bytes_by_type[info.type.name] += info.nbytes
    return ModelDescription(
        path=file.path,
        architecture=ARCHITECTURE,
        family=config.family,
        name=file.string("general.name", default=file.path.stem),
        size=SIZE_NAMES.get(config.size, config.size),
        precision=bytes_by_type.most_common(1)[0][0] if bytes_by_type else "",
        file_bytes=file.file_bytes,
        width=config.talker.width,
        has_speaker_encoder="spk_enc.conv0.weight" in file.tensors,
        languages=tuple(config.languages),
        speakers=tuple(config.speakers),
        dialects=dict(config.dialects),
        codebooks=config.codebooks,
        codec_name=config.codec_name,
        codebook_size=config.predictor.vocabulary,
        ignores_instruct=config.ignores_instruct,
        x_vector_only=config.x_vector_only,
    )
