"""The cards to read: one for each language, long enough for a voice, with nothing to stumble on."""

from __future__ import annotations

import pytest

from app.core.estimates import estimate_speech
from app.core.reading_cards import READING_CARDS, ReadingCard, reading_card
from app.core.scripts import count_letters, scripts_of
from app.core.text_warnings import text_warnings

LANGUAGES = {
    *("chinese", "english", "german", "italian", "portuguese"),
    *("spanish", "japanese", "korean", "french", "russian"),
}


def test_each_language_of_the_models_has_one_card() -> None:
    assert len(READING_CARDS) == len(LANGUAGES)
    assert {card.language for card in READING_CARDS} == LANGUAGES


@pytest.mark.parametrize("card", READING_CARDS, ids=lambda card: card.language)
def test_a_card_makes_a_good_reference(card: ReadingCard) -> None:
    assert 10 <= estimate_speech(card.text).seconds <= 15
    assert 2 <= estimate_speech(card.test_line).seconds <= 8
    for text in (card.text, card.test_line):
        assert text_warnings(text, card.language) == ()
        scripts = scripts_of(card.language)
        assert scripts is not None
        assert set(count_letters(text)) <= scripts


@pytest.mark.parametrize("language", ["auto", "klingon", ""])
def test_other_languages_get_the_english_card(language: str) -> None:
    assert reading_card(language).language == "english"


def test_a_card_is_found_however_its_language_is_written() -> None:
    assert reading_card(" German ").name == "Deutsch"
