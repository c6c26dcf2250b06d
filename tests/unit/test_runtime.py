"""Devices and precisions by name, and what cannot be used here."""

from __future__ import annotations

import pytest
import torch

from engine import DeviceError
from engine.runtime import choose_runtime, memory_errors


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


def test_runtimes_tell_their_precision() -> None:
    assert choose_runtime("cpu").precision == "f32"
    assert choose_runtime("cpu", "bf16").precision == "bf16"


@pytest.mark.parametrize(("capability", "dtype"), [(7, torch.float32), (9, torch.bfloat16)])
def test_only_gpus_that_compute_in_bfloat16_run_in_it_unasked(
    monkeypatch: pytest.MonkeyPatch, capability: int, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (capability, 0))
    assert choose_runtime("cuda:0").dtype is dtype
    assert choose_runtime("cuda:0", "bf16").dtype is torch.bfloat16


def test_what_does_not_fit_into_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError), memory_errors():
        torch.empty(1 << 60, dtype=torch.uint8)
    with pytest.raises(MemoryError), memory_errors():
        raise torch.OutOfMemoryError("CUDA out of memory.")
    with pytest.raises(RuntimeError, match="shapes"), memory_errors():
        torch.ones(2, 3) @ torch.ones(2, 3)
