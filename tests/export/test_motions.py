"""Motions as tables: what is written is read again, bit by bit."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import read_table
from triskele.errors import TableError
from triskele.export.motions import read_motion, write_motion
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.motion import Motion, line

RNG = np.random.default_rng(0)
TILT = Coordinate("z", "m"), Coordinate("psi", "rad"), Coordinate("theta", "rad")
TURNING = line([0.1, 0.0, -0.9, 0.2], [-0.1, 0.05, -0.8, 1.3], duration=0.7, rate=30)
TILTING = line([0.076, 0, 0.01], [0.078, -0.01, 0], duration=0.7, rate=30, coordinates=TILT)
FIELDS = ("t", "x", "xd", "xdd", "xddd")


def joints(motion: Motion, n: int) -> JointMotion:
    """Random numbers in place of joint coordinates: it is the table that is tested."""
    orders = RNG.normal(size=(4, len(motion.t), n))
    return JointMotion(*orders)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("motion", [TURNING, TILTING], ids=["turning", "tilting"])
def test_a_motion_comes_back_bit_by_bit(tmp_path, motion, suffix):
    path = write_motion(motion, tmp_path / f"motion{suffix}")
    assert path == tmp_path / f"motion{suffix}"
    again = read_motion(path)
    assert again.coordinates == motion.coordinates
    for field in FIELDS:
        assert np.array_equal(getattr(again, field), getattr(motion, field))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("robot", "motion", "names"),
    [
        ("abb_irb360_6_1600", TURNING, ("q1", "q2", "q3", "q4")),
        ("compliant_3prs", TILTING, ("s1", "s2", "s3")),
    ],
)
def test_joint_columns_stand_beside_the_motion(tmp_path, robot, motion, names, suffix):
    mechanism = build(load(robot))
    along = joints(motion, len(names))
    path = write_motion(motion, tmp_path / f"motion{suffix}", joints=(mechanism, along))
    table = read_table(path)
    assert table.names[0] == "t"
    added = [name + dots for dots in ("", "d", "dd", "ddd") for name in names]
    assert list(table.names[-len(added) :]) == added
    unit = "rad" if names[0] == "q1" else "m"
    for per, dots, values in zip(("", "/s", "/s^2", "/s^3"), ("", "d", "dd", "ddd"), along):  # noqa: B905
        for k, name in enumerate(names):
            assert table[name + dots].unit == unit + per
            assert np.array_equal(table.column(name + dots, unit + per), values[:, k])
    again = read_motion(path, motion.coordinates)
    assert np.array_equal(again.xddd, motion.xddd)


def test_only_the_coordinates_asked_for_are_read(tmp_path):
    path = write_motion(TURNING, tmp_path / "motion.csv")
    assert read_motion(path, TURNING.coordinates[:3]).x.shape == (len(TURNING.t), 3)
    with pytest.raises(TableError, match=r"motion\.csv: there is no column 'theta'"):
        read_motion(path, TILT)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"'\.txt' is not a kind of table"):
        write_motion(TURNING, tmp_path / "motion.txt")
    with pytest.raises(TableError, match=r"nothing\.csv: no such file"):
        read_motion(tmp_path / "nothing.csv")
    assert list(tmp_path.iterdir()) == []
