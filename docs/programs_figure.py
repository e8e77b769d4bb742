"""Draw docs/images/programs.png: how a law becomes a program, and how many operations are left.

Run from the top of the repository: `.venv/bin/python docs/programs_figure.py`.
"""

from pathlib import Path

import equinox as eqx
import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

import triskele as tk
from triskele.dynamics.inverse import inverse_dynamics
from triskele.programs import native
from triskele.programs.elementary import expanded
from triskele.programs.simplify import gathered, simplified
from triskele.programs.symbols import written

ROBOTS = ("omron_mini_delta", "d3s_800", "abb_irb360_6_1600", "compliant_3prs")
STAGES = ("written", "numbers burned in", "terms gathered", "instructions")
COLOURS = ("#c6dbef", "#6baed6", "#2171b5", "#08306b")


def counts(name):
    """Operations of the inverse dynamics after each stage."""
    model = tk.rigid(tk.load(name), friction=False)
    leaves, structure = jax.tree.flatten(model)
    n = len(model.rotors)

    def law(leaves, *state):
        return eqx.Partial(inverse_dynamics, jax.tree.unflatten(structure, leaves))(*state)

    program, _ = written(law, [leaves, *((0.0,) * n,) * 3])
    numbers = [float(v) for leaf in leaves for v in np.ravel(np.asarray(leaf))]
    burned = simplified(program, dict(enumerate(numbers)))
    last = expanded(gathered(burned))
    _, gone = native.products_in_sums(last, [True] * len(last.nodes))
    return len(program), len(burned), len(gathered(burned)), len(last) - len(gone)


def flow(axes):
    """Boxes and arrows from the law to what runs it."""
    boxes = {
        "law\nPython, on scalars": (0.09, 0.5),
        "symbols\neach operation once": (0.31, 0.5),
        "program\nstraight line": (0.53, 0.5),
        "LLVM: one, lanes, cores": (0.84, 0.9),
        "CUDA: one kernel": (0.84, 0.63),
        "NumPy: the oracle": (0.84, 0.36),
        "JAX: derivatives, loops": (0.84, 0.09),
    }
    for text, (x, y) in boxes.items():
        wide = 0.13 if x > 0.7 else 0.09
        axes.add_patch(
            FancyBboxPatch(
                (x - wide, y - 0.09), 2 * wide, 0.18, boxstyle="round,pad=0.01", fc="#f7fbff",
                ec="#2171b5",
            )
        )  # fmt: skip
        axes.text(x, y, text, ha="center", va="center", fontsize=9)
    arrow = {"arrowstyle": "->", "color": "#555555"}
    for a, b in ((0.19, 0.21), (0.41, 0.43)):
        axes.annotate("", (b + 0.0, 0.5), (a, 0.5), arrowprops=arrow)
    for y in (0.9, 0.63, 0.36, 0.09):
        axes.annotate("", (0.7, y), (0.63, 0.5), arrowprops=arrow)
    axes.text(
        0.31, 0.3, "derivatives are\nwritten too", ha="center", va="center", fontsize=8,
        color="#555555",
    )  # fmt: skip
    axes.text(
        0.53, 0.3, "simplified, kept on disk,\nnumbers burned in", ha="center", va="center",
        fontsize=8, color="#555555",
    )  # fmt: skip
    axes.set(xlim=(-0.03, 1.0), ylim=(-0.03, 1.03))
    axes.axis("off")


def main():
    """Write the picture."""
    figure, (top, below) = plt.subplots(2, 1, figsize=(8, 6.4), height_ratios=(1, 1.25))
    flow(top)
    found = np.array([counts(name) for name in ROBOTS])
    places = np.arange(len(ROBOTS))
    for k, (stage, colour) in enumerate(zip(STAGES, COLOURS, strict=True)):
        bars = below.bar(places + 0.2 * (k - 1.5), found[:, k], 0.19, label=stage, color=colour)
        below.bar_label(bars, fontsize=7)
    below.set_xticks(places, ROBOTS)
    below.set_ylabel("operations of the inverse dynamics [1]")
    below.legend(frameon=False, fontsize=8)
    below.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "images" / "programs.png", dpi=110)


if __name__ == "__main__":
    main()
