"""Official folders become the files of the published converter; what is wrong in them is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import (
    Cancelled,
    CancelToken,
    ModelFileError,
    ModelPair,
    Sampling,
    SpeechRequest,
    StackSampling,
    open_engine,
)
from engine.cli.convert import main
from engine.gguf.convert.folder import Conversion, convert_folder, read_folder
from engine.gguf.convert.names import Codebook, official_name
from engine.gguf.layout import Variant
from engine.gguf.quantize import quantize_file
from engine.gguf.reader import GgufFile
from engine.gguf.writer import copied_metadata, pack_metadata
from engine.text.bpe import BytePairTokenizer
from tests.official_folder import (
    CODEC,
    LOST_MERGE,
    LOST_RANK,
    TALKERS,
    codec_config,
    codec_tensors,
    read_tensor,
    talker_config,
    write_codec_folder,
    write_json,
    write_talker_folder,
)
from tests.terminal import Terminal

MERGES = "tokenizer.ggml.merges"
every_family = pytest.mark.parametrize("family", list(TALKERS))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A Base talker with its tokenizer inside; not to be changed."""
    folder = write_talker_folder(tmp_path_factory.mktemp("official") / "base", data, "base")
    write_codec_folder(folder / "speech_tokenizer", data)
    return folder


@pytest.fixture
def talker(tmp_path: Path, data: Path) -> Path:
    """A custom-voice talker to be changed."""
    return write_talker_folder(tmp_path / "talker", data, "custom_voice")


@pytest.fixture
def codec(tmp_path: Path, data: Path) -> Path:
    """A tokenizer to be changed."""
    return write_codec_folder(tmp_path / "codec", data)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


def convert(folder: Path, target: Path, variant: Variant = Variant.F32) -> tuple[str, ...]:
    return convert_folder(read_folder(folder), target, variant)


def change_config(folder: Path, config: dict[str, Any]) -> None:
    write_json(folder / "config.json", config)


def change_tensors(folder: Path, **changes: torch.Tensor | None) -> None:
    """Replace, add or (None) remove tensors; names are given with "__" for the dots."""
    path = folder / "model.safetensors"
    tensors: dict[str, torch.Tensor | None] = {**load_file(path)}
    tensors |= {name.replace("__", "."): values for name, values in changes.items()}
    save_file({name: values for name, values in tensors.items() if values is not None}, path)


def assert_same_tensors(mine: Path, published: Path) -> None:
    with GgufFile.open(mine) as ours, GgufFile.open(published) as theirs:
        assert set(ours.tensors) == set(theirs.tensors)
        for name, info in theirs.tensors.items():
            assert (ours.tensors[name].type, ours.tensors[name].shape) == (info.type, info.shape)
            assert torch.equal(read_tensor(ours, name), read_tensor(theirs, name)), name


@every_family
def test_a_talker_becomes_the_published_file(family: str, tmp_path: Path, data: Path) -> None:
    folder = write_talker_folder(tmp_path / "folder", data, family)
    conversion = read_folder(folder)
    assert conversion.file_name(Variant.F32) == TALKERS[family]
    mine, published = tmp_path / "mine.gguf", data / TALKERS[family]
    assert convert(folder, mine) == ()
    assert_same_tensors(mine, published)
    ours, theirs = copied_metadata(mine), copied_metadata(published)
    assert [key for key, _ in ours] == [key for key, _ in theirs]
    # Kinds and values, byte for byte, with the one merge that is lost in published files.
    with GgufFile.open(published) as file:
        merges = file.strings(MERGES)
    merges.insert(LOST_RANK, LOST_MERGE)
    (whole,) = pack_metadata([(MERGES, tuple(merges))])
    assert ours == [(key, whole[1] if key == MERGES else value) for key, value in theirs]


def test_a_tokenizer_becomes_the_published_file(base: Path, tmp_path: Path, data: Path) -> None:
    conversion = read_folder(base / "speech_tokenizer")
    assert conversion.file_name(Variant.F32) == CODEC
    mine = tmp_path / "mine.gguf"
    assert convert_folder(conversion, mine, Variant.F32) == ()
    assert_same_tensors(mine, data / CODEC)
    assert copied_metadata(mine) == copied_metadata(data / CODEC)


def test_a_codebook_entry_that_was_never_used_is_not_divided_by_zero(
    codec: Path, tmp_path: Path
) -> None:
    stem = "decoder.quantizer.rvq_first.vq.layers.0._codebook"
    path = codec / "model.safetensors"
    tensors = load_file(path)
    tensors[f"{stem}.cluster_usage"][3] = 0
    tensors[f"{stem}.embedding_sum"][3] = 2e-5
    save_file(tensors, path)
    convert(codec, tmp_path / "mine.gguf")
    with GgufFile.open(tmp_path / "mine.gguf") as file:
        row = read_tensor(file, "tok_dec.vq_first.0.codebook")[3]
    assert row.tolist() == pytest.approx([2.0] * 16)


# Digests of the sorted lines "name [sizes]" of the official small checkpoints, without the
# tensors that no GGUF file has.
@pytest.mark.parametrize(
    ("file", "count", "digest"),
    [
        (
            TALKERS["base"],
            161,
            "cfb1e632c1e82c4e5f91eb44127ae430b07b60f5abd5e3ec92e9637f842b3c9f",
        ),
        (CODEC, 292, "029602c31859279cbb137c3ed4d9c91d9a6cdad92571ecc90bb40c3cadcd5959"),
    ],
)
def test_official_names_are_those_of_the_official_files(
    file: str, count: int, digest: str, data: Path
) -> None:
    lines = []
    with GgufFile.open(data / file) as published:
        for name, info in published.tensors.items():
            official = official_name(name)
            if isinstance(official, Codebook):
                lines.append(f"{official.total} {list(info.shape)}")
                lines.append(f"{official.usage} {list(info.shape[:1])}")
            else:
                lines.append(f"{official} {list(info.shape)}")
    assert len(lines) == count
    assert hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest() == digest


@pytest.mark.parametrize(
    ("name", "official"),
    [
        ("talker.text_proj.fc2.bias", "talker.text_projection.linear_fc2.bias"),
        ("talker.blk.27.ffn_norm.weight", "talker.model.layers.27.post_attention_layernorm.weight"),
        (
            "code_pred.blk.4.attn_k_norm.weight",
            "talker.code_predictor.model.layers.4.self_attn.k_norm.weight",
        ),
        (
            "spk_enc.blk.2.res2net.6.weight",
            "speaker_encoder.blocks.2.res2net_block.blocks.6.conv.weight",
        ),
        ("tok_enc.blk.7.ffn_up.weight", "encoder.encoder_transformer.layers.7.mlp.fc1.weight"),
        ("tok_dec.dec.4.res.2.conv2.bias", "decoder.decoder.4.block.4.conv2.conv.bias"),
        ("tok_dec.dec.5.snake.beta", "decoder.decoder.5.beta"),
    ],
)
def test_examples_of_official_names(name: str, official: str) -> None:
    assert official_name(name) == official


def test_a_lower_precision_is_that_of_the_quantiser(base: Path, tmp_path: Path) -> None:
    """Converting to a variant and quantising the F32 file give the same bytes."""
    for folder in (base, base / "speech_tokenizer"):
        convert(folder, tmp_path / "F32.gguf")
        for variant in (Variant.BF16, Variant.Q8_0):
            convert(folder, tmp_path / "direct.gguf", variant)
            quantize_file(tmp_path / "F32.gguf", tmp_path / "two-steps.gguf", variant)
            direct = (tmp_path / "direct.gguf").read_bytes()
            assert direct == (tmp_path / "two-steps.gguf").read_bytes()
            (tmp_path / "direct.gguf").unlink()
            (tmp_path / "two-steps.gguf").unlink()
        (tmp_path / "F32.gguf").unlink()


def test_all_merges_are_kept_and_tokenise_as_the_shortened_list_does(
    base: Path, tmp_path: Path, data: Path
) -> None:
    convert(base, tmp_path / "mine.gguf")
    tokenizers = []
    for path in (tmp_path / "mine.gguf", data / TALKERS["base"]):
        with GgufFile.open(path) as file:
            tokens = file.strings("tokenizer.ggml.tokens")
            merges = file.strings(MERGES)
            types = file.integers("tokenizer.ggml.token_type")
        tokenizers.append((BytePairTokenizer(tokens, types, merges), LOST_MERGE in merges))
    (whole, kept), (shortened, present) = tokenizers
    assert kept
    assert not present
    for text in ("##", "### Title", "a # b", "#include <x>", "####"):
        assert whole.encode(text) == shortened.encode(text)
    assert len(whole.encode("##")) == 1


def test_shards_are_read_through_their_index(base: Path, tmp_path: Path, data: Path) -> None:
    folder = write_talker_folder(tmp_path / "sharded", data, "base")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    weight_map: dict[str, str] = {}
    for number in (0, 1, 2):
        shard = f"model-0000{number + 1}-of-00003.safetensors"
        names = sorted(tensors)[number::3]
        save_file({name: tensors[name] for name in names}, folder / shard)
        weight_map |= dict.fromkeys(names, shard)
    write_json(folder / "model.safetensors.index.json", {"weight_map": weight_map})
    convert(folder, tmp_path / "sharded.gguf")
    convert(base, tmp_path / "whole.gguf")
    assert (tmp_path / "sharded.gguf").read_bytes() == (tmp_path / "whole.gguf").read_bytes()

    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ModelFileError, match="has no model-00002-of-00003"):
        convert(folder, tmp_path / "again.gguf")
    weight_map[sorted(tensors)[0]] = "../outside.safetensors"
    write_json(folder / "model.safetensors.index.json", {"weight_map": weight_map})
    with pytest.raises(ModelFileError, match=r"names the file '../outside"):
        convert(folder, tmp_path / "again.gguf")


def test_converted_files_speak_the_codes_of_the_official_implementation(
    tmp_path: Path, talker: Path, codec: Path, data: Path
) -> None:
    convert(talker, tmp_path / "talker.gguf")
    convert(codec, tmp_path / "codec.gguf")
    facts = json.loads((data / "cv_speaker_en.json").read_text("utf-8"))
    with np.load(data / "cv_speaker_en.npz") as arrays:
        golden = arrays["codes"]
    greedy = StackSampling(greedy=True)
    request = SpeechRequest(
        facts["text"],
        language=facts["language"],
        speaker=facts["speaker"],
        sampling=Sampling(greedy, greedy, repetition_penalty=1.0, max_frames=len(golden)),
        seeds=(0,),
    )
    pair = ModelPair(tmp_path / "talker.gguf", tmp_path / "codec.gguf")
    engine = open_engine(pair, device="cpu", precision="f32")
    codes = np.concatenate([chunk.codes for chunk in engine.speak(request)])
    assert np.array_equal(codes, golden)


def test_a_fine_tuned_voice_speaks(tmp_path: Path, data: Path) -> None:
    """Fine-tuning adds a speaker and drops the encoder's tensors, but keeps its settings."""
    folder = write_talker_folder(tmp_path / "tuned", data, "base")
    config = talker_config("base")
    config["tts_model_type"] = "custom_voice"
    config["talker_config"]["spk_id"] = {"Mia": 300}
    config["talker_config"]["spk_is_dialect"] = {"Mia": False}
    change_config(folder, config)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    save_file({n: t for n, t in tensors.items() if not n.startswith("speaker_encoder.")}, path)
    assert convert(folder, tmp_path / "tuned.gguf") == ()
    with GgufFile.open(tmp_path / "tuned.gguf") as file:
        assert file.strings("qwen3-tts.codec.speaker_names") == ["mia"]
        assert file.integers("qwen3-tts.codec.speaker_ids") == [300]
        assert file.strings("qwen3-tts.codec.speaker_dialects") == [""]
        assert file.integer("qwen3-tts.spk_enc.embedding_length") == 80
        assert not any(name.startswith("spk_enc.") for name in file.tensors)
    engine = open_engine(ModelPair(tmp_path / "tuned.gguf", data / CODEC), device="cpu")
    assert engine.description.speakers == ("mia",)
    request = SpeechRequest("Good evening.", speaker="mia", sampling=Sampling(max_frames=3))
    assert sum(len(chunk.codes) for chunk in engine.speak(request)) == 3


def test_settings_of_the_speaker_encoder_have_the_official_defaults(
    base: Path, tmp_path: Path
) -> None:
    config = talker_config("base")
    config["speaker_encoder_config"] = {}
    folder = tmp_path / "base"
    folder.mkdir()
    for path in base.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    change_config(folder, config)
    assert ("qwen3-tts.spk_enc.embedding_length", 80) in read_folder(folder).metadata
    # The tensors are smaller than those of the official encoder.
    with pytest.raises(
        ModelFileError, match=r"\[16, 128, 5\], but config.json means \[512, 128, 5"
    ):
        convert(folder, tmp_path / "mine.gguf")


def test_foreign_tensors_are_reported_for_a_talker_and_refused_for_a_tokenizer(
    talker: Path, codec: Path, tmp_path: Path
) -> None:
    extra = torch.ones(4)
    change_tensors(talker, lora__weight=extra, talker__model__rotary_emb__inv_freq=extra + 1)
    assert convert(talker, tmp_path / "talker.gguf") == ("lora.weight",)
    change_tensors(codec, lora__weight=extra)
    with pytest.raises(ModelFileError, match=r"do not belong in a tokenizer: 'lora.weight'"):
        convert(codec, tmp_path / "codec.gguf")
    assert not (tmp_path / "codec.gguf").exists()


def test_tensors_that_are_missing_or_do_not_fit_are_named(talker: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.gguf"
    change_tensors(talker, talker__codec_head__weight=None)
    with pytest.raises(ModelFileError, match=r"has no tensor 'talker.codec_head.weight'"):
        convert(talker, target)
    change_tensors(talker, talker__codec_head__weight=torch.ones(1088, 63))
    with pytest.raises(
        ModelFileError, match=r"shape \[1088, 63\], but config.json means \[1088, 6"
    ):
        convert(talker, target)
    change_tensors(talker, talker__codec_head__weight=torch.ones(1088, 64, dtype=torch.int8))
    with pytest.raises(ModelFileError, match="has the type I8"):
        convert(talker, target)
    change_tensors(talker, talker__codec_head__weight=torch.full((1088, 64), torch.nan))
    with pytest.raises(ModelFileError, match=r"codec_head.weight' holds the value nan"):
        convert(talker, target, Variant.BF16)
    assert not target.exists()
    assert not list(tmp_path.glob(".*"))


def test_more_blocks_than_there_are_is_noticed_at_once(talker: Path, tmp_path: Path) -> None:
    config = talker_config("custom_voice")
    config["talker_config"]["num_hidden_layers"] = 2**31 - 1
    change_config(talker, config)
    with pytest.raises(ModelFileError, match=r"no tensor 'talker\.model\.layers\.2\."):
        convert(talker, tmp_path / "mine.gguf")


def test_weights_in_other_files_are_explained(talker: Path, tmp_path: Path) -> None:
    path, target = talker / "model.safetensors", tmp_path / "mine.gguf"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ModelFileError, match="cannot be read"):
        convert(talker, target)
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(ModelFileError, match="Git LFS pointer"):
        convert(talker, target)
    path.unlink()
    with pytest.raises(ModelFileError, match=r"has no model\.safetensors"):
        convert(talker, target)
    (talker / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    with pytest.raises(ModelFileError, match=r"pytorch_model.bin only, a format that can run"):
        convert(talker, target)


def broken_configs() -> Iterator[tuple[str, dict[str, Any], str]]:
    for name, key, value, message in (
        ("kind", "model_type", "qwen3", "of a model of the type 'qwen3'"),
        ("rate", "tokenizer_type", "qwen3_tts_tokenizer_25hz", "only 'qwen3_tts_tokenizer_12hz'"),
        ("family", "tts_model_type", "singing", "tts_model_type is not one of base, custom_voice"),
        ("id", "tts_pad_token_id", -1, "tts_pad_token_id is not an integer from 0"),
        ("section", "talker_config", [], "talker_config is not an object"),
        ("size", "tts_model_size", "../1b7", "tts_model_size is not a word of letters and digits"),
    ):
        yield name, talker_config("base") | {key: value}, message
    config = talker_config("base")
    del config["talker_config"]["code_predictor_config"]["head_dim"]
    yield "missing", config, r"talker_config\.code_predictor_config\.head_dim is missing"
    config = talker_config("base")
    config["talker_config"]["spk_id"] = {"mia": "300"}
    yield "speaker", config, r"talker_config\.spk_id\.mia is not an integer"
    config = talker_config("base")
    config["talker_config"]["rope_theta"] = 10**400
    yield "huge", config, r"talker_config\.rope_theta is not a finite number"
    config = codec_config()
    config["decoder_config"]["upsample_rates"] = [8, 0]
    yield "rates", config, r"decoder_config\.upsample_rates is not a list of integers of 1"
    config = codec_config()
    config["encoder_config"]["rope_theta"] = float("inf")
    yield "infinite", config, r"encoder_config\.rope_theta is not a finite number"


@pytest.mark.parametrize(
    ("config", "message"),
    [pytest.param(config, message, id=name) for name, config, message in broken_configs()],
)
def test_mistakes_in_the_config_are_named(
    config: dict[str, Any], message: str, talker: Path
) -> None:
    change_config(talker, config)
    with pytest.raises(ModelFileError, match=message):
        read_folder(talker)


def test_codebooks_of_both_sides_must_agree(codec: Path, tmp_path: Path) -> None:
    config = codec_config()
    config["decoder_config"]["num_quantizers"] = 15
    change_config(codec, config)
    with pytest.raises(ModelFileError, match="encodes with 16 codebooks and decodes with 15"):
        convert(codec, tmp_path / "mine.gguf")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"{", "config.json is not valid JSON"),
        ("config.json", b"[]", "config.json does not hold a JSON object"),
        ("config.json", b"\xff\xfe", "config.json is not valid JSON"),
        ("config.json", None, "has no config.json"),
        ("vocab.json", b'{"\\ud800": 0}', "vocab.json is not valid JSON: .*surrogates not allowed"),
        ("vocab.json", b'{"a": 0, "b": 0}', "gives 'a' and 'b' the same id 0"),
        ("vocab.json", b'{"a": 9000000}', "has ids up to 9000000"),
        ("vocab.json", None, "has no vocab.json"),
        ("merges.txt", b"#version: 0.2\na b\nabc\n", "has the line 'abc'"),
        ("merges.txt", None, "has no merges.txt"),
        ("tokenizer_config.json", b"{}", "added_tokens_decoder is missing"),
        (
            "tokenizer_config.json",
            b'{"added_tokens_decoder": {"-1": {"content": "x"}}}',
            "added token of id '-1'",
        ),
        ("generation_config.json", b'{"top_k": "all"}', "top_k is not an integer"),
    ],
)
def test_damaged_files_are_named(
    name: str, content: bytes | None, message: str, talker: Path
) -> None:
    if content is None:
        (talker / name).unlink()
    else:
        (talker / name).write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        read_folder(talker)


def test_ids_between_the_tokens_are_filled(talker: Path) -> None:
    added = {"824": {"content": "<|x|>"}}
    write_json(talker / "tokenizer_config.json", {"added_tokens_decoder": added})
    metadata = dict(read_folder(talker).metadata)
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    assert isinstance(tokens, tuple)
    assert isinstance(types, tuple)
    assert tokens[820:] == (tokens[820], *(f"<|unused-{i}|>" for i in (821, 822, 823)), "<|x|>")
    assert types[820:] == (1, 5, 5, 5, 4)


def test_generation_settings_are_optional(talker: Path) -> None:
    (talker / "generation_config.json").unlink()
    keys = [key for key, _ in read_folder(talker).metadata]
    assert not any(key.startswith("generation.") for key in keys)


def test_stopping_leaves_nothing_behind(base: Path, tmp_path: Path) -> None:
    cancel = CancelToken()
    seen: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 5:
            cancel.cancel()

    conversion: Conversion = read_folder(base)
    target = tmp_path / "mine.gguf"
    with pytest.raises(Cancelled):
        convert_folder(conversion, target, Variant.F32, progress=tell, cancel=cancel)
    assert not list(tmp_path.iterdir())
    assert seen == sorted(seen)
    assert len(seen) == 5


def test_existing_files_are_kept_unless_told(base: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.gguf"
    target.write_bytes(b"mine")
    with pytest.raises(ModelFileError, match="exists already"):
        convert(base, target)
    assert target.read_bytes() == b"mine"
    convert_folder(read_folder(base), target, Variant.F32, force=True)
    with GgufFile.open(target) as file:
        assert len(file.tensors) == 161


def test_the_command_converts_talker_and_tokenizer(
    base: Path, tmp_path: Path, terminal: Terminal
) -> None:
    answer = terminal.run(main, [base, "-o", tmp_path, "--type", "BF16"])
    assert answer.status == 0, answer.told
    talker, codec = (tmp_path / name.replace("F32", "BF16") for name in (TALKERS["base"], CODEC))
    assert f"{talker}: " in answer.told
    assert f"{codec}: " in answer.told
    engine = open_engine(ModelPair(talker, codec), device="cpu")
    assert engine.description.precision == "BF16"

    talker.unlink()
    before = codec.stat().st_mtime_ns
    answer = terminal.run(main, [base, "-o", tmp_path, "--type", "BF16"])
    assert answer.status == 0, answer.told
    assert f"{codec} exists already and is kept." in answer.told
    assert codec.stat().st_mtime_ns == before
    answer = terminal.run(main, [base, "-o", tmp_path, "--type", "BF16"])
    assert answer.status == 1
    assert answer.told.startswith(f"error: {talker} exists already. Choose another name, or ")
    answer = terminal.run(main, [base, "-o", tmp_path, "--type", "BF16", "--force", "--quiet"])
    assert (answer.status, answer.told) == (0, "")


def test_the_command_writes_one_named_file(
    talker: Path, tmp_path: Path, terminal: Terminal
) -> None:
    change_tensors(talker, **{f"lora__{i}": torch.ones(1) for i in range(22)})
    answer = terminal.run(main, [talker, "-o", tmp_path / "voice.gguf"])
    assert answer.status == 0, answer.told
    assert "holds tensors that no talker file has:\n  lora.0\n" in answer.told
    assert "  and 2 more\n" in answer.told
    assert [path.name for path in tmp_path.glob("*.gguf")] == ["voice.gguf"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "error: nowhere is no folder. Choose the folder of a checkpoint.\n"),
        ([], "error: the following arguments are required: FOLDER."),
        (["x", "--type", "Q2_K"], "error: argument --type: invalid choice: 'Q2_K'"),
    ],
)
def test_the_command_explains_what_is_wrong(
    arguments: list[str], message: str, terminal: Terminal
) -> None:
    answer = terminal.run(main, arguments)
    assert answer.status == 1
    assert answer.told.startswith(message)


def test_the_command_makes_its_folder(base: Path, tmp_path: Path, terminal: Terminal) -> None:
    answer = terminal.run(main, [base, "-o", tmp_path / "a" / "new", "--type", "bf16"])
    assert answer.status == 0, answer.told
    assert (tmp_path / "a" / "new" / CODEC.replace("F32", "BF16")).is_file()
    assert "voice-studio models" not in answer.told
    (tmp_path / "file").touch()
    answer = terminal.run(main, [base, "-o", tmp_path / "file"])
    assert answer.status == 1
    assert "cannot be made: File exists" in answer.told


def test_without_a_folder_the_command_says_where_models_belong(
    base: Path, tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = terminal.run(main, [base])
    assert answer.status == 0, answer.told
    assert "the folder that `voice-studio models` names: move them there" in answer.told


def test_help_succeeds(terminal: Terminal) -> None:
    answer = terminal.run(main, ["--help"])
    assert answer.status == 0
    assert "voice-studio convert" in answer.text


def test_the_rebuilt_tokenizer_holds_what_official_ones_hold_besides(data: Path) -> None:
    """Guards the tests above: tensors that conversion has to drop are there."""
    names = codec_tensors(data)
    acoustic = "encoder.quantizer.acoustic_residual_vector_quantizer.layers.18.codebook"
    assert f"{acoustic}.embed_sum" in names
    assert f"{acoustic}.initialized" in names
    assert "decoder.quantizer.rvq_rest.input_proj.weight" in names
