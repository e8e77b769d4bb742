"""A robot of your own, from a file of four lines of geometry.

The numbers are chosen so that the answer is known by hand: with level arms the rods span
200 + 300 - 200 = 300 mm across and are 500 mm long, so the platform hangs 400 mm below the
motors. Of two numbers nobody says where they are from, and the robot lists them as assumed.
"""

import tempfile
from pathlib import Path

import triskele as tk

TEXT = """
kind  = "delta"
name  = "triangle"
title = "3-4-5 Delta"

[geometry]
source          = "drawing 4711"
base_radius     = "200 mm"
platform_radius = "20 cm"
arm_length      = { value = 300, unit = "mm", source = "measured with a tape" }
rod_length      = { value = 0.5, unit = "m", source = "assumed: bought as 500 mm" }

[limits]
rod_tilt = "40 deg"
"""


def main() -> dict[str, float]:
    """Height of the home position [m], degrees of freedom, and how many numbers are assumed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "triangle.toml"
        path.write_text(TEXT, encoding="utf-8")
        robot = tk.load(path)

    sheet = tk.datasheet(robot)
    for fact in sheet.assumptions:
        print(f"assumed: {fact.key} = {fact.text} ({fact.reason})")
    numbers = {
        "home z [m]": sheet.home["z"],
        "degrees of freedom": float(sheet.mobility.freedom),
        "assumptions": float(len(sheet.assumptions)),
    }
    for name, value in numbers.items():
        print(f"{name:20}{value:.6g}")
    return numbers


if __name__ == "__main__":
    main()
