"""The studio starts again as the same command, with the size that was chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTED_AGAIN = """
import os
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from app import main
from app.core import paths

home = Path(sys.argv[1])
paths.demo_folder = lambda: home / "no-demo"
sizes = home / "sizes.txt"

class Window(main.MainWindow):
    def showEvent(self, event):
        super().showEvent(event)
        with sizes.open("a") as file:
            file.write(os.environ.get("QT_SCALE_FACTOR", "usual") + "\\n")
        QTimer.singleShot(0, self.act)

    def act(self):
        count = len(sizes.read_text().splitlines())
        if count < 3:
            self._studio.preferences.update(scale=(1.25, 1.0)[count - 1])
            self._studio.restart()
        else:
            self.close()

home.mkdir(exist_ok=True)
main.MainWindow = Window
sys.exit(main.run_studio(home, null_audio=True))
"""


@pytest.mark.usefixtures("studio_home")
def test_a_restart_brings_the_new_size_and_the_same_session(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    environment.pop("QT_SCALE_FACTOR", None)
    done = subprocess.run(
        [sys.executable, "-c", STARTED_AGAIN, str(home)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (home / "sizes.txt").read_text().splitlines() == ["usual", "1.25", "usual"]
    assert len(list((home / "data" / "sessions").iterdir())) == 1
    assert "ERROR" not in (home / "log" / "studio.log").read_text(encoding="utf-8")
