"""Finds the fastest library that this processor can run, or says in words why there is none."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_float, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.native.build import FOLDER, library_path, variants
from engine.native.structures import (
    VERSION,
    CacheBuffers,
    Convolution,
    Drawing,
    Matrix,
    PredictorWeights,
    StackWeights,
)

SWITCH: Final = "STUDIO_NATIVE"
"""An environment variable: 0 leaves everything to torch, to measure it or to look for a fault."""

OFF: Final = frozenset({"0", "off", "false", "no"})

_HOW_TO_BUILD: Final = "Install g++ or clang++, then run: python -m engine.native.build"


@dataclass(frozen=True, eq=False)
class Library:
    """An opened library; its calls release the interpreter lock."""

    name: str  # of the instruction set
    path: Path
    calls: ctypes.CDLL


@dataclass(frozen=True, eq=False)
class FoundLibrary:
    """The library to use, or None and the reason."""

    library: Library | None
    reason: str  # one or two sentences, also for what was found


def find_library(folder: Path = FOLDER) -> FoundLibrary:
    """The fastest library in `folder` that works here, unless SWITCH is off."""
    if os.environ.get(SWITCH, "").strip().lower() in OFF:
        return FoundLibrary(None, f"The native step is switched off by {SWITCH}.")
    wrong = []
    for name in variants():
        path = library_path(name, folder)
        if not path.is_file():
            continue
        try:
            library = open_library(path)
        except OSError as error:
            wrong.append(f"{path.name} cannot be opened: {error}.")
            continue
        if isinstance(library, Library):
            return FoundLibrary(library, f"The native step runs with {library.name}.")
        wrong.append(library)
    if wrong:
        return FoundLibrary(None, f"The native step cannot be used. {' '.join(wrong)}")
    reason = f"The native step was not built: {folder} holds no library. {_HOW_TO_BUILD}."
    return FoundLibrary(None, reason)


def supported_libraries(folder: Path = FOLDER) -> list[Library]:
    """Every library in `folder` that works here, the fastest first; raises OSError."""
    paths = [library_path(name, folder) for name in variants()]
    opened = [open_library(path) for path in paths if path.is_file()]
    return [library for library in opened if isinstance(library, Library)]


def open_library(path: Path) -> Library | str:
    """The library at `path`, or a sentence that says why it cannot be used.

    Raises OSError if the system cannot load it.
    """
    calls = ctypes.CDLL(str(path))
    if not hasattr(calls, "step_version") or calls.step_version() != VERSION:
        return f"{path.name} belongs to another version: build it again."
    if not calls.step_supported():
        return f"This processor cannot run {path.name}."
    _declare(calls)
    return Library(calls.step_name().decode(), path, calls)


def _declare(calls: ctypes.CDLL) -> None:
    """Tell ctypes the arguments of every call; it would cut pointers to 32 bits."""
    matrices, cache = POINTER(Matrix), POINTER(CacheBuffers)
    calls.step_name.restype = c_char_p
    calls.step_open.argtypes, calls.step_open.restype = [c_int], c_void_p
    calls.step_close.argtypes, calls.step_close.restype = [c_void_p], None
    calls.step_packed_bytes.argtypes = [c_int, c_int64, c_int64]
    calls.step_packed_bytes.restype = c_int64
    calls.step_pack.argtypes = [c_void_p, c_int, c_int, c_void_p, c_int64, c_int64, c_void_p]
    calls.step_unpack.argtypes = [c_int, c_void_p, c_int64, c_int64, c_void_p]
    calls.step_unpack.restype = None
    calls.step_dequantize.argtypes = [c_int, c_void_p, c_int64, c_void_p]
    calls.step_linear.argtypes = [c_void_p, matrices, c_int, c_void_p, c_int, c_void_p]
    calls.step_linear.restype = None
    calls.step_stack.argtypes = [
        *(c_void_p, POINTER(StackWeights), cache, c_int, c_int, c_int),
        *(c_void_p, c_int, c_int, c_int64),
    ]
    calls.step_stack.restype = None
    calls.step_draw.argtypes = [c_void_p, c_int, POINTER(Drawing), c_float]
    calls.step_predict.argtypes = [
        *(c_void_p, POINTER(PredictorWeights), cache, c_void_p, c_void_p),
        *(POINTER(Drawing), c_int, c_void_p, c_void_p),
    ]
    layers = POINTER(Convolution)
    calls.step_pack_convolution.argtypes = [
        *(c_void_p, c_void_p, c_int, c_int, c_int, c_void_p, c_void_p)
    ]
    calls.step_pack_convolution.restype = None
    calls.step_wave_past.argtypes, calls.step_wave_past.restype = [layers, c_int], c_int64
    calls.step_waves.argtypes = [
        *(c_void_p, layers, c_int, c_void_p, c_int, c_int, c_void_p, c_void_p)
    ]
    calls.step_waves.restype = None
