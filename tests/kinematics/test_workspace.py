"""Workspaces whose volume is known, islands, symmetry, and the sentences for bad requests."""

import re
from functools import cache

import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import InputError, OutOfReach, UnknownName
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.reach import nearest_limit
from triskele.kinematics.workspace import _connected, guaranteed_room, workspace

IRB = build(load("abb_irb360_6_1600"))
# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
DEGREE = np.pi / 180


@cache
def built(name):
    """The mechanism of a sample robot."""
    return build(described(name))


def test_a_cylinder_has_its_volume_within_the_stated_uncertainty():
    limits = Limits(workspace_radius=0.3, workspace_height=(-1.05, -0.8))
    exact = np.pi * 0.3**2 * 0.25
    for resolution in (24, 49):
        found = workspace(IRB, limits, resolution=resolution, guaranteed=True)
        assert abs(found.volume - exact) < found.uncertainty < 0.03 * exact
    assert found.uncertainty < 0.015 * exact
    assert (found.names, found.unit) == (("x", "y", "z"), "m^3")
    step = max(axis[1] - axis[0] for axis in found.axes)
    expected = np.array([[-0.3, 0.3], [-0.3, 0.3], [-1.05, -0.8]])
    assert (np.abs(found.bounds - expected) < step).all()


def test_the_volume_converges_and_a_tighter_joint_range_makes_it_smaller():
    limits = load("abb_irb360_6_1600").limits
    volumes = [workspace(IRB, limits, resolution=n) for n in (17, 33, 65)]
    coarse, middle, fine = (found.volume for found in volumes)
    assert abs(fine - middle) < 0.6 * abs(middle - coarse)
    assert all(abs(found.volume - fine) <= 1.5 * found.uncertainty for found in volumes)
    tight = limits.model_copy(update={"joint_angle": (-10 * DEGREE, 60 * DEGREE)})
    smaller = workspace(IRB, tight, resolution=33)
    assert smaller.volume < 0.7 * middle
    assert (smaller.bounds[:, 0] >= volumes[1].bounds[:, 0] - 0.1).all()
    # Limbs 2 and 3 are mirror images: the workspace is as far to the left as to the right.
    assert np.allclose(volumes[1].slack, volumes[1].slack[:, ::-1], atol=1e-9)


def test_a_height_on_the_axis_is_where_the_joint_range_ends():
    """On the axis of the 3-4-5 Delta: z = -3 sin q - sqrt(25 - 9 cos(q)^2)."""
    limits = Limits(joint_angle=(-30 * DEGREE, 30 * DEGREE), rod_tilt=10 * DEGREE)
    found = workspace(TRIANGLE, limits, resolution=49)
    ends = [-3 * np.sin(q) - np.sqrt(25 - 9 * np.cos(q) ** 2) for q in (np.pi / 6, -np.pi / 6)]
    step = found.axes[2][1] - found.axes[2][0]
    assert np.allclose(found.bounds[2], ends, atol=step)
    inside = found.inside[24, 24]  # on the axis
    assert np.allclose([found.axes[2][inside].min(), found.axes[2][inside].max()], ends, atol=step)


def test_the_tiny_workspace_of_a_3prs_is_found():
    """4 mm high and 1 deg of tilt in any direction (Ruiz et al. 2022, section 1)."""
    robot = load("compliant_3prs")
    found = workspace(build(robot), robot.limits, resolution=33, guaranteed=True)
    exact = 0.004 * np.pi * DEGREE**2
    # Tilts add as cos(psi) cos(theta), a circle to 1e-4; the rest is the grid's.
    assert abs(found.volume - exact) < 2 * found.uncertainty < 0.02 * exact
    assert found.unit == "m rad^2"
    assert found.names == ("z", "psi", "theta")


def test_a_cylinder_that_does_not_contain_home_is_found_all_the_same():
    robot = load("flexible_delta")
    mechanism = build(robot)
    assert float(mechanism.home()[2]) > -0.3  # while the cylinder is at -0.7 to -0.5 m
    found = workspace(mechanism, robot.limits, resolution=33, guaranteed=True)
    exact = np.pi * 0.1**2 * 0.2
    assert abs(found.volume - exact) < found.uncertainty < 0.02 * exact


def test_islands_are_made_unreachable_and_the_mainland_is_left_alone():
    values = np.full((5, 5, 5), -1.0)
    values[0, 0, :2] = 2.0
    values[4, 4, 4] = 3.0
    found = _connected(values, (0, 0, 0))
    assert np.array_equal(found[0, 0, :2], [2, 2])
    assert found[4, 4, 4] == -3
    assert np.array_equal(_connected(values, (2, 2, 2)), values)  # no mainland


def test_progress_is_reported_and_ends_at_one():
    parts = []
    workspace(
        TRIANGLE,
        Limits(workspace_radius=0.5, workspace_height=(-4.5, -3.5)),
        resolution=8,
        guaranteed=True,
        progress=parts.append,
    )
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert 0 <= parts[0] < 0.2


def test_home_that_is_not_allowed_is_an_error_with_the_reason():
    limits = Limits(joint_angle=(20 * DEGREE, 60 * DEGREE))
    said = r"^The home position is out of reach: q\d would be 0 deg, allowed is 20 to 60 deg\.$"
    with pytest.raises(OutOfReach, match=said):
        workspace(TRIANGLE, limits, resolution=8)


def test_home_that_is_not_allowed_is_replaced_by_the_middle_of_the_declared_height():
    range_ = (20 * DEGREE, 60 * DEGREE)
    limits = Limits(joint_angle=range_, workspace_height=(-6.5, -6.0), rod_tilt=5 * DEGREE)
    assert workspace(TRIANGLE, limits, resolution=17).volume > 0
    limits = Limits(joint_angle=range_, workspace_height=(-3.0, -2.8))
    said = r"^The middle of the workspace is out of reach: q\d would be -\d"
    with pytest.raises(OutOfReach, match=said):
        workspace(TRIANGLE, limits, resolution=8)


@pytest.mark.parametrize("resolution", [7, 513])
def test_a_resolution_that_makes_no_sense_is_refused(resolution):
    with pytest.raises(InputError, match=f"resolution of {resolution} is not between 8 and 512"):
        workspace(TRIANGLE, Limits(), resolution=resolution)


def test_room_of_the_declared_cylinder():
    limits = load("abb_irb360_6_1600").limits
    # At a radius of 0.8 m a rod of 1.106 m tilts by 46.3 deg; 47 deg are allowed.
    found = guaranteed_room(IRB, limits)
    assert found is not None
    assert np.isclose(found.room, 47 * DEGREE - np.arcsin(0.8 / 1.106), atol=1e-12)
    assert found.reason is None
    wider = guaranteed_room(IRB, limits.model_copy(update={"workspace_radius": 0.85}))
    assert wider is not None
    assert np.isclose(wider.room, 47 * DEGREE - np.arcsin(0.85 / 1.106), atol=1e-12)
    assert np.isclose(np.hypot(*wider.pose[:2]), 0.85)
    assert wider.reason is not None
    assert wider.reason.endswith("would be 50.22 deg, allowed is at most 47 deg")
    turn = np.linspace(0, 2 * np.pi, 181)  # at 0.85 m, away from the planes of the limbs
    across = [abs(np.sin(turn - np.radians(phi))) for phi in (0, 120, 240)]
    rounds = 23 / 63  # of the circles looked at: the wall, and the rims of the lids
    tilted = np.mean(np.max(across, axis=0) > 1.106 * np.sin(47 * DEGREE) / 0.85)
    assert np.isclose(wider.out, rounds * tilted)
    assert guaranteed_room(IRB, Limits()) is None
    assert guaranteed_room(IRB, Limits(workspace_radius=0.5)) is None


def test_room_is_said_in_the_unit_of_the_limit_that_is_nearest():
    limits = load("abb_irb360_6_1600").limits
    found = guaranteed_room(IRB, limits)
    assert found is not None
    angle = 47 - np.degrees(np.arcsin(0.8 / 1.106))
    assert re.fullmatch(rf"{angle:.4g} deg to the limit of the tilt of rod \d", found.nearest)
    assert found.out == 0
    # At x = y = 0 and z = -0.75 m the telescope is 0.75 + 0.075 - 0.038 m long.
    low = 0.7
    short = limits.model_copy(
        update={
            "workspace_radius": 0.01,
            "workspace_height": (-0.76, -0.75),
            "telescope_length": (low, 1.46),
        }
    )
    found = guaranteed_room(IRB, short)
    assert found is not None
    own = nearest_limit(IRB, short, found.pose)
    assert own.limit.label == "length of the telescope"
    left = float(own.value) - low
    assert np.isclose(left, 0.087)
    assert found.nearest == f"{left:.4g} m to the limit of the length of the telescope"


# Other coordinates


def test_sections_of_a_cylinder_have_their_area_and_its_axis_its_length():
    limits = Limits(workspace_radius=0.3, workspace_height=(-1.05, -0.8))

    def found(over, **at):
        return workspace(IRB, limits, over=over, at=at, resolution=49, guaranteed=True)

    for over, at, exact, unit, measure in (
        (("x", "z"), {}, 0.6 * 0.25, "m^2", "area"),
        (("z", "x"), {"y": 0.1}, 2 * 0.08**0.5 * 0.25, "m^2", "area"),
        (("x", "y"), {"z": -1.0}, np.pi * 0.09, "m^2", "area"),
        (("z",), {}, 0.25, "m", "length"),
        (("psi",), {}, 2 * np.pi, "rad", "length"),  # nothing limits it: one turn
        (("x", "psi"), {}, 0.6 * 2 * np.pi, "m rad", "area"),
        (("x", "z", "psi"), {}, 0.6 * 0.25 * 2 * np.pi, "m^2 rad", "volume"),
    ):
        space = found(over, **at)
        assert space.volume == pytest.approx(exact, rel=0.02), over
        assert abs(space.volume - exact) < space.uncertainty + 1e-9, over
        assert (space.unit, space.measure) == (unit, measure)
        assert set(space.names) == set(over)
        held = {c.name: value for c, value in space.held}
        assert held.keys() == {"x", "y", "z", "psi"} - set(over)
        assert at.items() <= held.items()


def test_by_itself_it_is_over_lengths_or_the_first_three():
    for name, names, unit in (
        ("five_bar", ("x", "y"), "m^2"),
        ("planar_3rrr", ("x", "y"), "m^2"),
        ("3rrs", ("z", "psi", "theta"), "m rad^2"),
        ("6ups", ("x", "y", "z"), "m^3"),
    ):
        space = workspace(built(name), Limits(), resolution=8)
        assert (space.names, space.unit) == (names, unit)
        assert space.volume > 0


def test_a_tilt_that_is_limited_bounds_a_range_of_orientations():
    """R = Ry(b) Rx(a): the platform tilts by arccos(cos a cos b)."""
    mechanism, tilt = built("6ups"), 10 * DEGREE
    limits = Limits(platform_tilt=tilt)
    at = {"z": 0.65, "c": 0.0}
    space = workspace(mechanism, limits, over=("a", "b"), at=at, resolution=49)
    a = np.linspace(-tilt, tilt, 2001)
    exact = 2 * np.trapezoid(np.arccos((np.cos(tilt) / np.cos(a)).clip(-1, 1)), a)
    assert space.volume == pytest.approx(exact, abs=2 * space.uncertainty)
    assert space.uncertainty < 0.01 * exact
    assert space.unit == "rad^2"
    solid = workspace(mechanism, limits, over=("a", "b", "z"), at={"c": 0.0}, resolution=17)
    assert solid.unit == "m rad^2"
    ends = np.degrees(solid.bounds[[list(solid.names).index(n) for n in "ab"]])
    assert ends == pytest.approx(np.array([[-10, 10]] * 2), abs=2)


def test_what_is_not_limited_is_said_to_have_no_end():
    with pytest.raises(InputError) as caught:
        workspace(built("linear_delta"), Limits(), resolution=8)
    assert str(caught.value) == (
        "The workspace has no end along z: the file has no limits.slider_position or "
        "limits.rod_tilt."
    )


def test_a_cylinder_that_a_plane_cuts_is_judged_where_the_robot_goes():
    mechanism = built("two_axis_delta")
    found = guaranteed_room(
        mechanism, Limits(workspace_radius=0.1, workspace_height=(-0.45, -0.35))
    )
    assert found is not None
    assert found.reason is None
    assert found.room > 0
    found = guaranteed_room(
        mechanism, Limits(workspace_radius=0.1, workspace_height=(-0.75, -0.35))
    )
    assert found is not None
    assert found.room < 0
    assert np.allclose(np.abs(found.pose), [0.1, 0.75])
    assert found.reason is not None
    assert "leg" in found.reason
    lifting = Limits(workspace_radius=0.1, workspace_height=(0.3, 0.4))
    assert guaranteed_room(built("3rrs"), lifting) is None  # moves in neither x nor y


@pytest.mark.parametrize(
    ("asked", "kind", "said"),
    [
        ({"over": ("x", "q")}, UnknownName, "There is no coordinate 'q'. Known: c, x, y, z."),
        ({"over": ("x", "x")}, InputError, "over one to 3 different coordinates of x, y, z, c, "),
        ({"over": ()}, InputError, "different coordinates of x, y, z, c, not over none."),
        ({"over": tuple("xyzc")}, InputError, "not over x, y, z, c."),
        ({"at": {"psi": 0.1}}, UnknownName, "There is no coordinate 'psi'."),
        ({"at": {"z": 0.1}}, InputError, "z is sampled; it cannot be held at a value as well."),
        ({"at": {"c": 3.0}}, OutOfReach, "The home position with c = 3 rad is out of reach: "),
        (
            {"over": ("x",), "at": {"y": 5.0, "c": 0.1}},
            OutOfReach,
            "The home position with y = 5 m, c = 0.1 rad is out of reach: leg ",
        ),
    ],
)
def test_requests_that_cannot_be_met_are_refused_in_a_sentence(asked, kind, said):
    with pytest.raises(kind) as caught:
        workspace(built("par4"), Limits(), resolution=8, **asked)
    assert said in str(caught.value)
