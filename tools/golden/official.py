"""The official package in its own environment: loading it, and turning a prompt into its inputs."""

import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import torch

from tools.golden.cases import Clone, Prompt

# Only the 25 Hz tokenizer, which no case loads, uses these; the package imports it regardless.
UNUSED_IMPORTS = ("sox", "onnxruntime", "torchaudio.compliance.kaldi")


def reference_versions() -> str:
    """One line that names what made a case, for its .json."""
    version = importlib.metadata.version
    return (
        f"qwen-tts {version('qwen-tts')}, transformers {version('transformers')}, "
        f"torch {torch.__version__}, float32, CPU"
    )


@contextmanager
def _empty_modules(names: tuple[str, ...]) -> Iterator[None]:
    added: list[str] = []
    for name in names:
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            module = ".".join(parts[:depth])
            if module in sys.modules:
                continue
            sys.modules[module] = module_from_spec(ModuleSpec(module, None))
            added.append(module)
            if depth > 1:
                setattr(
                    sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], sys.modules[module]
                )
    try:
        yield
    finally:
        for module in added:
            del sys.modules[module]


def import_official() -> tuple[Any, Any, Any]:
    # transformers first: it looks for torchaudio and must not find the empty one.
    transformers = importlib.import_module("transformers")
    with _empty_modules(UNUSED_IMPORTS):
        package = importlib.import_module("qwen_tts")
        models = importlib.import_module("qwen_tts.core.models")
    return package, models, transformers


@dataclass(frozen=True)
class PreparedPrompt:
    """Inputs of the inner generate(); ids [1, n], reference codes [R, 16], x-vector [H]."""

    input_ids: torch.Tensor
    instruct_ids: torch.Tensor | None
    ref_ids: torch.Tensor | None
    ref_code: torch.Tensor | None
    ref_spk: torch.Tensor | None
    clone_prompt: dict[str, Any] | None


class OfficialModel:
    """One official checkpoint, float32 on the CPU with eager attention."""

    def __init__(self, checkpoint: Path) -> None:
        package, models, transformers = import_official()
        transformers.logging.set_verbosity_error()  # hints about settings greedy ignores
        model = models.Qwen3TTSForConditionalGeneration.from_pretrained(
            checkpoint,
            config=models.Qwen3TTSConfig.from_pretrained(checkpoint),
            dtype=torch.float32,
            attn_implementation="eager",
        )
        # The package's own loader patches the split pattern of tokenizers read from a folder
        # (fix_mistral_regex), which tokenizers read by name do not get: load it unpatched.
        tokenizer = transformers.Qwen2TokenizerFast.from_pretrained(checkpoint)
        processor = models.Qwen3TTSProcessor(tokenizer=tokenizer)
        self.model: Any = model.eval()
        self.wrapper: Any = package.Qwen3TTSModel(model, processor, model.generate_config)

    @property
    def family(self) -> str:
        """base, custom_voice or voice_design."""
        return str(self.model.tts_model_type)

    @property
    def size(self) -> str:
        """0b6 or 1b7."""
        return str(self.model.tts_model_size)

    @property
    def codec_decoder(self) -> Any:
        """The decoder of the 12 Hz tokenizer beside the talker."""
        return self.model.speech_tokenizer.model.decoder

    def prepare(self, prompt: Prompt, audio: Path | None) -> PreparedPrompt:
        """Tokenize the texts and encode the reference clip.

        Raises ValueError where a clip is needed and no folder of clips was given.
        """
        text = self._ids(self.wrapper._build_assistant_text(prompt.text))
        instruct = None
        if prompt.instruct:
            instruct = self._ids(self.wrapper._build_instruct_text(prompt.instruct))
        if prompt.clone is None:
            return PreparedPrompt(text, instruct, None, None, None, None)
        if audio is None:
            message = f"this case needs {prompt.clone.audio}: name its folder with --audio"
            raise ValueError(message)
        items = self.wrapper.create_voice_clone_prompt(
            ref_audio=_clip(prompt.clone, audio),
            ref_text=prompt.clone.ref_text,
            x_vector_only_mode=prompt.clone.mode == "x_vector",
        )
        ref_text = prompt.clone.ref_text
        return PreparedPrompt(
            text,
            instruct,
            self._ids(self.wrapper._build_ref_text(ref_text)) if ref_text else None,
            items[0].ref_code,
            items[0].ref_spk_embedding,
            self.wrapper._prompt_items_to_voice_clone_prompt(items),
        )

    def _ids(self, text: str) -> torch.Tensor:
        ids: torch.Tensor = self.wrapper._tokenize_texts([text])[0]
        return ids


def _clip(clone: Clone, folder: Path) -> str | tuple[Any, int]:
    path = folder / clone.audio
    if clone.samples is None:
        return str(path)
    librosa = importlib.import_module("librosa")
    samples, rate = librosa.load(path, sr=None, mono=True)
    start, stop = clone.samples
    return samples[start:stop], int(rate)
