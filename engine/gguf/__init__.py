"""GGUF containers: opened without trust, dequantised bit for bit, each weight taken once."""
