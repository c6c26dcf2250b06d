"""Keeps how the list of voices is sorted and filtered from one start to the next."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.studio.preferences import SettingsKeeper
from app.ui.voice_filters import VoiceChips, VoiceFilterBar


class VoiceFilterMemory(QObject):
    """Restores at once; words that were searched for are not kept."""

    def __init__(self, bar: VoiceFilterBar, preferences: SettingsKeeper) -> None:
        super().__init__(bar)
        self._bar = bar
        self._preferences = preferences
        settings = preferences.settings
        kinds, tags = frozenset(settings.voice_kinds), frozenset(settings.voice_tags)
        bar.want_chips(VoiceChips(kinds, settings.voice_language, tags))
        bar.set_order(settings.voice_order)
        bar.changed.connect(self._keep)

    @Slot()
    def _keep(self) -> None:
        chips = self._bar.chips
        self._preferences.update(
            voice_order=self._bar.order,
            voice_kinds=tuple(sorted(chips.kinds)),
            voice_language=chips.language,
            voice_tags=tuple(sorted(chips.tags)),
        )
