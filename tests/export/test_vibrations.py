"""Frequencies, responses and animations as files: what is written is read again.

Deflections are made up, small and random: it is the tables that are tested.
"""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import read_table, write_table
from triskele.export.vibrations import frequencies_table, response_table, write_animation
from triskele.flexible.assembly import Damping
from triskele.flexible.response import Response
from triskele.flexible.robot import flexible
from triskele.kinematics.motion import line

RNG = np.random.default_rng(0)
ROBOT = flexible(load("flexible_delta"))
NAMES = ("arm_1", "arm_2", "arm_3", "rod_1", "rod_2", "rod_3")


def made_up(size=1e-3):
    motion = line([0.0, 0.0, -0.5], [0.05, 0.0, -0.5], duration=0.2, rate=200)
    y, yd = size * RNG.normal(size=(2, len(motion.t), ROBOT.unknowns))
    return Response(motion, ROBOT, Damping(), y, yd, RNG.normal(size=(len(motion.t), 3)))


FOUND = made_up()


def test_a_response_has_motion_deviation_torques_stresses_and_middles_with_units(tmp_path):
    table = response_table(FOUND)
    deviations = ("dx", "dy", "dz", "rx", "ry", "rz")
    torques = ("tau1", "tau2", "tau3")
    stresses = tuple(f"{name}_stress" for name in NAMES)
    middles = tuple(f"{name}_mid_{part}" for name in NAMES for part in ("u", "v", "w", "twist"))
    assert table.names == ("t", "x", "y", "z", *deviations, *torques, *stresses, *middles)
    shown = ("t", "x", "dy", "rz", "tau3", "rod_2_stress", "rod_2_mid_w", "arm_1_mid_twist")
    assert [table[name].unit for name in shown] == ["s", "m", "m", "rad", "N m", "Pa", "m", "rad"]
    assert np.array_equal(table["rod_2_mid_w"].values, FOUND.middles().displacement[:, 4, 2])
    assert np.array_equal(table["dy"].values, FOUND.y[:, 1])
    assert np.array_equal(table["rz"].values, FOUND.y[:, 5])
    assert np.array_equal(table["rod_2_stress"].values, FOUND.strains().stress[:, 4])
    write_table(table, tmp_path / "r.csv")
    again = read_table(tmp_path / "r.csv")
    for name in table.names:
        assert np.array_equal(again[name].values, table[name].values)


def test_frequencies_are_in_hertz_one_row_per_pose():
    x, w = RNG.normal(size=(4, 3)), 2 * np.pi * RNG.uniform(1, 9, size=(4, 2))
    table = frequencies_table(ROBOT.mechanism, x, w)
    assert table.names == ("x", "y", "z", "f1", "f2")
    assert np.allclose(table.column("f2", "Hz"), w[:, 1] / (2 * np.pi))
    assert np.array_equal(table["z"].values, x[:, 2])
    timed = frequencies_table(ROBOT.mechanism, x, w, np.arange(4.0))
    assert timed.names[0] == "t"
    assert timed["t"].unit == "s"


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = write_animation(FOUND, tmp_path_factory.mktemp("film") / "f.npz", rate=20, enlarged=3.0)
    with np.load(path, allow_pickle=False) as found:
        return dict(found)


def test_pictures_are_evenly_spaced(film):
    assert np.allclose(film["t"], [0, 0.05, 0.1, 0.15, 0.2])


def test_pictures_are_from_the_first_sample_to_the_last(film):
    assert film["t"][[0, -1]] == pytest.approx([0, 0.2])
    assert tuple(film["links"]) == NAMES
    assert film["points"].shape == (5, 6, 13, 3)


def test_the_platform_of_a_picture_deviates_enlarged(film):
    rows = np.searchsorted(FOUND.t, film["t"] - 1e-9)
    x = np.asarray(FOUND.motion.x)[rows]
    assert np.allclose(film["platform"], x + 3 * FOUND.position[rows], atol=1e-12)
    assert np.allclose(film["rotation"], 3 * FOUND.rotation[rows], atol=1e-12)


def test_links_begin_at_the_motors_and_meet_at_elbows_and_wrists(film):
    points = film["points"]
    for i, azimuth in enumerate(np.asarray(ROBOT.mechanism.azimuth)):
        out = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        assert np.allclose(points[:, i, 0], 0.1 * out[None], atol=1e-12)
        assert np.allclose(points[:, i, -1], points[:, 3 + i, 0], atol=1e-12)
        turned = np.cross(film["rotation"], np.broadcast_to(0.05 * out, (5, 3)))
        wrist = film["platform"] + 0.05 * out[None] + turned
        assert np.allclose(points[:, 3 + i, -1], wrist, atol=1e-12)


def test_a_straight_robot_is_drawn_straight(tmp_path):
    nothing = (0 * part for part in (FOUND.y, FOUND.yd, FOUND.torque))
    still = Response(FOUND.motion, ROBOT, Damping(), *nothing)
    with np.load(write_animation(still, tmp_path / "s.npz", rate=20, enlarged=3.0)) as found:
        points = found["points"]
    steps = np.linalg.norm(np.diff(points, axis=2), axis=3)
    lengths = np.repeat([0.5, 0.6], 3) / 12
    assert np.allclose(steps, lengths[None, :, None], rtol=1e-10)
    assert np.allclose(
        np.linalg.norm(points[:, :, -1] - points[:, :, 0], axis=2), 12 * lengths[None]
    )
