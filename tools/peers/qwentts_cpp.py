"""Measures qwentts.cpp as the benchmark asks; for an environment of its own.

    python3 -m venv peers && peers/bin/pip install realtimetts-qwen-native-cpu
    ./studio bench --model ... --codec ... --voice me.spk \
        --peer "qwentts.cpp=peers/bin/python tools/peers/qwentts_cpp.py"
"""

import json
import resource
import sys
import time

from qwentts_cpp_cpu import QwenTTS, load_speaker_embedding

wish = json.loads(sys.argv[1])
begin = time.perf_counter()
model = QwenTTS(wish["model"], wish["codec"], cpu_threads=wish["threads"])
loaded = time.perf_counter() - begin
arguments = {
    "text": wish["text"],
    "lang": wish["language"],
    "ref_spk_emb": load_speaker_embedding(wish["voice"]) if wish["voice"] else None,
    "seed": 1,
}
if wish["warm"]:
    model.synthesize(**arguments, max_new_tokens=2)
begin = time.perf_counter()
samples, rate = model.synthesize(**arguments, max_new_tokens=wish["frames"])
seconds = time.perf_counter() - begin
figures = {
    "precision": "as stored",
    "load_seconds": loaded,
    "first_audio_seconds": seconds,  # it gives all sound at once
    "seconds": seconds,
    "audio_seconds": len(samples) / rate,
    "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "stage_seconds_per_frame": {},
}
sys.stdout.write(json.dumps(figures) + "\n")
