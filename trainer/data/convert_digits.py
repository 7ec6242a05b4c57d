#!/usr/bin/env python3
"""Makes digits.txt from digits.csv.gz of a scikit-learn wheel; checks every row on the way.

Usage: convert_digits.py SCIKIT_LEARN.whl > digits.txt

One image per line: 64 pixels, row by row, each one base-17 digit (0-9, then a-g for 10-16), a blank,
and the label. Nothing is dropped, reordered or rescaled. Needs only Python's standard library; the
build never runs this.
"""

import gzip
import hashlib
import sys
import zipfile

MEMBER = "sklearn/datasets/data/digits.csv.gz"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
IMAGES = 1797
PIXELS = 64
LEVELS = "0123456789abcdefg"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: convert_digits.py SCIKIT_LEARN.whl > digits.txt")
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        packed = wheel.read(MEMBER)
    digest = hashlib.sha256(packed).hexdigest()
    if digest != SHA256:
        sys.exit(f"{MEMBER} has SHA-256 {digest}, expected {SHA256}: this wheel ships other data")
    rows = gzip.decompress(packed).decode("ascii").splitlines()
    if len(rows) != IMAGES:
        sys.exit(f"{MEMBER} has {len(rows)} rows, expected {IMAGES}")
    for number, row in enumerate(rows, 1):
        values = [int(value) for value in row.split(",")]
        *pixels, label = values
        if len(pixels) != PIXELS or not 0 <= label <= 9 or not all(0 <= p <= 16 for p in pixels):
            sys.exit(f"row {number} of {MEMBER} is not {PIXELS} pixels in 0..16 and a label in 0..9")
        print("".join(LEVELS[p] for p in pixels), label)


if __name__ == "__main__":
    main()
