"""Where the motors must stand for a pose, and how far that pose is from trouble.

With the platform of the IRB 360 at (0.2, -0.3, -1.0) m and its flange turned by 30 degrees, the
arms stand at 4.08, 42.02 and 7.10 degrees. `forward` leads back to the pose, and the same
call answers for 10 000 poses at once, drawn from a box of 2 m by 2 m by 0.3 m: the legs reach
81 % of them.
"""

import math

import numpy as np

import triskele as tk


def main() -> dict[str, float]:
    """Arm angles [deg], error of the round trip [m], margins, and part of poses reached."""
    delta = tk.build(tk.load("abb_irb360_6_1600"))
    x = np.array([0.2, -0.3, -1.0, math.radians(30)])

    q = delta.inverse(x).checked()  # an error if the pose were out of reach
    back = delta.forward(q).checked()
    margins = tk.singularity_margins(delta, q, x)

    box = np.array([[-1.0, 1.0], [-1.0, 1.0], [-1.1, -0.8], [0.0, 0.0]])
    poses = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (10_000, 4))
    reached = np.asarray(tk.batch(delta.inverse)(poses).margin) >= 0

    numbers = {
        "q1 [deg]": math.degrees(q[0]),
        "q2 [deg]": math.degrees(q[1]),
        "q3 [deg]": math.degrees(q[2]),
        "round trip error [m]": float(np.abs(np.asarray(back) - x).max()),
        "least type 1 margin": min(float(margin) for margin in margins.type1),
        "type 2 margin": float(margins.type2),
        "part of poses reached": float(reached.mean()),
    }
    for name, value in numbers.items():
        print(f"{name:24}{value:.6g}")
    return numbers


if __name__ == "__main__":
    main()
