"""Turns whatever people call things into names that every file system takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import count
from typing import Final

LONGEST_NAME: Final = 100  # bytes of UTF-8; file systems end at 255, paths on Windows at 260
UNTITLED: Final = "untitled"

# Device names of Windows, which it sees in "con.txt" and "COM¹" too.
_RESERVED: Final = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*]+')
_SPACE: Final = re.compile(r"\s+")
_HYPHENS: Final = re.compile(r"-+")
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def safe_name(text: str, fallback: str = UNTITLED, longest: int = LONGEST_NAME) -> str:
    """A name for a file or folder that reads like `text`, at most `longest` bytes of UTF-8.

    Allowed by Windows, macOS and Linux alike: no separators, reserved characters, control or
    direction marks, no device names (`con`), no dot or blank at either end. Keeps letters of
    every script, in normal form C. Never empty; made of a safe name it is the same.
    """
    name = _cleaned(text)
    name = _strip(_cut(name, longest))
    if not name:
        return fallback
    if name.split(".")[0].rstrip().casefold() in _RESERVED:
        name = _strip(_cut(f"_{name}", longest))
    return name


def slug(text: str, fallback: str, longest: int = 40) -> str:
    """Lower-case words of `text` joined by hyphens; may be a device name, so add to it."""
    lower = unicodedata.normalize("NFC", _cleaned(text).lower())
    words = "".join(char if unicodedata.category(char)[0] in "LMN" else "-" for char in lower)
    return _cut(_HYPHENS.sub("-", words).strip("-"), longest).strip("-") or fallback


def unique_name(wanted: str, taken: Iterable[str], longest: int = LONGEST_NAME) -> str:
    """`wanted`, or with " 2", " 3", ... behind it, whichever is not taken.

    Names that differ in case or in normal form only are the same file on some systems, so
    they count as taken. An ending such as ".wav" stays at the end when `wanted` has one.
    """
    keys = {name_key(name) for name in taken}
    if name_key(wanted) not in keys:
        return wanted
    stem, dot, ending = wanted.rpartition(".")
    if not stem or not re.fullmatch(r"[A-Za-z0-9]{1,8}", ending):
        stem, dot, ending = wanted, "", ""
    for number in count(2):
        tail = f" {number}{dot}{ending}"
        name = _cut(stem, longest - len(tail.encode())).rstrip() + tail
        if name_key(name) not in keys:
            break
    return name


def name_key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _cleaned(text: str) -> str:
    # Far longer texts than names are cut first: normalising a book would take a while.
    name = _SPACE.sub(" ", text[:4096])
    name = "".join(char for char in name if unicodedata.category(char) not in _UNPRINTABLE)
    name = _SPACE.sub(" ", unicodedata.normalize("NFC", name))
    return _strip(_FORBIDDEN.sub("-", name))


def _strip(name: str) -> str:
    return name.strip(" .")


def _cut(name: str, longest: int) -> str:
    """The beginning of `name` in at most `longest` bytes, no letter cut from its marks."""
    data = name.encode()
    if len(data) <= longest:
        return name
    kept = data[:longest].decode(errors="ignore")
    if unicodedata.combining(name[len(kept)]):
        while kept and unicodedata.combining(kept[-1]):
            kept = kept[:-1]
        kept = kept[:-1]
    return kept
