"""Devices and precisions by name, and what cannot be used here."""

from __future__ import annotations

import pytest
import torch

from engine import DeviceError
from engine.runtime import choose_runtime


def test_precisions_by_name() -> None:
    assert choose_runtime("cpu").dtype is torch.float32
    assert choose_runtime("cpu", "f32").dtype is torch.float32
    assert choose_runtime("cpu", "bf16").dtype is torch.bfloat16
    assert choose_runtime("cpu", "bf16").full_precision().dtype is torch.float32
    assert choose_runtime().device.type in {"cpu", "cuda", "mps"}


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("toaster", "auto", "no device 'toaster'"),
        ("cpu", "f8", "no precision 'f8'"),
        ("cuda:99", "auto", "'cuda:99' cannot be used"),
        ("xla", "auto", "'xla' cannot be used"),
        ("meta", "auto", "'meta' cannot be used"),
    ],
)
def test_what_cannot_be_used_is_explained(device: str, precision: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        choose_runtime(device, precision)
    assert "Choose" in caught.value.hint
