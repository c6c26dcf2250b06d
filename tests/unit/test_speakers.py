"""Cards for the speakers that a model file names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.speakers import SpeakerCard, speaker_cards
from engine import ModelDescription, describe_model
from tests.fakes import BASE, CUSTOM_VOICE, DATA


@pytest.fixture(scope="module")
def model() -> ModelDescription:
    return describe_model(DATA / CUSTOM_VOICE)


def test_all_speakers_of_the_file_in_its_order(model: ModelDescription) -> None:
    assert tuple(card.name for card in speaker_cards(model)) == model.speakers
    assert len(model.speakers) == 9


def test_the_published_ones_are_described_and_the_dialect_is_the_files(
    model: ModelDescription,
) -> None:
    cards = {card.name: card for card in speaker_cards(model)}
    assert cards["ryan"].language == "English"
    assert cards["ono_anna"].title == "Ono Anna"
    assert all(card.about for card in cards.values())
    assert model.dialects
    for name, dialect in model.dialects.items():
        assert cards[name].dialect == dialect.replace("_", " ").capitalize()
    assert not cards["ryan"].dialect


def test_an_unknown_speaker_is_offered_under_its_name(model: ModelDescription) -> None:
    other = replace(model, speakers=("new_one", "RYAN"), dialects={"new_one": "low_saxon"})
    first, second = speaker_cards(other)
    assert first == SpeakerCard("new_one", dialect="Low saxon")
    assert first.title == "New One"
    assert (second.name, second.language) == ("RYAN", "English")


def test_a_model_without_speakers_has_no_cards() -> None:
    assert speaker_cards(describe_model(DATA / BASE)) == ()
