"""The sizes of the small checkpoints, in the terms of `engine.gguf.layout`."""

from __future__ import annotations

from engine.gguf.layout import (
    CodecDecoderDims,
    CodecDims,
    CodecEncoderDims,
    SpeakerEncoderDims,
    TalkerDims,
    TransformerDims,
)
from engine.types import DEMO_WIDTH

CODEBOOK = 2048
CODE_WIDTH = 64  # of a codebook entry
FIRST_BOOKS = 4  # codebooks that are learnt first
SPOKEN_BOOKS = 2  # of these; the others, and many more, hold details of recordings
BOOKS = 16
WINDOW = 16  # frames that the decoder's attention sees

CODEC = CodecDims(
    encoder=CodecEncoderDims(
        transformer=TransformerDims(256, 1024, 2, 4, 4, 64), filters=16, codebook_width=CODE_WIDTH
    ),
    decoder=CodecDecoderDims(
        transformer=TransformerDims(256, 512, 3, 4, 4, 64),
        latent=256,
        quantizer_width=2 * CODE_WIDTH,
        width=256,
    ),
    codebook_size=CODEBOOK,
)

TALKER = TalkerDims(
    talker=TransformerDims(DEMO_WIDTH, 768, 6, 4, 2, 64),
    predictor=TransformerDims(256, 512, 2, 4, 2, 64),
    text_vocabulary=272,
    text_width=128,
    codec_vocabulary=CODEBOOK + 1024,
    codebook_size=CODEBOOK,
    talker_context=4096,
    predictor_context=64,
)

SPEAKER_ENCODER = SpeakerEncoderDims(
    TALKER.talker.width, channels=96, squeeze=32, attention=32, scale=8
)
EMBEDDING_WIDTH = 16  # of speaker embeddings, of which x-vectors are made
