# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""Audio is to be decoded and the decoder's package is not installed."""

import math
import struct
import wave

from datasets import Audio, Dataset

for i in range(3):
    with wave.open(f"clip{i}.wav", "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        tone = (int(9000 * math.sin(t * 0.1 * (i + 1))) for t in range(4000))
        out.writeframes(b"".join(struct.pack("<h", s) for s in tone))

clips = Dataset.from_dict({"audio": [f"clip{i}.wav" for i in range(3)], "text": ["a", "b", "c"]})
clips = clips.cast_column("audio", Audio(sampling_rate=16000))
print(clips)
print("first clip:", clips[0]["audio"])
