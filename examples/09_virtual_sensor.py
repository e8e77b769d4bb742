"""What encoders know about a soft link, and what a wrong idea of its shape costs.

A Delta with thin aluminium platens as lower links carries one encoder on each passive joint at
its platform. A pick is simulated with links that bend; the encoders, of 17 bits, are read every
millisecond. The chord sensor knows where a straight rod would stand, from the motors, and takes the
deflection from the difference; the sensor of the literature believes that the platens are clamped.
"""

import numpy as np

import triskele as tk
from triskele.sensing.trial import errors_of, simulated


def main() -> dict[str, float]:
    """Errors of the sensors, relative to the largest deflection."""
    robot = tk.load("omron_mini_delta_platens")
    pick = tk.pick_and_place(robot, length=0.2, height=0.05, duration=0.5)
    truth = simulated(robot, pick)
    largest = 1e3 * float(np.abs(truth.deflection).max())
    print(f"platens bend by up to {largest:.2f} mm")

    one, both = truth.log(bits=17), truth.log(bits=17, hinges=("elbow", "wrist"))
    sensors = {
        "chord": tk.sense(robot, one, "chord"),
        "clamped": tk.sense(robot, both, "modal", ends="clamped-free"),
        "no encoder": tk.sense(robot, one, "observer", encoders=False),
    }
    found = {"largest": largest}
    for name, sensed in sensors.items():
        found[name] = 100 * errors_of(truth, sensed).deflection
        print(f"{name:10}  error up to {found[name]:5.2f} % of the largest deflection")
    return found


if __name__ == "__main__":
    main()
