"""The pictures of the page on architectures: each shipped robot made of limbs, at home.

Run with the package installed: python docs/architecture_pictures.py [names]
"""

import sys
from pathlib import Path

from PIL import Image

from triskele.cli import main
from triskele.description.catalogue import names
from triskele.description.load import load

IMAGES = Path(__file__).parent / "images"
COLOURS = 128  # enough for lines, and a third of the bytes
WIDTH = 1000


def draw(robots: list[str]) -> None:
    """Write one picture per robot, as `triskele show ROBOT --out` does, small."""
    for name in robots:
        target = IMAGES / f"{name}.png"
        if main(["show", name, "--out", str(target)]):
            raise SystemExit(f"{name}: no picture.")
        with Image.open(target) as picture:
            height = round(picture.height * WIDTH / picture.width)
            small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
        small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)


if __name__ == "__main__":
    draw(sys.argv[1:] or [name for name in names() if load(name).kind == "limbs"])
