"""Importing the public packages must stay cheap: torch alone takes seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["engine", "app", "app.__main__"])
def test_import_leaves_torch_unloaded(package: str) -> None:
    code = f"import sys, {package}; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert package.partition(".")[0] in loaded
    assert "torch" not in loaded


def test_the_controllers_need_neither_widgets_nor_torch() -> None:
    code = (
        "import sys, pkgutil, importlib, app.jobs, app.studio\n"
        "for package in (app.jobs, app.studio):\n"
        "    for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "app.studio.models" in loaded
    assert not {"torch", "PySide6.QtGui", "PySide6.QtWidgets", "sounddevice"} & set(loaded)
