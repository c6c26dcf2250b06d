"""Compiles the decode step for every instruction set; run by the package's build, or by hand.

Standard library only, and imports nothing of the engine: a build has no other packages.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER / "source"
SUFFIX = ".dll" if sys.platform == "win32" else ".so"

X86, ARM = "x86_64", "aarch64"
MACHINES: Mapping[str, str] = MappingProxyType(
    {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}
)

VARIANTS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        X86: {
            "avx512-vnni": (
                *("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni"),
                *("-mavx2", "-mf16c"),
            ),
            "avx-vnni": ("-mavx2", "-mf16c", "-mavxvnni"),
            "avx2": ("-mavx2", "-mf16c"),
            "plain": (),
        },
        ARM: {"arm-dotprod": ("-march=armv8.2-a+dotprod",), "plain": ()},
    }
)
"""Instruction sets by machine, the fastest first, with the compiler's options for each."""

# Without contraction every instruction set rounds alike, so that they all give the same bits.
OPTIONS = (
    *("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread"),
    *("-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi"),
)


@dataclass(frozen=True)
class Built:
    """What a build made, and why the rest is missing."""

    libraries: tuple[Path, ...]
    problems: tuple[str, ...]


def variants() -> Mapping[str, tuple[str, ...]]:
    """The instruction sets of this kind of machine, the fastest first."""
    return VARIANTS.get(MACHINES.get(platform.machine().lower(), ""), {"plain": ()})


def library_path(name: str, folder: Path = FOLDER) -> Path:
    """Where the library of an instruction set lies."""
    return folder / f"step-{name}{SUFFIX}"


def find_compiler() -> str | None:
    """The C++ compiler to use: what CXX names, else g++ or clang++."""
    named = os.environ.get("CXX")
    names = [named] if named else ["g++", "clang++", "c++"]
    return next((found for name in names if (found := shutil.which(name))), None)


def build(folder: Path = FOLDER) -> Built:
    """Compile what is missing or older than its source into `folder`; nothing here raises.

    Without a compiler, or where it fails, the engine runs on torch alone.
    """
    newest = max(path.stat().st_mtime for path in (*SOURCES.iterdir(), Path(__file__)))
    targets = {name: library_path(name, folder) for name in variants()}
    outdated = [
        name
        for name, path in targets.items()
        if not path.is_file() or path.stat().st_mtime <= newest
    ]
    compiler = find_compiler() if outdated else None
    problems = []
    if outdated and compiler is None:
        problems.append("there is no C++ compiler (g++ or clang++)")
    elif compiler is not None:
        for name in outdated:
            complaint = _compile(compiler, variants()[name], targets[name])
            if complaint:
                problems.append(f"{name}: {complaint}")
    present = tuple(path for path in targets.values() if path.is_file())
    return Built(present, tuple(problems))


def _compile(compiler: str, options: tuple[str, ...], target: Path) -> str:
    """Compile one library, which appears whole or not at all; the complaint, or nothing."""
    try:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            command = [compiler, *OPTIONS, *options, str(SOURCES / "step.cpp"), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines()
                errors = [line for line in lines if "error" in line]
                return next(iter([*errors, *lines]), f"{compiler} failed")
            os.replace(made, target)
    except OSError as error:
        return str(error)
    return ""


def main() -> int:
    """Build beside this file and tell what was made."""
    built = build()
    for path in built.libraries:
        sys.stdout.write(f"{path}\n")
    for problem in built.problems:
        sys.stderr.write(f"not built: {problem}\n")
    return 0 if built.libraries else 1


if __name__ == "__main__":
    sys.exit(main())
