"""Attributes in words: the sentence, finding it again, and replacing nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.voice_prompt import (
    ATTRIBUTES,
    EXAMPLES,
    attribute_sentence,
    attributes_in,
    contradiction,
    with_attributes,
)

CHOICES = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in ATTRIBUTES.items()}
)
OWN_WORDS = st.text(alphabet="abc ,.\n“”é", max_size=40)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({}, ""),
        ({"Age": "elderly"}, "An elderly speaker."),
        ({"Gender": "woman"}, "A woman."),
        ({"Pitch": "very low"}, "A speaker with a very low-pitched voice."),
        ({"Texture": "smooth", "Gender": "man"}, "A man with a smooth voice."),
        ({"Pace": "even"}, "A speaker, speaking at an even pace."),
        ({"Mood": "excited", "Age": "young"}, "A young speaker, sounding excited."),
        (
            {
                "Mood": "calm",
                "Pace": "slow",
                "Pitch": "low",
                "Texture": "warm",
                "Gender": "woman",
                "Age": "middle-aged",
            },
            "A middle-aged woman with a warm, low-pitched voice, speaking at a slow pace, "
            "sounding calm.",
        ),
    ],
)
def test_attributes_make_a_sentence(chosen: dict[str, str], sentence: str) -> None:
    assert attribute_sentence(chosen) == sentence


@given(CHOICES)
def test_a_sentence_is_read_back_from_among_other_words(chosen: dict[str, str]) -> None:
    sentence = attribute_sentence(chosen)
    assert attributes_in(sentence) == chosen
    assert attributes_in(f"He limps. {sentence} It rains.") == chosen


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "A young woman with a lisp.",
        "A elderly man.",
        "A man with a  voice.",
        "A voice, sounding calm.",
    ],
)
def test_what_a_person_has_worded_is_not_taken_for_ours(prompt: str) -> None:
    assert attributes_in(prompt) == {}


def test_the_first_sentence_of_ours_counts() -> None:
    assert attributes_in("A tall man. A young man. A girl.") == {"Age": "young", "Gender": "man"}


@pytest.mark.parametrize(
    ("prompt", "before", "after", "result"),
    [
        ("", "", "A man.", "A man."),
        ("  \n", "", "A man.", "A man."),
        ("He limps.", "", "A man.", "A man. He limps."),
        ("He limps.", "", "", "He limps."),
        ("A man. He limps.", "A man.", "A boy.", "A boy. He limps."),
        ("Oh!  A man.\nHe limps. ", "A man.", "A boy.", "Oh!  A boy.\nHe limps. "),
        ("A man.", "A man.", "", ""),
        ("A man. He limps.", "A man.", "", "He limps."),
        ("Oh! A man. He limps.", "A man.", "", "Oh! He limps."),
        ("He limps. A man.", "A man.", "", "He limps."),
        ("A man. A man.", "A man.", "A boy.", "A boy. A man."),
        ("Rewritten by hand.", "A man.", "A boy.", "A boy. Rewritten by hand."),
        ("Rewritten by hand.", "A man.", "", "Rewritten by hand."),
    ],
)
def test_only_the_own_sentence_is_replaced(
    prompt: str, before: str, after: str, result: str
) -> None:
    assert with_attributes(prompt, before, after) == result


@given(OWN_WORDS, CHOICES, CHOICES)
def test_a_change_of_mind_leaves_the_other_words_alone(
    words: str, first: dict[str, str], second: dict[str, str]
) -> None:
    start, end = attribute_sentence(first), attribute_sentence(second)
    once = with_attributes(words, "", end)
    twice = with_attributes(with_attributes(words, "", start), start, end)
    if start and end:
        assert twice == once
    assert words.strip() in twice


def test_every_example_shows_its_attributes_and_lets_them_be_changed() -> None:
    assert len(EXAMPLES) == 3
    for words in EXAMPLES.values():
        chosen = attributes_in(words)
        assert len(chosen) > 3
        other = attribute_sentence({**chosen, "Age": "teenage", "Gender": "girl"})
        changed = with_attributes(words, attribute_sentence(chosen), other)
        assert attributes_in(changed)["Age"] == "teenage"
        assert contradiction(words) is None
        assert contradiction(changed) is None


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", None),
        ("An elderly woman, a young girl at heart.", None),  # all of it a person's own
        ("A young speaker. A middle-aged woman with a warm voice.", ("young", "middle-aged")),
        ("A woman. He limps.", ("woman", "he")),
        ("A man. The other woman-hater.", None),
        ("A girl. She is a young woman.", None),
        ("A speaker with a very low-pitched voice. Shrill, at times.", ("very low", "shrill")),
        ("A speaker, speaking at a brisk pace. SLOWLY, softly.", ("brisk", "slowly")),
        ("A speaker, sounding calm. Excited.", None),
    ],
)
def test_what_contradicts_the_attributes_is_found(
    prompt: str, words: tuple[str, str] | None
) -> None:
    assert contradiction(prompt) == words
