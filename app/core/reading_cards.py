"""Passages to read aloud into the microphone, so that nobody has to think of words for a clone."""

# ruff: noqa: RUF001 -- the letters and marks of other scripts are meant

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class ReadingCard:
    """Ten to fifteen seconds of speech with most sounds of a language, ending in a question."""

    language: str  # as the models name it
    name: str  # of the language, in itself
    text: str
    test_line: str  # what a voice may be tried out with


READING_CARDS: Final = (
    ReadingCard(
        "english",
        "English",
        "On a grey Thursday in June, my neighbour showed me the old clock she usually keeps "
        "behind the jam. It chimes twice before lunch, just because it enjoys the attention. "
        "Would you have kept it?",
        "Good morning. This is how I sound, and I have plenty to say today.",
    ),
    ReadingCard(
        "german",
        "Deutsch",
        "Gestern früh zog ein kühler Wind durch die Gassen, und über den Dächern kreischten "
        "zwei Möwen. Jan suchte höflich nach seinem Schlüssel, fand aber nur Äpfel und ein "
        "zerknittertes Buch. Wo könnte er bloß sein?",
        "Guten Morgen. So klinge ich, und ich habe heute viel zu erzählen.",
    ),
    ReadingCard(
        "french",
        "Français",
        "Jeudi matin, un brouillard léger couvrait le quai, et l’on n’entendait qu’une cloche "
        "au loin. Ma voisine a cueilli onze figues bien mûres, puis elle les a rangées dans un "
        "grand panier brun. Veux-tu en goûter une ?",
        "Bonjour. Voici ma voix, et j'ai beaucoup de choses à vous raconter.",
    ),
    ReadingCard(
        "spanish",
        "Español",
        "El jueves por la mañana, un pequeño barco verde llegó al puerto entre la niebla. El "
        "viejo Joaquín encendió la lámpara, guardó las llaves y me sirvió chocolate caliente. "
        "¿Quién habría dicho que llovería en agosto?",
        "Buenos días. Así suena mi voz, y hoy tengo mucho que contar.",
    ),
    ReadingCard(
        "italian",
        "Italiano",
        "Giovedì mattina, sotto una pioggia leggera, la zia Agnese ha aperto il suo chiosco. "
        "Vende gnocchi, sciroppi e qualche foglia di basilico che profuma tutta la piazza. "
        "Chi avrebbe mai pensato di tornare così presto?",
        "Buongiorno. Questa è la mia voce, e oggi ho molto da raccontare.",
    ),
    ReadingCard(
        "portuguese",
        "Português",
        "Na manhã de quinta-feira, o nevoeiro cobria as montanhas e ninguém via o caminho. A "
        "minha irmã trouxe pão quente, queijo e um chá de limão que cheirava a verão. Já não "
        "chove há três semanas, quem diria?",
        "Bom dia. É assim que eu soo, e hoje tenho muito para contar.",
    ),
    ReadingCard(
        "russian",
        "Русский",
        "В четверг утром над рекой стоял густой туман, и только чайки кричали где-то у причала. "
        "Бабушка щедро угощала всех щавелевым супом, мёдом и свежими яблоками. Вы "
        "когда-нибудь видели такое утро?",
        "Доброе утро. Вот так звучит мой голос, и сегодня мне есть что рассказать.",
    ),
    ReadingCard(
        "chinese",
        "中文",
        "星期四的早晨，江边起了一层薄雾，远处传来船夫的歌声。我女儿提着竹篮去买热豆浆，"
        "却忘了带伞。你说，这样的天气会不会下雪？",
        "早上好。这就是我的声音，今天有很多话想说。",
    ),
    ReadingCard(
        "japanese",
        "日本語",
        "木曜日の朝、港には薄い霧がかかり、遠くで汽笛が鳴っていました。"
        "となりのおばあさんは、焼きたてのパンと百合の花を届けてくれました。"
        "一緒に、ゆっくり味わいませんか。",
        "おはようございます。これが私の声です。今日はお話ししたいことがたくさんあります。",
    ),
    ReadingCard(
        "korean",
        "한국어",
        "목요일 아침, 강가에는 옅은 안개가 끼고 멀리서 뱃고동 소리가 들렸습니다. 할머니께서는 "
        "따뜻한 떡과 꿀차를 내어 주시며 환하게 웃으셨어요. 혹시 오늘 저녁에 비가 올까요?",
        "안녕하세요. 이것이 제 목소리이고, 오늘은 하고 싶은 이야기가 많습니다.",
    ),
)
"""One for each language of the models."""


def reading_card(language: str) -> ReadingCard:
    """The card of a language of the models; the English one for "auto" and unknown ones."""
    wanted = language.strip().lower()
    return next((card for card in READING_CARDS if card.language == wanted), READING_CARDS[0])
