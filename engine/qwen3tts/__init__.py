"""The Qwen3-TTS 12 Hz family: prompt, talker, code predictor, codec and the engine over them."""
