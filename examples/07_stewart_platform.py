"""A Stewart platform from a mechanism file: what its six legs push while they lift it.

The platform of 20 kg stands on six legs of 3 kg that move it up and down at 0.5 Hz. At the start
each leg pushes with 49.14 N. The feet carry 372.65 N: the weight of 372.78 N, less what the
motion takes, because legs that lengthen at a constant rate do not lift at a constant speed.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import triskele as tk

FILE = Path(__file__).parent / "mechanisms" / "stewart_platform.toml"


def main() -> dict[str, float]:
    """Push of a leg and force on the feet at the start [N], and the freedom of the platform."""
    model = tk.multibody.from_file(tk.load_mechanism(FILE))
    counted = tk.multibody.mobility(model.system.with_free_motors(), model.start)
    print(counted.counts)
    states = jax.tree.map(lambda leaf: leaf[None], model.start)
    drive = jax.vmap(model.actuation.drive)(jnp.zeros(1))
    held = tk.multibody.reactions(model.system, states, drive=drive)
    feet = [held.of(f"foot_{leg}")[0][0, 2] for leg in range(1, 7)]
    push, weight = float(held.effort[0, 0]), float(np.sum(feet))
    print(f"each leg pushes with {push:.2f} N, the feet carry {weight:.2f} N")
    return {"push [N]": push, "weight [N]": weight, "freedom": float(counted.freedom)}


if __name__ == "__main__":
    main()
