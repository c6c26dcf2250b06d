"""Compiles the engine's decode step when the package is built or installed for editing.

It is optional: without a C++ compiler the package is made all the same, and runs on torch alone.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # of the build alone


class NativeBuildHook(BuildHookInterface):
    """Adds the compiled libraries to a wheel; an editable install finds them in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the files."""
        built = _build_script(Path(self.root)).build()
        for problem in built.problems:
            self.app.display_warning(f"The native decode step is not built: {problem}.")
        if built.libraries:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["artifacts"] += ["/engine/native/step-*"]
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"


def _build_script(root: Path) -> ModuleType:
    """The engine's own script; by its path, as the engine cannot be imported in a build."""
    path = root / "engine" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("native_build", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
