"""The studio's sound: devices, playing takes, recording microphones; knows neither Qt nor torch."""
