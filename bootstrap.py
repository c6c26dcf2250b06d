"""Brings a bare Python to a running studio: `./studio` comes here, on Windows `py bootstrap.py`.

Standard library only, and readable by Pythons that are too old to run the rest, so that those get
a sentence instead of a syntax error. The environment lives in `.venv` beside this file.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent
OLDEST_PYTHON = (3, 11)

# What asks for system parts: every command, the studio's window, the tests.
ALWAYS, STUDIO, TEST = "always", "studio", "test"

CHECKS = (
    ("lint", ("ruff", "check", ".")),
    ("format", ("ruff", "format", "--check", ".")),
    ("types", ("mypy",)),
    ("imports", ("lint-imports",)),
    ("tests", ("pytest",)),
)


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


@dataclass(frozen=True)
class SystemPart:
    """A library (by soname), program or file (by path) that no Python package brings on Linux."""

    name: str
    packages: tuple[str, ...]  # Debian's and Ubuntu's names for it, newest first
    purposes: tuple[str, ...]  # ALWAYS, or the commands that need it

    def is_present(self) -> bool:
        """Whether the loader finds the library, PATH the program, or the pattern a file."""
        if self.name.startswith("/"):
            return any(Path("/").glob(self.name[1:]))
        if ".so" not in self.name:
            return shutil.which(self.name) is not None
        try:
            ctypes.CDLL(self.name)
        except OSError:
            return False
        return True


# Both draw widgets and play sound: the tests without a screen, into a sound server of their own.
BOTH = (STUDIO, TEST)
SYSTEM_PARTS = (
    SystemPart("libstdc++.so.6", ("libstdc++6",), (ALWAYS,)),
    SystemPart("libEGL.so.1", ("libegl1",), BOTH),
    SystemPart("libGL.so.1", ("libgl1",), BOTH),
    SystemPart("libX11.so.6", ("libx11-6",), BOTH),
    SystemPart("libxkbcommon.so.0", ("libxkbcommon0",), BOTH),
    SystemPart("libfontconfig.so.1", ("libfontconfig1",), BOTH),
    SystemPart("libfreetype.so.6", ("libfreetype6",), BOTH),
    SystemPart("libdbus-1.so.3", ("libdbus-1-3",), BOTH),
    SystemPart("libglib-2.0.so.0", ("libglib2.0-0t64", "libglib2.0-0"), BOTH),
    SystemPart("libz.so.1", ("zlib1g",), BOTH),
    SystemPart("/usr/share/fonts/**/*.[to]tf", ("fonts-dejavu-core",), BOTH),
    SystemPart("libportaudio.so.2", ("libportaudio2",), BOTH),
    SystemPart("/usr/lib/*/alsa-lib/libasound_module_pcm_pulse.so", ("libasound2-plugins",), BOTH),
    # What Qt draws with on X11, and on Wayland where it falls back to X11.
    SystemPart("libX11-xcb.so.1", ("libx11-xcb1",), (STUDIO,)),
    SystemPart("libxkbcommon-x11.so.0", ("libxkbcommon-x11-0",), (STUDIO,)),
    SystemPart("libxcb.so.1", ("libxcb1",), (STUDIO,)),
    SystemPart("libxcb-cursor.so.0", ("libxcb-cursor0",), (STUDIO,)),
    SystemPart("libxcb-icccm.so.4", ("libxcb-icccm4",), (STUDIO,)),
    SystemPart("libxcb-image.so.0", ("libxcb-image0",), (STUDIO,)),
    SystemPart("libxcb-keysyms.so.1", ("libxcb-keysyms1",), (STUDIO,)),
    SystemPart("libxcb-randr.so.0", ("libxcb-randr0",), (STUDIO,)),
    SystemPart("libxcb-render.so.0", ("libxcb-render0",), (STUDIO,)),
    SystemPart("libxcb-render-util.so.0", ("libxcb-render-util0",), (STUDIO,)),
    SystemPart("libxcb-shape.so.0", ("libxcb-shape0",), (STUDIO,)),
    SystemPart("libxcb-shm.so.0", ("libxcb-shm0",), (STUDIO,)),
    SystemPart("libxcb-sync.so.1", ("libxcb-sync1",), (STUDIO,)),
    SystemPart("libxcb-util.so.1", ("libxcb-util1",), (STUDIO,)),
    SystemPart("libxcb-xfixes.so.0", ("libxcb-xfixes0",), (STUDIO,)),
    SystemPart("libxcb-xkb.so.1", ("libxcb-xkb1",), (STUDIO,)),
    SystemPart("pulseaudio", ("pulseaudio",), (TEST,)),
    SystemPart("pactl", ("pulseaudio-utils",), (TEST,)),
)


def say(text: str) -> None:
    """Print a line at once, also where the output is a file."""
    print(text, flush=True)


def run(command: Sequence[str], cwd: Path | None = None) -> int:
    """Run a program to its end with our own input and output; return its exit status."""
    return subprocess.run(command, cwd=cwd, check=False).returncode


# --- system libraries ---


def install_system_parts(purpose: str, parts: Sequence[SystemPart] = SYSTEM_PARTS) -> None:
    """Install what `purpose` lacks with apt as root.

    Raises:
        SetupError: something is missing and may not or cannot be installed from here.
    """
    wanted = {ALWAYS, purpose}
    missing = [part for part in parts if wanted & set(part.purposes) and not part.is_present()]
    if not missing:
        return
    names = ", ".join(part.name for part in missing)
    if shutil.which("apt-get") is None:
        packages = " ".join(part.packages[-1] for part in missing)
        raise SetupError(f"Missing on this system: {names} (on Debian: {packages}). Install them.")
    if not is_root():
        packages = " ".join(known_package(part) for part in missing)
        raise SetupError(f"Missing on this system: {names}. Run: sudo apt-get install {packages}")
    say(f"Installing what this system lacks: {names}")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    if run(["apt-get", "update", "-qq"]) != 0:
        raise SetupError("apt-get update failed: is this machine online?")
    packages = " ".join(known_package(part) for part in missing)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages.split()]
    if run(command) != 0:
        raise SetupError(f"apt-get could not install: {packages}")


def known_package(part: SystemPart) -> str:
    """The name that this release has for the package (libasound2 became libasound2t64)."""
    for name in part.packages[:-1]:
        answer = subprocess.run(["apt-cache", "show", name], capture_output=True, check=False)
        if answer.returncode == 0:
            return name
    return part.packages[-1]


def is_root() -> bool:
    """Whether apt may be used."""
    return sys.platform != "win32" and os.geteuid() == 0


# --- the environment ---

STAMP = "studio-setup.txt"
UNFINISHED = "unfinished\n"
TOOLS = "test\n"  # the last line of the stamp where the tools of the tests are installed too


def program(venv: Path, name: str) -> Path:
    """Where an environment keeps a program."""
    if sys.platform == "win32":
        return venv / "Scripts" / f"{name}.exe"
    return venv / "bin" / name


def python_version(python: Path) -> tuple[int, int] | None:
    """What the interpreter says of itself, None if it cannot be run any more."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([str(python), "-c", code], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)


def home_of(root: Path, version: tuple[int, int] | None) -> str:
    """An environment is bound to its folder and its Python: after a move it is made anew."""
    return f"{root} {version}\n"


def state_of(root: Path, *, testing: bool) -> str:
    """What the stamp says once everything that is asked for now is installed."""
    inputs = hashlib.sha256()
    named = [root / name for name in ("pyproject.toml", "constraints.txt")]
    compiled = sorted((root / "engine" / "native" / "source").glob("*"))
    for path in (*named, *compiled):
        inputs.update(path.read_bytes())
    version = python_version(program(root / ".venv", "python"))
    state = home_of(root, version) + inputs.hexdigest() + "\n"
    return state + TOOLS if testing else state


def holds(found: str, state: str) -> bool:
    """Whether a stamp tells of all that `state` asks for; the tools of the tests harm nobody."""
    return found in (state, state + TOOLS)


def set_up(root: Path, *, testing: bool) -> None:
    """Make `root/.venv` hold what pyproject.toml asks for, in the versions of constraints.txt.

    The tools of the tests are part of it only when `testing`. Does nothing when the last set-up
    was for the same. One that was broken off is begun afresh: pip would take half a package for a
    whole one.

    Raises:
        SetupError: a step failed; running the same command again is safe.
    """
    venv = root / ".venv"
    stamp = venv / STAMP
    if stamp.is_file() and holds(stamp.read_text(), state_of(root, testing=testing)):
        return
    venv.mkdir(exist_ok=True)
    with locked(stamp) as file:
        found = file.read()
        if holds(found, state_of(root, testing=testing)):  # the set-up that we waited for did it
            return
        version = python_version(program(venv, "python"))
        usable = version is not None and version >= OLDEST_PYTHON
        replace(file, UNFINISHED)
        if not usable or (found and not found.startswith(home_of(root, version))):
            make_environment(venv)
        install_packages(root, testing=testing)
        replace(file, state_of(root, testing=testing))
    say("Set-up finished.")


def make_environment(venv: Path) -> None:
    """Empty the folder, but for the stamp that is held open, and put a new environment there."""
    say(f"Making a Python environment in {venv}")
    for path in venv.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != STAMP:
            path.unlink()
    if run([sys.executable, "-m", "venv", str(venv)]) != 0:
        raise SetupError(
            f"{sys.executable} could not make a virtual environment. "
            "On Debian and Ubuntu run: sudo apt-get install python3-venv"
        )


def install_packages(root: Path, *, testing: bool) -> None:
    """Let pip bring in every package; if it fails, its complaints are shown and explained."""
    say("Installing packages. The first time this takes minutes.")
    command = [str(program(root / ".venv", "python")), "-m", "pip", "install"]
    command += ["--disable-pip-version-check", "--no-warn-script-location"]
    command += ["-c", "constraints.txt", "-e", ".[test]" if testing else "."]
    # A user's PIP_USER would make pip refuse to install into an environment.
    environment = {**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        pip = subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            errors="replace",
        )
        with pip:
            tell_steps(pip.stdout or ())
        complaints.seek(0)
        told = complaints.read()
    if pip.returncode != 0:
        sys.stderr.write(told)
        raise SetupError(f"{explain(told)} Then run the same command again.")


def tell_steps(lines: Iterable[str]) -> None:
    """Show what pip is at: a dot per package that it looks up, a line per one that it fetches."""
    dots = False
    for line in lines:
        step = step_of(line)
        if step == ".":
            if not sys.stdout.isatty():  # in a file, dots would make a line each
                continue
            print(step, end="", flush=True)
        elif step:
            say(f"\n{step}" if dots else step)
        dots = step == "." or (dots and not step)
    if dots:
        say("")


def step_of(line: str) -> str:
    """A line of pip in the words of the set-up: "." for one more package, "" for no news."""
    words = line.split()
    if words[:1] == ["Collecting"]:
        return "."
    if words[:1] == ["Downloading"] or words[:2] == ["Using", "cached"]:
        file, _, rest = line.strip().removeprefix("Downloading ").partition(" (")
        name = file.removeprefix("Using cached ").rpartition("/")[2]
        if name.endswith(".metadata"):
            return ""
        size = f", {rest.partition(')')[0]}" if rest else ""
        return f"  {' '.join(name.split('-')[:2])}{size}"
    if words[:3] == ["Installing", "collected", "packages:"]:
        return f"Putting {len(words) - 3} packages in place. This takes a minute or two."
    return ""


def explain(complaints: str) -> str:
    """The cause behind pip's complaints, as far as they tell."""
    if "No space left on device" in complaints:
        return "The disk is full. Make room for the packages (up to 8 GB with CUDA)."
    if "CERTIFICATE_VERIFY_FAILED" in complaints:
        return "The registry's certificate is not trusted here. Name your network's with PIP_CERT."
    signs = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError")
    if any(sign in complaints for sign in signs):
        return "The package registry cannot be reached. Go online, or set pip's proxy or index."
    return "pip could not install the packages; its reasons stand above. Mend what it names."


@contextlib.contextmanager
def locked(path: Path) -> Iterator[IO[str]]:
    """Open a text file that one process at a time may hold; others wait, saying so."""
    with path.open("a+") as file:
        file.seek(0)
        try:
            lock(file, wait=False)
        except OSError:
            say("Another set-up is at work in this folder; waiting for it to end.")
            lock(file, wait=True)
        yield file


if sys.platform == "win32":
    import msvcrt

    def lock(file: IO[str], *, wait: bool) -> None:
        """Lock the file until it is closed; OSError when another process holds it."""
        # A byte far behind the content: Windows keeps others from reading what is locked.
        os.lseek(file.fileno(), 1 << 30, os.SEEK_SET)
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                break
            except OSError:  # LK_LOCK gives up after ten seconds
                if not wait:
                    raise
        os.lseek(file.fileno(), 0, os.SEEK_SET)

else:
    import fcntl

    def lock(file: IO[str], *, wait: bool) -> None:
        """Lock the file until it is closed; OSError when another process holds it."""
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def replace(file: IO[str], text: str) -> None:
    """Let the open file hold this text only."""
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()


# --- what was asked for ---


def run_checks(root: Path, pytest_arguments: Sequence[str]) -> int:
    """Run every check, also after one has failed; with arguments only pytest, which gets them."""
    results = []
    for name, command in CHECKS[-1:] if pytest_arguments else CHECKS:
        say(f"--- {name}: {' '.join(command)}")
        executable = str(program(root / ".venv", command[0]))
        status = run([executable, *command[1:], *pytest_arguments], cwd=root)
        results.append((name, status))
    say("--- summary")
    for name, status in results:
        say(f"{name:8} {'ok' if status == 0 else f'FAILED (exit status {status})'}")
    return int(any(status != 0 for _, status in results))


def opens_window(arguments: Sequence[str]) -> bool:
    """Whether the studio's command shows its window: it has no word, and no question either."""
    told = {"-h", "--help", "--version"}
    return not arguments or (arguments[0].startswith("-") and not told & set(arguments))


def command_of(root: Path) -> str:
    """What people type in this folder to come here."""
    there = Path.cwd() == root
    if sys.platform == "win32":
        script = "bootstrap.py" if there else str(root / "bootstrap.py")
        return subprocess.list2cmdline(["py", script])
    return "./studio" if there else shlex.quote(str(root / "studio"))


def open_studio(root: Path, arguments: Sequence[str]) -> int:
    """Become the studio's own command, in the folder that the user is in."""
    executable = str(program(root / ".venv", "voice-studio"))
    os.environ["STUDIO_COMMAND"] = command_of(root)  # its help and hints name what was typed
    if sys.platform != "win32":  # where exec would give the prompt back at once
        os.execv(executable, [executable, *arguments])
    return run([executable, *arguments])


def main(arguments: Sequence[str]) -> int:
    """Set up what is missing, then do what the arguments ask for."""
    if sys.version_info < OLDEST_PYTHON:
        say(f"The studio needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
        return 1
    testing = list(arguments[:1]) == ["test"]
    purpose = TEST if testing else STUDIO if opens_window(arguments) else ALWAYS
    try:
        if sys.platform == "linux":
            install_system_parts(purpose)
        set_up(ROOT, testing=testing)
        return run_checks(ROOT, arguments[1:]) if testing else open_studio(ROOT, arguments)
    except (SetupError, OSError) as error:
        say(f"\nSet-up stopped. {error}")
    except KeyboardInterrupt:
        say("\nStopped. The same command goes on from here.")
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
