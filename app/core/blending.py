"""Makes a voice between two voices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.core.voice_folder import VoiceWidthError, embedding_name
from app.core.voice_parts import VoiceParts
from app.core.voice_record import Consent, LibraryVoice, Origin, VoiceDetails, VoiceKind
from engine.errors import VoiceFileError
from engine.voices import read_embedding

PARALLEL = 1e-6  # radians, where the formula below divides by nearly nothing


def blend_embeddings(
    first: NDArray[np.float32], second: NDArray[np.float32], amount: float
) -> NDArray[np.float32]:
    """The x-vector [width] that is `amount` (0..1) of the way from the first to the second.

    Spherical interpolation (Shoemake, "Animating Rotation with Quaternion Curves", 1985): the
    direction turns at a steady rate and the length goes evenly from one to the other. A straight
    line would cut through the sphere: two voices at an angle of 90 degrees would have only 71 %
    of their length half-way, weaker than any voice the talker was trained on, and most of the
    change would be in the middle of the slider. At 0 and 1 the vectors come back to the bit.

    Raises VoiceFileError for vectors of different widths, without length, or exactly opposite.
    """
    assert 0 <= amount <= 1, "between the two"
    if first.ndim != 1 or first.shape != second.shape:
        raise VoiceFileError(
            f"Voices of {first.size} and {second.size} values cannot be blended.",
            "Both need to be made for models of the same size.",
        )
    if amount in (0, 1):
        return (first, second)[int(amount)].copy()
    a, b = first.astype(np.float64), second.astype(np.float64)
    length_a, length_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not (np.isfinite(length_a) and np.isfinite(length_b)) or not length_a or not length_b:
        raise VoiceFileError(
            "One of the two voices is empty: its embedding has no length.",
            "Make it again from its recording.",
        )
    a, b = a / length_a, b / length_b
    # atan2 of chord and sum is exact for small angles too, unlike acos of the dot product.
    angle = 2 * float(np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))
    if np.pi - angle < PARALLEL:
        raise VoiceFileError(
            "The two voices are exact opposites, so there is nothing between them.",
            "Choose another pair.",
        )
    if angle < PARALLEL:
        direction = (1 - amount) * a + amount * b
    else:
        direction = (np.sin((1 - amount) * angle) * a + np.sin(amount * angle) * b) / np.sin(angle)
    length = (1 - amount) * length_a + amount * length_b
    return (length * direction).astype(np.float32)


def blend_voices(
    first: LibraryVoice, second: LibraryVoice, amount: float, name: str
) -> tuple[VoiceDetails, VoiceParts]:
    """The voice `name` that is `amount` (0..1) of the way from the first to the second.

    It has every width that both have, and no codes: those are a recording of one person.
    Raises VoiceWidthError if they share no width, VoiceFileError.
    """
    widths = sorted(set(first.files.widths) & set(second.files.widths))
    if not widths:
        raise VoiceWidthError(
            f"{first.name!r} and {second.name!r} were made for models of different sizes, "
            "so there is nothing between them.",
            "Make one of them again from its saved clip with the other model.",
            can_be_remade=bool(first.recording or second.recording),
        )
    embeddings = tuple(
        blend_embeddings(
            read_embedding(first.folder / embedding_name(width), width),
            read_embedding(second.folder / embedding_name(width), width),
            amount,
        )
        for width in widths
    )
    shared = first.details.language == second.details.language
    details = replace(
        VoiceDetails(name, VoiceKind.BLEND),
        consent=_joint_consent(first.details.consent, second.details.consent),
        origin=Origin(
            parents=(first.id, second.id),
            parent_names=(first.name, second.name),
            amount=amount,
        ),
    )
    if shared:
        details = replace(details, language=first.details.language)
    return details, VoiceParts(embeddings=embeddings)


def _joint_consent(first: Consent | None, second: Consent | None) -> Consent | None:
    """Both, since a blend holds something of both people."""
    given = [consent for consent in (first, second) if consent is not None]
    if len(given) < 2 or given[0] == given[1]:
        return given[0] if given else None
    return Consent(
        text="\n".join(f"{consent.name}: {consent.text}" for consent in given),
        name=", ".join(consent.name for consent in given),
        date=max(consent.date for consent in given),
    )
