"""What torques tell about a Delta, and what they cannot.

Two logs of a small Delta are made up, with noise of 20 mN m on its torques; a third part of the
file's rod mass is taken away before they are identified. The fit predicts torques of the second
log to the noise, and 18 numbers come with intervals. Of its 66 g the rod, which begins with 44,
comes back to 58: torques know its mass only together with the first moment of the arm, and what
they do not know stays near the file.
"""

import numpy as np

import triskele as tk
from triskele.kinematics.motion import resting


def log(robot: tk.Robot, seed: int) -> tk.Table:
    """4 s of harmonics, at 200 Hz."""
    random = np.random.default_rng(seed)
    size = np.array([0.05, 0.05, 0.03]) / np.arange(1, 9)[:, None]
    rows = resting(*(random.normal(size=(2, 8, 3)) * size))
    motion = tk.fourier((0, 0, -0.36), rows.sine, rows.cosine, period=4.0, rate=200)
    return tk.synthetic_log(robot, motion, 0.02, seed=seed)


def main() -> dict[str, float]:
    """Held-out error over noise, base parameters, and the mass of a rod: true, before, after."""
    truth = tk.load("omron_mini_delta")
    rod = truth.bodies.rod  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    light = rod.model_copy(update={"mass": rod.mass / 1.5})
    bodies = truth.bodies.model_copy(update={"rod": light})  # pyright: ignore[reportOptionalMemberAccess]
    before = truth.model_copy(update={"bodies": bodies})

    found = tk.identify(before, [log(truth, 0)], [log(truth, 1)])
    verdict = found.verdict
    for parameter in verdict.parameters[:3]:
        print(f"{parameter.formula:40} {parameter.value:.4g} +- {parameter.half_interval:.1g}")
    for sentence in verdict.recommendation:
        print(sentence)
    assert verdict.held_out is not None
    after = found.robot.bodies.rod  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    return {
        "error over noise": float(np.max(verdict.held_out.consistent) / 0.02),
        "base parameters": float(verdict.rank),
        "rod before [g]": 1e3 * light.mass,
        "rod after [g]": 1e3 * after.mass,
        "rod in truth [g]": 1e3 * rod.mass,
    }


if __name__ == "__main__":
    main()
