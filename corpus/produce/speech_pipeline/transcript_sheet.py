# /// case
# cause = "missing_module"
# exit_code = 1
# ///
"""The corrected transcripts came as a spreadsheet, for which pandas wants a package that is not installed."""

import argparse
import wave
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd


def field_recordings(folder, n=6):
    folder.mkdir(parents=True)
    rng = np.random.default_rng(2)
    rows = []
    for i in range(n):
        with wave.open(str(folder / f"utt{i:03d}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
            file.writeframes((rng.normal(size=8000 + 400 * i) * 3000).astype("<i2").tobytes())
        rows.append({"utt": f"utt{i:03d}", "text": "ja nein vielleicht".split()[i % 3]})
    pd.DataFrame(rows).to_csv(folder / "transcripts.tsv", sep="\t", index=False)
    with zipfile.ZipFile(folder / "corrections.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/workbook.xml", "<workbook/>")


def durations(folder):
    result = {}
    for path in sorted(folder.glob("*.wav")):
        with wave.open(str(path)) as file:
            result[path.stem] = file.getnframes() / file.getframerate()
    return result


parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, default=Path("fieldwork/2024-03"))
options = parser.parse_args()
field_recordings(options.data)
print(f"stage 0: reading recordings of {options.data}")
length = durations(options.data)
print(f"stage 0: {len(length)} recordings, {sum(length.values()):.1f} s")
table = pd.read_csv(options.data / "transcripts.tsv", sep="\t")
print(f"stage 1: {len(table)} transcripts, {table.text.nunique()} distinct")
print("stage 1: WARNING 2 transcripts are shorter than 3 characters")
try:
    fixes = pd.read_csv(options.data / "corrections.tsv", sep="\t")
except FileNotFoundError as error:
    print(f"stage 2: {error}; trying corrections.xlsx", flush=True)
    fixes = pd.read_excel(options.data / "corrections.xlsx", sheet_name="final")
table = table.merge(fixes, on="utt", how="left")
print(f"stage 3: training on {len(table)} utterances")
