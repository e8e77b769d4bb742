"""Each example runs, and the numbers its text claims are the numbers it returns."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.description import kinds
from triskele.kinematics import build as building

FOLDER = Path(__file__).parents[1] / "examples"

# What the module's docstring says, and how exactly it says it.
CLAIMS = {
    "01_inverse_kinematics": {
        "q1 [deg]": (4.08, 0.005),
        "q2 [deg]": (42.02, 0.005),
        "q3 [deg]": (7.10, 0.005),
        "round trip error [m]": (0.0, 1e-12),
        "part of poses reached": (0.81, 0.005),
    },
    "02_own_robot": {
        "home z [m]": (-0.4, 1e-12),
        "degrees of freedom": (3, 0),
        "assumptions": (2, 0),
    },
    "03_workspace": {
        "all limits": (1.38, 0.005),
        "joint_angle": (1.4 * 1.38, 0.05 * 1.38),
        "telescope_length": (1.15 * 1.38, 0.01 * 1.38),
        "rod_tilt": (1.3 * 1.38, 0.05 * 1.38),
    },
    "04_pick_and_place": {
        "speed": (0.21, 0.005),
        "jerk": (1.20, 0.005),
        "used": (1.0, 1e-3),
    },
    "05_calibration": {
        "dz/dd [1]": (-1.175, 5e-4),
        "before [m]": (0.8e-3, 1e-12),
        "exact [m]": (0.0, 1e-10),
        "noisy [m]": (0.0, 5e-6),
    },
    "06_rod_loads": {
        "pick, peak": (106.7, 0.05),
        "pick": (14.1, 0.05),
        "axis": (0.96, 0.005),
    },
    "07_stewart_platform": {
        "push [N]": (49.14, 0.005),
        "weight [N]": (372.65, 0.005),
        "freedom": (6, 0),
    },
    "10_bandwidth": {
        "bandwidth": (15.96, 0.01),
        "gain limit": (519.9, 0.1),
        "as published": (148.5, 0.1),
        "gain doubled": (121.9, 0.1),
        "fed forward": (6.1, 0.1),
    },
    "09_virtual_sensor": {
        "largest": (0.96, 0.005),
        "chord": (1.9, 0.05),
        "clamped": (62.2, 0.5),
        "no encoder": (4.4, 0.1),
    },
    "11_identification": {
        "error over noise": (1.0, 0.05),
        "base parameters": (18, 0),
        "rod before [g]": (44, 0.5),
        "rod after [g]": (58, 1.0),
        "rod in truth [g]": (66, 0.5),
    },
    "08_settling": {
        "frequency [Hz]": (2.9, 0.05),
        "plain, duration [s]": (0.6, 1e-12),
        "plain, swing [mm]": (36, 0.5),
        "plain, settled [s]": (4.23, 0.005),
        "ZVD, duration [s]": (0.94, 0.005),
        "ZVD, swing [mm]": (0.45, 0.005),
        "ZVD, settled [s]": (0.94, 0.005),
    },
}


def load(path: Path) -> Callable[[], dict[str, float]]:
    """`main` of the example at `path`."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.__doc__, f"{path.name} says nothing about itself"
    return module.main


def test_every_example_has_its_claims_checked():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(CLAIMS)


LONG = ("10_bandwidth", "11_identification")  # these compile for half a minute
EACH = [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in CLAIMS]


@pytest.mark.parametrize("name", EACH)
def test_an_example_returns_the_numbers_its_text_claims(
    name: str, capsys: pytest.CaptureFixture[str]
):
    numbers = load(FOLDER / f"{name}.py")()
    for key, (claimed, tolerance) in CLAIMS[name].items():
        assert numbers[key] == pytest.approx(claimed, abs=tolerance, rel=0), key
    assert capsys.readouterr().out, "an example prints what it found"


def test_an_architecture_of_ones_own_has_the_eight_assemblies_that_are_known(capsys, monkeypatch):
    """Bonev, Chablat and Wenger, Working and assembly modes of the Agile Eye, 2006."""
    monkeypatch.setattr(kinds, "_ADDED", dict(kinds._ADDED))
    monkeypatch.setattr(building, "_BUILDERS", dict(building._BUILDERS))
    monkeypatch.setattr(building, "_ADDED", set(building._ADDED))
    numbers = load(FOLDER / "architectures" / "agile_eye.py")()
    assert numbers["assemblies"] == 8
    # the axis of a distal link is at right angles to that of its motor and to its corner
    q, s, c = np.radians(numbers["q1 [deg]"]), np.sqrt(2 / 3), np.sqrt(1 / 3)
    u, m = np.array([s, 0.0, -c]), np.array([0.0, 1.0, 0.0])
    w = np.cos(q) * m + np.sin(q) * np.cross(u, m)
    v = Rotation.from_euler("ZYX", [1.2, 0.0, 0.3]).apply([s, 0.0, c])
    assert abs(w @ v) < 1e-12


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_stays_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
