"""Make the data files the package ships from the original UCI files in a folder.

    python tools/pack_datasets.py FOLDER

FOLDER holds magic04.data, sat.trn, sat.tst, spambase.data, winequality-red.csv and
winequality-white.csv as UCI gives them; each is checked against its sha256 first. The
files written are gzipped CSV with a header, the class last, values as they were.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path

ORIGINALS = {
    "magic04.data": "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
    "sat.trn": "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
    "sat.tst": "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
    "spambase.data": "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
    "winequality-red.csv": "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    "winequality-white.csv": "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
}
MAGIC = ["length", "width", "size", "conc", "conc1", "asym", "m3_long", "m3_trans", "alpha", "dist"]
TARGET = Path(__file__).parent.parent / "src" / "duelwise" / "lab" / "data"


def original(folder: Path, name: str) -> list[str]:
    """The lines of an original file, its checksum verified."""
    raw = (folder / name).read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    if found != ORIGINALS[name]:
        sys.exit(f"{folder / name} has sha256 {found}, expected {ORIGINALS[name]}.")
    return raw.decode().split("\n")


def rows(lines: list[str], separator: str | None) -> list[list[str]]:
    return [line.strip().split(separator) for line in lines if line.strip()]


def wine(folder: Path, colour: str) -> list[list[str]]:
    """The two wines in one table: the colour becomes the first feature, 1 for white."""
    table = rows(original(folder, f"winequality-{colour}.csv"), ";")
    return [[str(int(colour == "white")), *row] for row in table[1:]]


def pack(name: str, header: list[str], table: list[list[str]]) -> None:
    text = "\n".join(",".join(row) for row in [[*header, "class"], *table]) + "\n"
    raw = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    (TARGET / name).write_bytes(raw)
    digest = hashlib.sha256(text.encode()).hexdigest()  # of the text: compressors differ
    print(f"{name}: {len(table)} rows, {len(raw)} bytes, sha256 {digest}")


def main(folder: Path) -> None:
    TARGET.mkdir(exist_ok=True)
    pack("magic.csv.gz", MAGIC, rows(original(folder, "magic04.data"), ","))
    bands = [f"pixel{pixel}_band{band}" for pixel in range(1, 10) for band in range(1, 5)]
    satimage = rows(original(folder, "sat.trn") + original(folder, "sat.tst"), None)
    pack("satimage.csv.gz", bands, satimage)
    words = [f"frequency{number}" for number in range(1, 55)]
    runs = ["capital_run_average", "capital_run_longest", "capital_run_total"]
    pack("spambase.csv.gz", words + runs, rows(original(folder, "spambase.data"), ","))
    names = original(folder, "winequality-red.csv")[0].strip().replace('"', "").replace(" ", "_").split(";")
    pack("wine.csv.gz", ["white", *names[:-1]], wine(folder, "red") + wine(folder, "white"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
