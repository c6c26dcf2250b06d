"""Finds what is likely to go wrong when a text is spoken, so that it can be underlined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

from app.core.estimates import estimate_speech
from app.core.scripts import LETTERS, Script, count_letters, scripts_of

LONG_SECONDS: Final = 90.0  # the models begin to swallow words somewhere beyond
MOST_SPANS: Final = 200  # per kind; nobody reads more underlines

_SPEAKABLE: Final = regex.compile(r"[\p{L}\p{N}]")
_WORDS: Final = regex.compile(r"[\p{L}\p{N}\p{M}]+(?:['\u2019\-][\p{L}\p{N}\p{M}]+)*")
_CONTROL: Final = regex.compile(r"<\|[^|<>\n]{1,40}\|>|</?(?:tts|think|im)_?\w*>|\[/?INST\]")
_DIGITS: Final = regex.compile(r"\p{Nd}(?:[\p{Nd}.,:/%]*\p{Nd})?(?!\uFE0F?\u20E3)")
_LINE_BREAKS: Final = regex.compile(r"\n(?:[^\S\n]*\n){2,}")  # two make a paragraph
# Pictures, with their skin tones, joined people and flags; digits, (c) and arrows are no pictures
# unless a variation selector makes them so.
_PICTURE: Final = (
    r"(?:\p{RI}{2}|\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[0-9#*]\uFE0F?\u20E3"
    r"|[\p{Extended_Pictographic}--[\u00A9\u00AE\u203C\u2049\u2122\u2139\u2190-\u21FF"
    r"\u2934\u2935\u2B05-\u2B07\u3030\u303D\u3297\u3299]])[\uFE0F\p{Emoji_Modifier}]*"
)
_EMOJI: Final = regex.compile(
    rf"{_PICTURE}(?:\u200D{_PICTURE})*(?:\s*{_PICTURE}(?:\u200D{_PICTURE})*)*", regex.V1
)


_RIGHT_TO_LEFT: Final = regex.compile(rf"(?:{LETTERS[Script.RIGHT_TO_LEFT].pattern}[\p{{M}}\s]*)+")


class TextWarningKind(StrEnum):
    """What the matter is."""

    EMPTY = "empty"
    NOTHING_TO_SAY = "nothing-to-say"  # "..."
    ONE_WORD = "one-word"
    VERY_LONG = "very-long"
    EMOJI = "emoji"
    CONTROL_TOKEN = "control-token"
    DIGITS = "digits"
    RIGHT_TO_LEFT = "right-to-left"
    OTHER_SCRIPT = "other-script"
    LINE_BREAKS = "line-breaks"


@dataclass(frozen=True)
class TextWarning:
    """One place: characters start..end - 1 of the text, and a sentence about it."""

    kind: TextWarningKind
    start: int
    end: int
    message: str


def text_warnings(text: str, language: str = "auto") -> tuple[TextWarning, ...]:
    """Everything noteworthy in a text for a spoken language, in the order of `TextWarningKind`."""
    if not text.strip():
        return (
            TextWarning(
                TextWarningKind.EMPTY, 0, len(text), "There is nothing here yet; type a line."
            ),
        )
    return (
        *_about_the_whole(text),
        *_spans(
            text, _EMOJI, TextWarningKind.EMOJI, "Emoji are not spoken; the line sounds without it."
        ),
        *_spans(
            text,
            _CONTROL,
            TextWarningKind.CONTROL_TOKEN,
            "This looks like a control code; here it is only text and will be read out.",
        ),
        *_about_digits(text, language),
        *_about_scripts(text, language),
        *_spans(
            text,
            _LINE_BREAKS,
            TextWarningKind.LINE_BREAKS,
            "Many empty lines make no longer pause than one.",
        ),
    )


def _about_the_whole(text: str) -> Iterator[TextWarning]:
    def whole(kind: TextWarningKind, message: str) -> TextWarning:
        start = len(text) - len(text.lstrip())
        return TextWarning(kind, start, len(text.rstrip()), message)

    if not _SPEAKABLE.search(text):
        yield whole(
            TextWarningKind.NOTHING_TO_SAY,
            "There is no word here; the model would babble. Write what should be heard.",
        )
        return
    if _is_one_word(text):
        yield whole(
            TextWarningKind.ONE_WORD,
            "A single word often ends in babble; give it a sentence, or several takes.",
        )
    seconds = estimate_speech(text).seconds
    if seconds > LONG_SECONDS:
        yield whole(
            TextWarningKind.VERY_LONG,
            f"About {seconds / 60:.1f} minutes in one go: words may be swallowed toward the end. "
            "Split it into paragraphs.",
        )


def _is_one_word(text: str) -> bool:
    words = _WORDS.findall(text)
    if len(words) != 1:
        return False
    letters = count_letters(words[0])
    unspaced = sum(letters.get(script, 0) for script in (Script.HAN, Script.KANA))
    return unspaced <= 3 if unspaced else True  # Chinese and Japanese write no blanks


def _about_digits(text: str, language: str) -> Iterator[TextWarning]:
    written = scripts_of(language)
    letters = count_letters(text)
    fits = written is not None and (not letters or any(script in written for script in letters))
    for match in _limited(_DIGITS.finditer(text)):
        plain = match.group().isascii() or (
            written is not None
            and bool(written & {Script.HAN, Script.KANA})
            and all(char.isascii() or "\uff0c" <= char <= "\uff1a" for char in match.group())
        )
        if plain and fits:
            continue
        if not plain:
            message = "Digits of another script may be skipped or misread; write them as words."
        elif written is None:
            message = (
                "Without a chosen language, numbers may be read in another one; "
                "choose it, or write them as words."
            )
        else:
            message = f"Numbers here will be read in {language}, unlike the words around them."
        yield TextWarning(TextWarningKind.DIGITS, match.start(), match.end(), message)


def _about_scripts(text: str, language: str) -> Iterator[TextWarning]:
    letters = count_letters(text)
    if Script.RIGHT_TO_LEFT in letters:
        for match in _limited(_RIGHT_TO_LEFT.finditer(text)):
            end = match.start() + len(match.group().rstrip())
            yield TextWarning(
                TextWarningKind.RIGHT_TO_LEFT,
                match.start(),
                end,
                "The models do not speak languages written from right to left; "
                "this will be guessed at.",
            )
    written = scripts_of(language)
    if written is None:
        return
    shares = {script: count for script, count in letters.items() if script in LETTERS}
    shares.pop(Script.RIGHT_TO_LEFT, None)
    if shares and not any(script in written for script in shares):
        names = " and ".join(sorted(shares))
        start = len(text) - len(text.lstrip())
        yield TextWarning(
            TextWarningKind.OTHER_SCRIPT,
            start,
            len(text.rstrip()),
            f"This is written in {names}, but will be spoken as {language}; "
            "choose its own language for a clear reading.",
        )


def _spans(
    text: str, pattern: regex.Pattern[str], kind: TextWarningKind, message: str
) -> Iterator[TextWarning]:
    for match in _limited(pattern.finditer(text)):
        yield TextWarning(kind, match.start(), match.end(), message)


def _limited(matches: Iterator[regex.Match[str]]) -> Iterator[regex.Match[str]]:
    return (match for _, match in zip(range(MOST_SPANS), matches, strict=False))
