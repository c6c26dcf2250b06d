"""The set-up installs what is asked for, once; broken off it begins afresh; failing it says why."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import bootstrap
from bootstrap import ALWAYS, STUDIO, TEST, SetupError, SystemPart

ROOT = Path(__file__).resolve().parents[2]
ABSENT = SystemPart("libnowhere.so.1", ("libnowhere1t64", "libnowhere1"), (ALWAYS,))


class FakeSetup:
    """Stands for `python -m venv` and pip: an environment is a file that holds its version."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = bootstrap.program(root / ".venv", "python")
        self.done: list[str] = []
        self.version = "3 12"
        self.pip_fails: type[BaseException] | None = None
        (root / "pyproject.toml").write_text("[project]\n")
        (root / "constraints.txt").write_text("numpy==2.4.6\n")

    def run(self, command: Sequence[str], cwd: Path | None = None) -> int:
        assert list(command[1:]) == ["-m", "venv", str(self.root / ".venv")]
        self.done.append("environment")
        self.python.parent.mkdir(parents=True)
        self.python.write_text(self.version)
        return 0

    def install_packages(self, root: Path, *, testing: bool) -> None:
        assert root == self.root
        self.done.append("packages and tools" if testing else "packages")
        if self.pip_fails is not None:
            raise self.pip_fails

    def python_version(self, python: Path) -> tuple[int, int] | None:
        assert python == self.python
        if not python.is_file():
            return None
        major, minor = python.read_text().split()
        return int(major), int(minor)

    def set_up(self, *, testing: bool = False) -> list[str]:
        """What one set-up did."""
        self.done.clear()
        bootstrap.set_up(self.root, testing=testing)
        return list(self.done)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSetup:
    root = tmp_path / "repository with spaces"
    root.mkdir()
    fake = FakeSetup(root)
    monkeypatch.setattr(bootstrap, "run", fake.run)
    monkeypatch.setattr(bootstrap, "install_packages", fake.install_packages)
    monkeypatch.setattr(bootstrap, "python_version", fake.python_version)
    return fake


def test_first_set_up_makes_everything_and_the_next_nothing(setup: FakeSetup) -> None:
    assert setup.set_up() == ["environment", "packages"]
    assert setup.set_up() == []


def test_only_the_tests_bring_their_tools(setup: FakeSetup) -> None:
    assert setup.set_up() == ["environment", "packages"]
    assert setup.set_up(testing=True) == ["packages and tools"]
    assert setup.set_up(testing=True) == []
    assert setup.set_up() == []
    (setup.root / "constraints.txt").write_text("numpy==2.4.7\n")
    assert setup.set_up() == ["packages"]
    assert setup.set_up(testing=True) == ["packages and tools"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_input_installs_into_the_same_environment(setup: FakeSetup, name: str) -> None:
    setup.set_up()
    with (setup.root / name).open("a") as file:
        file.write("# changed\n")
    assert setup.set_up() == ["packages"]
    assert setup.set_up() == []


@pytest.mark.parametrize("interruption", [SetupError, KeyboardInterrupt])
def test_a_set_up_that_was_broken_off_is_begun_afresh(
    setup: FakeSetup, interruption: type[BaseException]
) -> None:
    setup.pip_fails = interruption
    with pytest.raises(interruption):
        setup.set_up()
    half_a_package = setup.root / ".venv" / "lib" / "torch"
    half_a_package.mkdir(parents=True)
    setup.pip_fails = None
    assert setup.set_up() == ["environment", "packages"]
    assert not half_a_package.exists()
    assert setup.set_up() == []


def test_an_environment_without_its_python_is_made_anew(setup: FakeSetup) -> None:
    setup.set_up()
    setup.python.unlink()
    assert setup.set_up() == ["environment", "packages"]


def test_an_environment_whose_python_was_exchanged_is_made_anew(setup: FakeSetup) -> None:
    setup.set_up()
    setup.python.write_text("3 13")
    setup.version = "3 13"
    assert setup.set_up() == ["environment", "packages"]


def test_an_environment_that_was_moved_is_made_anew(setup: FakeSetup, tmp_path: Path) -> None:
    setup.set_up()
    setup.root = setup.root.rename(tmp_path / "elsewhere")
    setup.python = bootstrap.program(setup.root / ".venv", "python")
    assert setup.set_up() == ["environment", "packages"]


def test_an_environment_made_by_hand_is_kept(setup: FakeSetup) -> None:
    setup.python.parent.mkdir(parents=True)
    setup.python.write_text("3 11")
    assert setup.set_up() == ["packages"]


def test_an_environment_with_an_old_python_is_replaced(setup: FakeSetup) -> None:
    setup.python.parent.mkdir(parents=True)
    setup.python.write_text("3 10")
    assert setup.set_up() == ["environment", "packages"]


def test_python_version_of_a_real_and_of_no_interpreter(tmp_path: Path) -> None:
    assert bootstrap.python_version(Path(sys.executable)) == sys.version_info[:2]
    assert bootstrap.python_version(tmp_path / "python") is None


def test_one_set_up_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "stamp"
    code = (
        "import sys, pathlib, bootstrap\n"
        "with bootstrap.locked(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read(1)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with path.open("a+") as file, pytest.raises(OSError):  # noqa: PT011 - the system words it
            bootstrap.lock(file, wait=False)
        other.stdin.write("x")
        other.stdin.flush()
        with bootstrap.locked(path) as file:
            assert file.read() == ""
    assert other.returncode == 0


def test_missing_parts_without_root_give_the_line_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "is_root", lambda: False)
    monkeypatch.setattr(bootstrap, "known_package", lambda part: part.packages[0])
    with pytest.raises(SetupError, match=r"libnowhere\.so\.1.*: sudo apt-get install libnowhere1t"):
        bootstrap.install_system_parts(STUDIO, [ABSENT])


def test_missing_parts_without_apt_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SetupError, match=r"libnowhere\.so\.1 \(on Debian: libnowhere1\)"):
        bootstrap.install_system_parts(STUDIO, [ABSENT])


@pytest.mark.parametrize(
    ("failing", "complaint"), [("", None), ("update", "online"), ("install", "libnowhere1")]
)
def test_root_installs_missing_parts_with_apt(
    monkeypatch: pytest.MonkeyPatch, failing: str, complaint: str | None
) -> None:
    commands = []

    def run(command: Sequence[str], cwd: Path | None = None) -> int:
        commands.append(list(command))
        return int(command[1] == failing)

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "is_root", lambda: True)
    monkeypatch.setattr(bootstrap, "known_package", lambda part: part.packages[-1])
    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setenv("DEBIAN_FRONTEND", "dialog")  # so that the change is undone afterwards
    if complaint is None:
        bootstrap.install_system_parts(TEST, [ABSENT])
        assert [command[1] for command in commands] == ["update", "install"]
        assert commands[1][-1] == "libnowhere1"
    else:
        with pytest.raises(SetupError, match=complaint):
            bootstrap.install_system_parts(TEST, [ABSENT])


def test_only_the_parts_of_the_purpose_are_looked_for() -> None:
    window_part = SystemPart("libnowhere.so.1", ("libnowhere1",), (STUDIO,))
    present_part = SystemPart(sys.executable, ("python3",), (ALWAYS,))
    bootstrap.install_system_parts(TEST, [window_part, present_part])
    assert not window_part.is_present()
    assert present_part.is_present()


@pytest.mark.parametrize("purpose", [STUDIO, TEST])
def test_a_part_may_serve_several_commands(monkeypatch: pytest.MonkeyPatch, purpose: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    part = SystemPart("libnowhere.so.1", ("libnowhere1",), (STUDIO, TEST))
    bootstrap.install_system_parts(ALWAYS, [part])
    with pytest.raises(SetupError, match="libnowhere1"):
        bootstrap.install_system_parts(purpose, [part])


@pytest.mark.parametrize(
    ("arguments", "purpose"),
    [
        ([], STUDIO),
        (["--home", "here", "--null-audio"], STUDIO),
        (["--help"], ALWAYS),
        (["say", "Hello"], ALWAYS),
        (["test"], TEST),
    ],
)
def test_what_the_window_needs_is_looked_for_when_it_opens(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], purpose: str
) -> None:
    asked: list[str] = []
    tools: list[bool] = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(bootstrap, "install_system_parts", asked.append)
    monkeypatch.setattr(bootstrap, "set_up", lambda root, testing: tools.append(testing))
    monkeypatch.setattr(bootstrap, "open_studio", lambda root, arguments: 0)
    monkeypatch.setattr(bootstrap, "run_checks", lambda root, arguments: 0)
    assert bootstrap.main(arguments) == 0
    assert asked == [purpose]
    assert tools == [purpose == TEST]


@pytest.mark.parametrize(
    ("complaints", "cause"),
    [
        ("WARNING: Retrying ... NewConnectionError('...: [Errno 101]')", "cannot be reached"),
        ("SSLError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed')", "PIP_CERT"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for torch==0", "reasons stand above"),
    ],
)
def test_the_common_causes_of_pips_complaints_are_explained(complaints: str, cause: str) -> None:
    assert cause in bootstrap.explain(complaints)


@pytest.mark.parametrize(
    ("arguments", "failing", "ran", "status"),
    [
        ([], "", ["ruff", "ruff", "mypy", "lint-imports", "pytest"], 0),
        ([], "mypy", ["ruff", "ruff", "mypy", "lint-imports", "pytest"], 1),
        (["-k", "rope"], "", ["pytest", "-k", "rope"], 0),
    ],
)
def test_every_check_runs_and_any_failure_counts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    failing: str,
    ran: list[str],
    status: int,
) -> None:
    words: list[str] = []

    def run(command: Sequence[str], cwd: Path | None = None) -> int:
        assert cwd == ROOT
        name = Path(command[0]).stem
        words.extend([name, *(word for word in command[1:] if word in arguments)])
        return 2 if name == failing else 0

    monkeypatch.setattr(bootstrap, "run", run)
    assert bootstrap.run_checks(ROOT, arguments) == status
    assert words == ran
    assert ("FAILED (exit status 2)" in capsys.readouterr().out) == bool(failing)


def test_an_old_python_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST_PYTHON", (99, 0))
    assert bootstrap.main([]) == 1
    assert "needs Python" in capsys.readouterr().out


def test_an_old_python_can_read_the_script() -> None:
    source = (ROOT / "bootstrap.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))


def test_every_requirement_is_pinned_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    for requirement in map(Requirement, wanted):
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        pinned = {re.sub(r"[-_.]+", "-", key): value for key, value in pins.items()}[name]
        assert requirement.specifier.contains(pinned), requirement


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_pip_is_at_is_shown(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    bootstrap.tell_steps(
        [
            "Obtaining file:///home/me/studio\n",
            "Collecting numpy==2.4.6 (from -c constraints.txt (line 3))\n",
            "  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl.metadata (6.6 kB)\n",
            "Collecting torch==2.13.0\n",
            "  Using cached https://host/simple/torch-2.13.0-cp311-cp311-linux.whl (899.1 MB)\n",
            "Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)\n",
            "Installing collected packages: numpy, torch, voice-studio\n",
            "Successfully installed numpy-2.4.6 torch-2.13.0\n",
        ]
    )
    assert capsys.readouterr().out.splitlines() == [
        *([".."] if is_terminal else []),
        "  torch 2.13.0, 899.1 MB",
        "  numpy 2.4.6, 16.9 MB",
        "Putting 3 packages in place. This takes a minute or two.",
    ]


def test_a_failing_pip_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\necho Collecting numpy\necho No space left on device >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(bootstrap, "program", lambda venv, name: pip)
    with pytest.raises(SetupError, match="The disk is full"):
        bootstrap.install_packages(tmp_path, testing=False)
    told = capsys.readouterr()
    assert "Installing packages" in told.out
    assert "No space left on device" in told.err


def test_the_command_is_named_as_it_is_typed_in_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "my studio"
    root.mkdir()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(tmp_path)
    assert bootstrap.command_of(root) == f"'{root / 'studio'}'"
    monkeypatch.chdir(root)
    assert bootstrap.command_of(root) == "./studio"
    monkeypatch.setattr(sys, "platform", "win32")
    assert bootstrap.command_of(root) == "py bootstrap.py"
