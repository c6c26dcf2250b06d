"""The 12 Hz audio tokenizer: codes to sound and back."""
