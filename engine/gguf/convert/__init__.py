"""Official Qwen3-TTS checkpoint folders, turned into the GGUF files that the engine reads."""
