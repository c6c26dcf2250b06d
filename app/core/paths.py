"""The one place that knows where the studio keeps things."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from app.core.resources import resource_path

APPLICATION = "voice-studio"
HOME_VARIABLE = "STUDIO_HOME"


@dataclass(frozen=True)
class StudioPaths:
    """The studio's folders; they need not exist yet."""

    config: Path
    data: Path
    log: Path
    cache: Path
    demo: Path  # the voice that comes with the studio; no folder where it was left out

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def voices(self) -> Path:
        return self.data / "voices"

    @property
    def sessions(self) -> Path:
        return self.data / "sessions"

    @property
    def transcribers(self) -> Path:
        """Where speech recognisers are put by hand, a folder each."""
        return self.data / "transcribers"


def demo_folder() -> Path:
    """Where the small voice that comes with the studio lies."""
    return Path(resource_path("demo"))


def studio_paths(home: Path | None = None) -> StudioPaths:
    """The folders under `home`, else under STUDIO_HOME, else where the system wants them."""
    named = os.environ.get(HOME_VARIABLE, "")
    if home is None and named:
        home = Path(named)
    if home is not None:
        home = home.expanduser().absolute()
        config, data, log, cache = (home / name for name in ("config", "data", "log", "cache"))
        return StudioPaths(config, data, log, cache, demo_folder())
    system = platformdirs.PlatformDirs(APPLICATION, appauthor=False)
    return StudioPaths(
        config=system.user_config_path,
        data=system.user_data_path,
        log=system.user_log_path,
        cache=system.user_cache_path,
        demo=demo_folder(),
    )
