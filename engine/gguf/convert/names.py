"""Tells under which names the official checkpoints store what a GGUF file needs."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Codebook(NamedTuple):
    """The two official tensors that make up one codebook."""

    total: str  # sums of the vectors assigned to each entry, [entries, width]
    usage: str  # how many were assigned, [entries]


_BLOCK: Final = (
    (r"attn_norm\.", "input_layernorm."),
    (r"attn_([qk])_norm\.", r"self_attn.\1_norm."),
    (r"attn_([qkv])\.", r"self_attn.\1_proj."),
    (r"attn_output\.", "self_attn.o_proj."),
    (r"attn_scale$", "self_attn_layer_scale.scale"),
    (r"ffn_norm\.", "post_attention_layernorm."),
    (r"ffn_(gate|up|down)\.", r"mlp.\1_proj."),
    (r"ffn_scale$", "mlp_layer_scale.scale"),
)
"""The parts of a transformer block."""

_MIMI_BLOCK: Final = ((r"ffn_up\.", "mlp.fc1."), (r"ffn_down\.", "mlp.fc2."), *_BLOCK)
"""The codec's encoder has a feed-forward layer without a gate."""

_STACKS: Final = (
    (r"talker\.blk\.(\d+)\.", r"talker.model.layers.\1.", _BLOCK),
    (r"code_pred\.blk\.(\d+)\.", r"talker.code_predictor.model.layers.\1.", _BLOCK),
    (r"tok_dec\.pre_tfm\.blk\.(\d+)\.", r"decoder.pre_transformer.layers.\1.", _BLOCK),
    (r"tok_enc\.blk\.(\d+)\.", r"encoder.encoder_transformer.layers.\1.", _MIMI_BLOCK),
)

_PREFIXES: Final = (
    (r"talker\.(text|codec)_embd\.", r"talker.model.\1_embedding."),
    (r"talker\.text_proj\.fc", "talker.text_projection.linear_fc"),
    (r"talker\.codec_head\.", "talker.codec_head."),
    (r"talker\.output_norm\.", "talker.model.norm."),
    (r"code_pred\.codec_embd\.", "talker.code_predictor.model.codec_embedding."),
    (r"code_pred\.lm_head\.", "talker.code_predictor.lm_head."),
    (r"code_pred\.mtp_proj\.", "talker.code_predictor.small_to_mtp_projection."),
    (r"code_pred\.output_norm\.", "talker.code_predictor.model.norm."),
    (r"spk_enc\.conv0\.", "speaker_encoder.blocks.0.conv."),
    (r"spk_enc\.blk\.(\d+)\.tdnn(\d)\.", r"speaker_encoder.blocks.\1.tdnn\2.conv."),
    (
        r"spk_enc\.blk\.(\d+)\.res2net\.(\d+)\.",
        r"speaker_encoder.blocks.\1.res2net_block.blocks.\2.conv.",
    ),
    (r"spk_enc\.blk\.(\d+)\.se\.", r"speaker_encoder.blocks.\1.se_block."),
    (r"spk_enc\.mfa\.", "speaker_encoder.mfa.conv."),
    (r"spk_enc\.asp\.tdnn\.", "speaker_encoder.asp.tdnn.conv."),
    (r"spk_enc\.(asp\.conv|fc)\.", r"speaker_encoder.\1."),
    (r"tok_enc\.conv\.(\d+)\.", r"encoder.encoder.layers.\1.conv."),
    (r"tok_enc\.res\.(\d+)\.blk\.(\d)\.", r"encoder.encoder.layers.\1.block.\2.conv."),
    (r"tok_enc\.downsample\.", "encoder.downsample.conv."),
    (
        r"tok_enc\.vq_(semantic|acoustic)\.(in|out)put_proj\.",
        r"encoder.quantizer.\1_residual_vector_quantizer.\2put_proj.",
    ),
    (r"tok_dec\.vq_(first|rest)\.output_proj\.", r"decoder.quantizer.rvq_\1.output_proj."),
    (r"tok_dec\.pre_conv\.", "decoder.pre_conv.conv."),
    (r"tok_dec\.pre_tfm\.", "decoder.pre_transformer."),
    (r"tok_dec\.upsample\.(\d)\.conv\.", r"decoder.upsample.\1.0.conv."),
    (r"tok_dec\.upsample\.(\d)\.dwconv\.", r"decoder.upsample.\1.1.dwconv.conv."),
    (r"tok_dec\.upsample\.(\d)\.", r"decoder.upsample.\1.1."),
    # Four upsampling blocks; the activation and the convolution behind them are bare.
    (r"tok_dec\.dec\.([1-4])\.snake\.", r"decoder.decoder.\1.block.0."),
    (r"tok_dec\.dec\.(\d)\.snake\.", r"decoder.decoder.\1."),
    (r"tok_dec\.dec\.(\d)\.conv\.", r"decoder.decoder.\1.conv."),
    (r"tok_dec\.dec\.(\d)\.conv_t\.", r"decoder.decoder.\1.block.1.conv."),
)
"""Where a GGUF name begins with the first, the official one begins with the second."""

_UNIT: Final = re.compile(r"tok_dec\.dec\.(\d)\.res\.(\d)\.(?:(act\d)|(conv\d))\.(\w+)")
_CODEBOOK: Final = re.compile(r"tok_(enc|dec)\.vq_(\w+)\.(\d+)\.codebook")

# What the official code stores but no GGUF file holds.
_UNUSED: Final = re.compile(
    r"decoder\.quantizer\.rvq_(first|rest)\.input_proj\.weight"
    r"|encoder\.quantizer\.\w+\.layers\.\d+\.codebook\.(initialized|embed_sum|cluster_usage)"
    r"|decoder\.quantizer\.\w+\.vq\.layers\.\d+\._codebook\.initialized"
    r"|.+\.rotary_emb\.inv_freq"
)


def official_name(name: str) -> str | Codebook:
    """The official name of the tensor that a GGUF file calls `name`, or those of a codebook."""
    if match := _CODEBOOK.fullmatch(name):
        side, quantizer, layer = match.groups()
        if side == "enc":
            stem = f"encoder.quantizer.{quantizer}_residual_vector_quantizer.layers.{layer}"
            return Codebook(f"{stem}.codebook.embed_sum", f"{stem}.codebook.cluster_usage")
        stem = f"decoder.quantizer.rvq_{quantizer}.vq.layers.{layer}._codebook"
        return Codebook(f"{stem}.embedding_sum", f"{stem}.cluster_usage")
    if match := _UNIT.fullmatch(name):
        block, unit, activation, convolution, part = match.groups()
        # The units follow the block's activation and its transposed convolution.
        stem = f"decoder.decoder.{block}.block.{int(unit) + 2}"
        return f"{stem}.{activation}.{part}" if activation else f"{stem}.{convolution}.conv.{part}"
    for pattern, replacement, parts in _STACKS:
        if match := re.match(pattern, name):
            return match.expand(replacement) + _replaced(name[match.end() :], parts)
    return _replaced(name, _PREFIXES)


def is_unused(name: str) -> bool:
    """Whether an official tensor that nothing asked for is known to have no use here.

    Among them are the acoustic codebooks of the encoder beyond those that the decoder has.
    """
    return _UNUSED.fullmatch(name) is not None


def _replaced(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in rules:
        if match := re.match(pattern, name):
            return match.expand(replacement) + name[match.end() :]
    raise AssertionError(f"no rule for {name}")
