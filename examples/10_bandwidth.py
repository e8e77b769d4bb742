"""The bandwidth of a flexure stage, and what is worth more: higher gains, or a model.

The compliant 3PRS follows 2 mm up and down at 0.5 Hz. Its belts wind up under the force of the
flexures, so that its motors can be where they should and the platform is not. Higher gains make
the motors follow better; only what is fed forward from the model moves the platform to where it
belongs.
"""

import numpy as np

import triskele as tk


def main() -> dict[str, float]:
    """Bandwidth [Hz] and greatest errors [um] of three controls."""
    robot = tk.load("compliant_3prs")
    servo = tk.bandwidth(robot)
    height = servo.bandwidths[0]
    found = {"bandwidth": height.relative or 0.0, "gain limit": servo.margins.gain_limit}
    print(f"bandwidth of z {found['bandwidth']:.2f} Hz, kV up to {found['gain limit']:.0f} 1/s")

    table = tk.build(robot)
    home, coordinates = np.asarray(table.home()), table.platform_coordinates  # z, psi, theta
    wave = tk.sine(home, [2e-3, 0, 0], frequency=0.5, duration=3.0, coordinates=coordinates)
    controls = {
        "as published": (tk.cascade(robot), tk.FeedForward()),
        "gain doubled": (tk.cascade(robot, position_gain=130.0), tk.FeedForward()),
        "fed forward": (tk.cascade(robot), tk.FeedForward(velocity=True, windup=True)),
    }
    for name, (control, feed) in controls.items():
        run = tk.track(robot, wave, control=control, feed=feed)
        settled = run.t > 1.0
        found[name] = 1e6 * float(np.abs(run.error[settled, 0]).max())
        print(f"{name:12}  platform off by up to {found[name]:5.1f} um")
    return found


if __name__ == "__main__":
    main()
