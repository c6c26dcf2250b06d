"""What the tabs are called."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from app.studio.studio import TABS

TAB_TITLES: Final = MappingProxyType(
    dict(zip(TABS, ("Clone and speak", "Speakers", "Design"), strict=True))
)
