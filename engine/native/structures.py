"""The structures that the native step reads, as `source/*.h` declare them."""

from __future__ import annotations

from ctypes import Structure, c_float, c_int32, c_int64, c_void_p
from typing import Final

VERSION: Final = 2
"""Of these structures and of the arguments of the calls; a library of another one is not used."""

Q8: Final = 0
"""Blocks of 32 columns with a half-precision scale, as in Q8_0."""

Q4: Final = 1
"""Blocks of 32 columns within super-blocks of 256, as in Q4_K."""


class Matrix(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("bias", c_void_p),
        ("rows", c_int32),
        ("columns", c_int32),
        ("kind", c_int32),
        ("reserved", c_int32),
    )


MATRICES: Final = ("query", "key", "value", "output", "gate", "up", "down")
NORMS: Final = ("attention_norm", "query_norm", "key_norm", "mlp_norm")


class BlockWeights(Structure):
    _fields_ = (
        *((name, Matrix) for name in MATRICES),
        *((name, c_void_p) for name in NORMS),
    )


class StackWeights(Structure):
    _fields_ = (
        ("blocks", c_void_p),
        ("norm", c_void_p),
        ("count", c_int32),
        ("width", c_int32),
        ("inner", c_int32),
        ("heads", c_int32),
        ("key_heads", c_int32),
        ("head_width", c_int32),
        ("epsilon", c_float),
        ("reserved", c_int32),
    )


class CacheBuffers(Structure):
    kept: tuple[object, ...] = ()  # what the addresses point to
    _fields_ = (
        ("keys", c_void_p),
        ("values", c_void_p),
        ("cosines", c_void_p),
        ("sines", c_void_p),
        ("capacity", c_int64),
    )


class Table(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("type", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("reserved", c_int32),
    )


class PredictorWeights(Structure):
    _fields_ = (
        ("stack", StackWeights),
        ("heads", c_void_p),
        ("embeddings", c_void_p),
        ("projection", c_void_p),
        ("books", c_int32),
        ("wide", c_int32),
    )


class Convolution(Structure):
    _fields_ = (
        ("weights", c_void_p),
        ("scales", c_void_p),
        ("bias", c_void_p),
        ("frequency", c_void_p),
        ("strength", c_void_p),
        ("inputs", c_int32),
        ("outputs", c_int32),
        ("taps", c_int32),
        ("dilation", c_int32),
        ("phases", c_int32),
        ("residual", c_int32),
    )


class Drawing(Structure):
    _fields_ = (
        ("greedy", c_int32),
        ("top_k", c_int32),
        ("temperature", c_float),
        ("top_p", c_float),
    )
