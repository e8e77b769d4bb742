"""How fast a pick-and-place motion may be, if only the joint limits of the file count.

On a fixed path with a fixed law of time, joint velocity, acceleration and jerk fall with the
first, second and third power of the duration. One motion of 1 s therefore tells the shortest
one: with this law the IRB 360 needs 1.20 s for 0.8 m across and 0.18 m up, and jerk is what
binds. Its speed limit alone would allow 0.21 s.
"""

import numpy as np

import triskele as tk


def main() -> dict[str, float]:
    """Shortest duration under each limit [s], and the largest part used of any of them."""
    robot = tk.load("abb_irb360_6_1600")
    delta = tk.build(robot)
    limits = {
        "speed": robot.limits.joint_speed,
        "acceleration": robot.limits.joint_acceleration,
        "jerk": robot.limits.joint_jerk,
    }

    def used(duration: float) -> dict[str, float]:
        """Part of each limit that the arms use."""
        motion = tk.pick_and_place(robot, length=0.8, height=0.18, duration=duration)
        tk.check_motion(delta, robot.limits, motion)
        _, *rates = tk.joint_motion_along(delta, motion)
        parts = {}
        for (name, limit), rate in zip(limits.items(), rates, strict=True):
            assert limit is not None, "this robot file has all three"
            parts[name] = float(np.abs(np.asarray(rate)[:, :3] / limit[:3]).max())
        return parts

    shortest = {
        name: part ** (1 / power) for power, (name, part) in enumerate(used(1.0).items(), start=1)
    }
    binding = max(shortest, key=lambda name: shortest[name])
    parts = used(shortest[binding])
    for name, duration in shortest.items():
        print(f"{name:14}{duration:.4f} s, then {100 * parts[name]:.1f} % used")
    return shortest | {"used": max(parts.values())}


if __name__ == "__main__":
    main()
