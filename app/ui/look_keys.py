"""Changes colours and size by key, with what the preferences offer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from app.core.settings import Theme
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.preferences_dialog import SCALES
from app.ui.theme import Appearance


class LookKeys(QObject):
    """The size counts from the next start on, which is offered."""

    def __init__(
        self,
        studio: Studio,
        appearance: Appearance,
        tell: Callable[[Note], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._studio = studio
        self._appearance = appearance
        self._tell = tell

    @Slot()
    def change_theme(self) -> None:
        """Dark if it is light now, else light."""
        theme = Theme.LIGHT if self._appearance.colours.is_dark else Theme.DARK
        self._studio.preferences.update(theme=theme)

    @Slot()
    def larger(self) -> None:
        """One step up."""
        self._step(1)

    @Slot()
    def smaller(self) -> None:
        """One step down."""
        self._step(-1)

    def _step(self, step: int) -> None:
        now = round(self._studio.preferences.settings.scale * 100)
        beyond = [scale for scale in SCALES if (scale - now) * step > 0]
        if not beyond:
            self._tell(Note(f"{now} % is the {'largest' if step > 0 else 'smallest'} size."))
            return
        wanted = min(beyond, key=lambda scale: abs(scale - now))
        self._studio.preferences.update(scale=wanted / 100)
        self._tell(
            Note(
                f"Everything will have {wanted} % of its size when the studio starts again.",
                action_label="Restart now",
                action=self._studio.restart,
            )
        )
