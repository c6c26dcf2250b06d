"""How models and devices are named to people, wherever they are."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from app.core.models import is_demo
from app.studio.models import ModelState
from engine import Family, ModelDescription

FAMILY_NAMES: Final = MappingProxyType(
    {
        Family.BASE: "Base",
        Family.CUSTOM_VOICE: "CustomVoice",
        Family.VOICE_DESIGN: "VoiceDesign",
    }
)
"""What the families are called in the names of the published models."""

_DEMO_NAMES: Final = MappingProxyType(
    {Family.BASE: "clones", Family.CUSTOM_VOICE: "voice", Family.VOICE_DESIGN: "designs"}
)

DEVICES: Final = MappingProxyType(
    {"auto": "automatic", "cpu": "CPU", "cuda": "CUDA", "mps": "Apple GPU"}
)


def short_name(description: ModelDescription) -> str:
    """Size and family: "0.6B Base"."""
    if is_demo(description):
        return f"Demonstration {_DEMO_NAMES[description.family]}"
    return f"{description.size} {FAMILY_NAMES[description.family]}"


def device_name(device: str) -> str:
    """A device as people write it: "CUDA 1" for `cuda:1`."""
    kind, _, number = device.partition(":")
    name = DEVICES.get(kind, kind)
    return f"{name} {number}" if number else name


def speed_text(speed: float) -> str:
    """How fast speech is made, measured, with a multiplication sign."""
    digits = 2 if speed < 0.95 else 1 if speed < 9.95 else 0
    return f"{speed:.{digits}f}\N{MULTIPLICATION SIGN} real time"


def loading_sentence(state: ModelState) -> str:
    """What is being loaded, and how far it is: "Loading 0.6B Base: 0.40 of 1.02 GB"."""
    name = short_name(state.description) if state.description is not None else "the model"
    if state.total <= 0:
        return f"Loading {name}"
    return f"Loading {name}: {state.done / 1e9:.2f} of {state.total / 1e9:.2f} GB"
