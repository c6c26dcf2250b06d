"""What the engine's thread does for each kind of job, without a thread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from weakref import ReferenceType, ref

import numpy as np
import pytest

from app.jobs.messages import (
    Learning,
    LoadedModel,
    Loading,
    MadeVoice,
    Progress,
    Speaking,
    Spoken,
)
from app.jobs.problems import explained
from app.jobs.work import Host, LoadModel, MakeVoice, Openers, Speak, UnloadModel
from engine import (
    Cancelled,
    CancelToken,
    Ending,
    Engine,
    ExplainedError,
    ModeError,
    ModelFileError,
    ModelPair,
    RequestError,
    Sampling,
    SpeechRequest,
    VoiceFileError,
)
from tests.fakes import BASE, CODEC, DATA, FakeSink, Pace, fake_engine, fake_opener

QUIET = CancelToken()


def silent(_: Progress) -> None:
    pass


@pytest.fixture
def pair(data: Path) -> ModelPair:
    return ModelPair(data / BASE, data / CODEC)


def speak(
    request: SpeechRequest,
    *sinks: FakeSink,
    host: Host | None = None,
    token: CancelToken | None = None,
    expected: float = 0.0,
) -> Spoken:
    """Run a job that speaks, on a fake engine unless there is a host."""
    host = host or Host(Openers(), fake_engine())
    job = Speak(lambda engine, token: request, sinks, expected)
    return job.run(1, host, token or CancelToken(), silent)


def test_a_model_is_loaded_spoken_with_and_released(pair: ModelPair) -> None:
    host = Host(Openers())
    told: list[Progress] = []
    loaded = LoadModel(pair, "cpu", "f32").run(1, host, QUIET, told.append)
    assert isinstance(loaded, LoadedModel)
    assert loaded.description.family == "base"
    assert (loaded.device, loaded.precision) == ("cpu", "f32")
    assert host.engine is not None
    assert loaded.default_sampling == host.engine.default_sampling
    assert isinstance(told[-1], Loading)
    assert told[-1].done == told[-1].total

    sinks = [FakeSink(), FakeSink()]
    request = SpeechRequest("Hello.", seeds=(1, 2), sampling=Sampling(max_frames=5))
    spoken = Speak(lambda engine, token: request, sinks).run(2, host, QUIET, told.append)
    assert isinstance(spoken, Spoken)
    assert [take.frames for take in spoken.takes] == [5, 5]
    assert [(sink.samples, sink.frames) for sink in sinks] == [(5 * 1920, 5)] * 2
    assert [sink.endings for sink in sinks] == [[(Ending.LIMIT, None)]] * 2
    assert isinstance(told[-1], Speaking)
    assert told[-1].seconds == pytest.approx(0.4)

    UnloadModel().run(4, host, QUIET, told.append)
    with pytest.raises(ModelFileError, match="No model is loaded"):
        speak(request, FakeSink(), FakeSink(), host=host)


def test_a_recording_becomes_a_voice(pair: ModelPair) -> None:
    host = Host(Openers())
    told: list[Progress] = []
    clip = (0.1 * np.sin(np.arange(24_000) / 20)).astype(np.float32)
    by_files = MakeVoice(clip, (pair.talker,), pair.codec, device="cpu")
    apart = by_files.run(1, host, QUIET, told.append)
    assert told == [Learning(1, 0, 2), Learning(1, 1, 2)]
    LoadModel(pair, "cpu", "f32").run(2, host, QUIET, silent)
    together = MakeVoice(clip, (pair.talker,)).run(3, host, QUIET, told.append)
    assert told[2:] == [Learning(3, 0, 1)]  # the loaded model gives it all
    assert isinstance(together, MadeVoice)
    assert len(apart.embeddings) == len(together.embeddings) == 1
    np.testing.assert_array_equal(apart.embeddings[0], together.embeddings[0])
    assert apart.codes is not None
    assert together.codes is not None
    np.testing.assert_array_equal(apart.codes, together.codes)


def test_a_voice_is_made_with_what_there_is() -> None:
    clip = np.full(24_000, 0.1, np.float32)
    opener = fake_opener()
    talkers = (DATA / BASE, DATA / "qwen-talker-1.7b-voicedesign-F32.gguf")
    loaded = Host(opener.openers, fake_engine(talker=BASE))
    made = MakeVoice(clip, talkers[:1], DATA / CODEC, with_codes=False).run(
        1, loaded, QUIET, silent
    )
    assert (len(made.embeddings), made.codes) == (1, None)
    assert not opener.opened_encoders  # the loaded model has done it

    other = Host(opener.openers, fake_engine())  # a model that cannot learn voices
    made = MakeVoice(clip, talkers[:1], DATA / CODEC).run(1, other, QUIET, silent)
    assert len(made.embeddings) == 1
    assert made.codes is not None
    assert (opener.opened_encoders, opener.opened_codecs) == ([DATA / BASE], [DATA / CODEC])

    with pytest.raises(ModeError, match="cannot learn"):
        MakeVoice(clip, talkers[1:]).run(1, other, QUIET, silent)
    for host in (other, Host(opener.openers)):
        with pytest.raises(ModelFileError, match="only a base model can learn"):
            MakeVoice(clip, ()).run(1, host, QUIET, silent)


def test_codes_are_those_of_the_tokenizer_that_was_asked_for() -> None:
    clip = np.full(24_000, 0.1, np.float32)
    opener = fake_opener()
    loaded = Host(opener.openers, fake_engine(talker=BASE))  # which speaks the official codes
    told: list[Progress] = []
    wish = MakeVoice(clip, (DATA / BASE,), DATA / CODEC, "another")
    made = wish.run(1, loaded, QUIET, told.append)
    assert made.codec == "another"
    assert made.codes is not None
    assert opener.opened_codecs == [DATA / CODEC]
    assert told == [Learning(1, 0, 2), Learning(1, 1, 2)]
    made = MakeVoice(clip, (), None, "another").run(1, loaded, QUIET, silent)
    assert made.codec == ""
    assert made.codes is not None


def test_a_stopped_take_keeps_what_there_is() -> None:
    token, host = CancelToken(), Host(Openers(), fake_engine(Pace(frames=50)))
    stopping = FakeSink(on_append=lambda: token.cancel() if stopping.frames == 3 else None)
    request = SpeechRequest("Hello.", speaker="ryan", seeds=(1,), piece_frames=(1,))
    with pytest.raises(Cancelled):
        speak(request, stopping, host=host, token=token)
    assert isinstance(host.partial, Spoken)
    assert host.partial.takes[0].frames == 3
    assert stopping.samples == 3 * 1920
    assert stopping.endings == [(None, None)]


def test_takes_end_one_by_one() -> None:
    request = SpeechRequest("Hello.", speaker="ryan", seeds=(1, 2))
    sinks = FakeSink(), FakeSink()
    order: list[str] = []
    sinks[1].on_append = lambda: order.append("second" if sinks[0].endings else "both")
    spoken = speak(request, *sinks)
    assert order[-1] == "second"
    assert [sink.endings for sink in sinks] == [[(Ending.SPOKEN, None)]] * 2
    assert [take.spoken for take in spoken.takes] == [True, True]
    assert [take.frames for take in spoken.takes] == [sink.frames for sink in sinks]


REQUEST = SpeechRequest("Hello.", speaker="ryan", seeds=(1, 2))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RequestError("Too long."), "Too long."),
        (ValueError("odd"), "Something unexpected went wrong: odd."),
        (MemoryError(), "There is not enough memory for this."),
        (SystemExit(), "Something unexpected went wrong: SystemExit."),
    ],
)
def test_every_sink_learns_of_a_failure_once(error: BaseException, message: str) -> None:
    engine = fake_engine(Pace(frames=9, fails_at=4, error=error))
    sinks = FakeSink(), FakeSink()
    host = Host(Openers(), engine)
    with pytest.raises(ExplainedError) as raised:
        speak(REQUEST, *sinks, host=host)
    assert raised.value.message == message
    assert [sink.endings for sink in sinks] == [[(None, raised.value)]] * 2
    assert sinks[0].samples == 3 * 1920
    assert engine.open_requests == 0
    assert isinstance(host.partial, Spoken)
    assert host.partial.takes[1].frames == 3


def test_sinks_are_finished_when_nothing_could_be_prepared() -> None:
    def prepare(engine: Engine, token: CancelToken) -> SpeechRequest:
        raise VoiceFileError("The voice is damaged.")

    sinks = FakeSink(), FakeSink()
    with pytest.raises(VoiceFileError) as raised:
        Speak(prepare, sinks).run(1, Host(Openers(), fake_engine()), CancelToken(), silent)
    assert [sink.endings for sink in sinks] == [[(None, raised.value)]] * 2
    unloaded = FakeSink(), FakeSink()
    with pytest.raises(ModelFileError):
        speak(REQUEST, *unloaded, host=Host(Openers()))
    assert [len(sink.endings) for sink in unloaded] == [1, 1]
    dropped = FakeSink(), FakeSink()
    Speak(prepare, dropped).drop()
    assert [sink.endings for sink in dropped] == [[(None, None)]] * 2


def test_a_sink_that_fails_does_not_keep_the_others_from_their_end() -> None:
    full = RequestError("The disk is full.")
    first, second = FakeSink(finish_error=full), FakeSink(finish_error=full)
    with pytest.raises(RequestError) as raised:
        speak(REQUEST, first, second)  # the first ends before the second
    assert raised.value is full
    assert [len(sink.endings) for sink in (first, second)] == [1, 1]

    def fail() -> None:
        raise full

    writing, other = FakeSink(on_append=fail), FakeSink()
    with pytest.raises(RequestError):
        speak(REQUEST, writing, other)
    assert writing.endings == other.endings == [(None, full)]


def test_the_forecast_counts_down() -> None:
    sink = FakeSink()
    request = SpeechRequest("Hello.", speaker="ryan", seeds=(3,))
    engine = fake_engine(Pace(frames=40))
    speak(request, sink, host=Host(Openers(), engine), expected=2.0)
    made = np.cumsum([1, 2, 4, 8, 8, 8, 8, 1]) * 0.08
    assert sink.frames == 40
    assert [forecast.remaining for forecast in sink.forecasts] == pytest.approx(
        [max(2.0 - seconds, 0.1 * seconds) for seconds in made]
    )
    assert sink.forecasts[0].speed == 0  # nothing was measured yet
    assert all(forecast.speed > 0 for forecast in sink.forecasts[1:])
    assert {forecast.piece for forecast in sink.forecasts} == {0.64}

    unknown, short = FakeSink(), FakeSink()
    speak(request, unknown)
    assert {forecast.remaining for forecast in unknown.forecasts} == {None}
    limited = replace(request, sampling=Sampling(max_frames=5))
    speak(limited, short, host=Host(Openers(), engine), expected=60.0)
    assert [forecast.remaining for forecast in short.forecasts] == pytest.approx([0.32, 0.16, 0.0])


def test_an_error_keeps_no_memory_alive() -> None:
    class Weights:
        pass

    kept: list[ReferenceType[Weights]] = []

    def half_a_load() -> None:
        weights = Weights()
        kept.append(ref(weights))
        try:
            raise KeyError("tensor")
        except KeyError as cause:
            raise ModelFileError("The file is cut.") from cause

    def failed() -> ExplainedError:
        try:
            half_a_load()
        except ModelFileError as error:
            return explained(error)
        raise AssertionError

    error = failed()
    assert error.message == "The file is cut."
    assert kept[0]() is None
