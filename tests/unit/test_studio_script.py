"""The shell script `studio` finds or installs a Python; programs of our own stand for the system's.

Needs a POSIX shell: conftest.py leaves this file out on Windows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import PySide6
import pytest

import bootstrap
from bootstrap import ALWAYS, STUDIO, SYSTEM_PARTS, SetupError, SystemPart

ROOT = Path(__file__).resolve().parents[2]
GOOD_PYTHON = '[ "$1" = -c ] && exit 0; printf "%s|" "$0" "$@"\n'
OLD_PYTHON = "exit 1\n"


class System:
    """A PATH that holds `dirname` and whatever a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        dirname = shutil.which("dirname")
        assert dirname is not None
        (folder / "dirname").symlink_to(dirname)

    def add(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)
        return path

    def studio(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(ROOT / "studio"), *arguments],
            cwd=self.folder,
            env={"PATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path / "bin")


def test_arguments_reach_bootstrap_unchanged(system: System) -> None:
    python = system.add("python3", GOOD_PYTHON)
    result = system.studio("say", "two words", "-o", "a b.wav")
    assert result.returncode == 0
    assert result.stdout == f"{python}|{ROOT / 'bootstrap.py'}|say|two words|-o|a b.wav|"


def test_a_newer_python_beside_an_old_one_is_found(system: System) -> None:
    system.add("python3", OLD_PYTHON)
    newer = system.add("python3.12", GOOD_PYTHON)
    assert system.studio().stdout.startswith(f"{newer}|")


def test_root_gets_python_from_apt(system: System) -> None:
    system.add("id", "echo 0\n")
    later = system.add("later", GOOD_PYTHON)
    log = system.folder / "log"
    system.add(
        "apt-get",
        f'echo "$@" >>"{log}"; [ "$1" = install ] && /bin/cp "{later}" "{system.folder}/python3"\n'
        "exit 0\n",
    )
    result = system.studio("test")
    assert result.stdout.endswith("|test|")
    update, install = log.read_text().splitlines()
    assert update.startswith("update")
    assert install.split()[-2:] == ["python3", "python3-venv"]


def test_root_falls_back_to_a_versioned_package(system: System) -> None:
    system.add("id", "echo 0\n")
    later = system.add("later", GOOD_PYTHON)
    system.add(
        "apt-get",
        f'case "$*" in *python3.11*) /bin/cp "{later}" "{system.folder}/python3.11";; esac\n',
    )
    assert f"{system.folder / 'python3.11'}|" in system.studio().stdout


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("apt-get", "sudo apt-get update && sudo apt-get install python3 python3-venv"),
        ("dnf", "sudo dnf install python3"),
        ("brew", "brew install python"),
    ],
)
def test_others_get_the_line_to_run(system: System, tool: str, line: str) -> None:
    system.add("id", "echo 1000\n")
    system.add("python3", OLD_PYTHON)
    system.add(tool, "exit 1\n")
    result = system.studio("test")
    assert result.returncode == 1
    assert line in result.stderr


def test_the_newest_package_name_that_apt_knows_is_taken(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(system.folder))
    part = SystemPart("libasound.so.2", ("libasound2t64", "libasound2"), (ALWAYS,))
    system.add("apt-cache", '[ "$1 $2" = "show libasound2t64" ]\n')
    assert bootstrap.known_package(part) == "libasound2t64"
    system.add("apt-cache", "exit 100\n")
    assert bootstrap.known_package(part) == "libasound2"


@pytest.mark.parametrize(("testing", "packages"), [(False, "."), (True, ".[test]")])
def test_pip_runs_in_the_repository_and_its_failure_is_explained(
    testing: bool,
    packages: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PIP_USER", "1")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    log = tmp_path / "log"
    python.write_text(
        f'#!/bin/sh\necho "$PWD" "$PIP_USER" "$@" >"{log}"\n'
        'echo "WARNING: Retrying: NewConnectionError" >&2\nexit 1\n'
    )
    python.chmod(0o755)
    with pytest.raises(SetupError, match=r"registry cannot be reached.*run the same command again"):
        bootstrap.install_packages(tmp_path, testing=testing)
    assert "NewConnectionError" in capfd.readouterr().err
    words = log.read_text().split()
    assert words[:2] == [str(tmp_path), "0"]
    assert words[-4:] == ["-c", "constraints.txt", "-e", packages]


def test_every_library_that_qt_draws_with_is_looked_for() -> None:
    qt = Path(PySide6.__file__).parent / "Qt"
    drawing = [*qt.glob("plugins/platforms/libqxcb.so"), *qt.glob("lib/libQt6XcbQpa.so.6")]
    drawing += [*qt.glob("lib/libQt6Gui.so.6"), *qt.glob("lib/libQt6DBus.so.6")]
    names = {
        name.decode()
        for library in drawing  # none where Qt does not draw on X11
        for name in re.findall(rb"\0(lib[\w+-]+(?:\.\d+)*\.so\.\d+)(?=\0)", library.read_bytes())
    }
    # Qt brings its own; the C library and the compiler's are where Python is; libgthread is
    # glib's, and the rest are opened only if they are there.
    wanted = {
        name
        for name in names
        if not re.match(r"lib(Qt6|c\.|m\.|gcc_s|pthread|dl\.|gthread|GLESv2|icu)", name)
    }
    looked_for = {part.name for part in SYSTEM_PARTS if {ALWAYS, STUDIO} & set(part.purposes)}
    assert wanted <= looked_for
