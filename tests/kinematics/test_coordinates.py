"""Coordinates by their roles: lengths, what lifts and turns a tool; none by its place in a row."""

import equinox as eqx
import jaxtyping
import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.errors import InputError
from triskele.kinematics.build import build
from triskele.kinematics.coordinates import (
    across,
    coordinates_of,
    level,
    listed,
    measured,
    turner,
    vertical,
    way_unit,
)
from triskele.kinematics.delta import Delta
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.motion import circle, motion_from_table, pick_and_place, rating_cycle
from triskele.kinematics.path import Rounded, path_length, u_turn, u_turn_on_legs, way_points
from triskele.numerics import batch

X, Y, Z = (Coordinate(name, "m") for name in "xyz")
A, C = Coordinate("a", "rad"), Coordinate("c", "rad")
EARTH = (0.0, 0.0, -9.81)


class Named(Delta):
    """A Delta as somebody else may call its coordinates."""

    @property
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """Two level ones, and the height."""
        return tuple(Coordinate(name, "m") for name in ("east", "north", "height"))


NAMED = Named.symmetric(base_radius=0.2, platform_radius=0.05, arm_length=0.3, rod_length=0.7)


def test_what_lifts_is_called_z_or_moves_against_gravity():
    assert vertical(build(described("6ups")), (9.81, 0.0, 0.0)) == "z"
    assert vertical(build(described("two_axis_delta")), EARTH) == "z"
    flat = build(described("five_bar"))
    assert vertical(flat, EARTH) is None
    assert vertical(flat, (0.0, -9.81, 0.0)) == "y"
    assert vertical(flat, (0.0, 9.81, 0.0)) is None  # y would lower it
    assert vertical(flat, (-9.6, -2.0, 0.0)) == "x"
    assert vertical(flat, (-7.0, -7.0, 0.0)) is None  # neither alone
    assert vertical(flat, (0.0, 0.0, 0.0)) is None
    assert vertical(NAMED, EARTH) == "height"


def test_what_turns_the_tool_turns_it_about_the_vertical():
    for name, expected in (("6ups", "c"), ("par4", "c"), ("telescope_delta", "psi")):
        assert turner(build(described(name)), "z") == expected
    assert turner(build(described("two_axis_delta")), "z") is None
    assert turner(build(load("d3s_800")), "z") is None
    # Of a hexapod that rests on its side, a would turn the tool about x.
    assert turner(build(described("6ups")), "x") == "a"


def test_ways_across_run_along_y_or_the_last_that_is_level():
    assert across((Z, A, Y, X)) == 2
    assert across((X, Z)) == 0
    assert level((C, Z, X)) == (2,)
    named = NAMED.platform_coordinates
    assert named[across(named, "height")].name == "north"


def test_ways_are_measured_in_lengths_where_there_are_two():
    assert measured((A, X, C, Y)) == (1, 3)
    assert way_unit((A, X, C, Y)) == "m"
    assert measured((A, Coordinate("b", "rad"), C)) == (0, 1, 2)
    assert way_unit((A, C)) == "rad"
    assert measured((Z, A)) == (0, 1)
    assert way_unit((Z, A)) == "m or rad"


# Nothing is known by its place: what is in another order comes out in another order


ORDER = (3, 2, 0, 1)  # psi, z, x, y
NAMES = coordinates_of(4)
MIXED = tuple(NAMES[k] for k in ORDER)
PICK, PLACE = np.array([0.0, -0.15, -0.9, 0.2]), np.array([0.05, 0.2, -0.85, 1.2])
U = {"length": 0.8, "height": 0.2, "turn": 0.7}


def mixed(values):
    return np.asarray(values)[..., list(ORDER)]


@pytest.mark.parametrize("back", [False, True])
def test_a_pick_in_another_order_is_the_same_pick(back):
    options = {"height": 0.1, "duration": 0.5, "rate": 200, "back": back}
    plain = pick_and_place(PICK, PLACE, **options)
    other = pick_and_place(mixed(PICK), mixed(PLACE), coordinates=MIXED, **options)
    assert np.allclose(mixed(plain.x), other.x, rtol=0, atol=1e-14)
    assert np.allclose(mixed(plain.xddd), other.xddd, rtol=0, atol=1e-8)
    table = other.to_table()
    assert [table[name].unit for name in ("psi", "z", "xd", "psidd")] == (
        ["rad", "m", "m/s", "rad/s^2"]
    )
    again = motion_from_table(table, MIXED)
    assert again.coordinates == MIXED
    assert np.array_equal(again.x, other.x)


def test_ways_in_another_order_are_the_same_ways():
    turned = rating_cycle(PICK, (1, 1, 0), duration=0.5, turn=1.5, rate=200)
    other = rating_cycle(
        mixed(PICK), (0, 1, 1), duration=0.5, turn=1.5, rate=200, coordinates=MIXED
    )
    assert np.allclose(mixed(turned.x), other.x, rtol=0, atol=1e-14)
    for make, more in ((u_turn, {"corner": 0.15}), (u_turn_on_legs, {})):
        plain = make(PICK, **U, **more)
        other = make(mixed(PICK), **U, **more, coordinates=MIXED)
        assert np.allclose(mixed(plain.control_points), other.control_points, rtol=0, atol=1e-15)
        assert float(path_length(plain)) == pytest.approx(float(path_length(other, MIXED)))
    lift, turn = np.array([0, 0, 0.1, 0]), np.array([0, 0, 0, 1])
    points = np.array([PICK, PICK + lift, PLACE + lift + turn, PLACE])
    plain, other = Rounded(points, 0.05), Rounded(mixed(points), 0.05, MIXED)
    s = np.linspace(0, 1, 37)
    assert all(np.allclose(mixed(plain(u)), other(u), rtol=0, atol=1e-14) for u in s)
    assert other.reversed().coordinates == MIXED


def test_a_circle_in_a_plane_goes_from_its_first_coordinate_to_its_second():
    t = np.linspace(0, 1, 41)
    wave = 0.1 * np.stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)], axis=1)
    flat = circle([0.2, 0.3], 0.1, period=1.0, rate=40, coordinates=(X, Z))
    assert np.allclose(flat.x - np.array([0.2, 0.3]), wave, rtol=0, atol=1e-14)
    centre = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    six = (Z, A, X, C, Y, Coordinate("b", "rad"))
    upright = circle(centre, 0.1, period=1.0, plane=("z", "x"), rate=40, coordinates=six).x - centre
    assert np.allclose(upright[:, [0, 2]], wave, rtol=0, atol=1e-14)
    assert not upright[:, [1, 3, 4, 5]].any()
    around = circle(centre, 0.1, period=1.0, rate=40, coordinates=six).x - centre  # z, not the last
    x, y = around[:, 2], around[:, 4]
    assert np.allclose(np.hypot(x, y), 0.1)
    assert (x[:-1] * y[1:] > y[:-1] * x[1:]).all()  # counterclockwise
    assert not around[:, [0, 1, 3, 5]].any()


def test_orientations_may_be_way_points():
    """Without lengths, ways are angles: a corner of 90 degrees passes at 0.22 of its radius."""
    turns = (A, Coordinate("b", "rad"), C)
    path = Rounded([[0, 0, 0], [0.3, 0, 0], [0.3, 0.4, 0]], 0.1, turns)
    nearest = min(
        float(np.linalg.norm(path(s) - path.way_points[1])) for s in np.linspace(0, 1, 701)
    )
    assert nearest == pytest.approx(0.1 * 5 / 32 * 2**0.5, rel=1e-3)
    with pytest.raises(InputError, match=r"radius is 0.31 rad, but .* there is room for 0.3 rad"):
        Rounded([[0, 0, 0], [0.3, 0, 0], [0.3, 0.4, 0]], 0.31, turns)


def test_way_points_are_read_by_name():
    from triskele.description.tables import Table

    table = Table({"c": ("deg", [0, 90]), "x": ("mm", [0, 100]), "y": ("m", [0, 0.2])}, "a.csv")
    path = way_points(table, coordinates=(X, Y, C))
    assert np.allclose(path(np.array(1.0)), [0.1, 0.2, np.pi / 2])


WRONG = {
    "circle of one length": (
        lambda: circle([0.5, 0, 0], 0.1, period=1, coordinates=(Z, A, C)),
        "A circle runs in two coordinates in m, or about a normal to three; z, a, c have 1.",
    ),
    "circle in a plane of angles": (
        lambda: circle([0.5, 0, 0], 0.1, period=1, plane=("a", "c"), coordinates=(Z, A, C)),
        "plane is a, c; expected are two of z.",
    ),
    "plane of one": (
        lambda: circle([0, 0, 0], 0.1, period=1, plane=("x", "x")),
        "plane is x, x; expected are two of x, y, z.",
    ),
    "normal in a plane": (
        lambda: circle([0, 0], 0.1, period=1, normal=(0, 0, 1), coordinates=(X, Z)),
        "A circle in a plane takes no normal.",
    ),
    "direction that rises": (
        lambda: rating_cycle([0, 0], (1, 1), duration=1, coordinates=(X, Z)),
        "direction is [1.0, 1.0]; a horizontal one was expected.",
    ),
    "two angles, none named": (
        lambda: u_turn([0.0] * 4, coordinates=(X, Z, A, C), corner=0.1, **U),
        "coordinates: x, z, a, c; to turn takes an angle among them, called by its name.",
    ),
    "no such angle": (
        lambda: u_turn([0.0] * 4, coordinates=(X, Z, A, C), corner=0.1, turned="psi", **U),
        "coordinates: x, z, a, c; to turn takes an angle among them, psi.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_such_coordinates_cannot_do_is_said_in_a_sentence(case):
    make, expected = WRONG[case]
    with pytest.raises(InputError) as error:
        make()
    assert expected in str(error.value)


# What types do not refuse where nothing checks them


@pytest.fixture
def unchecked():
    jaxtyping.config.update("jaxtyping_disable", True)  # pyright: ignore[reportCallIssue]
    yield
    jaxtyping.config.update("jaxtyping_disable", False)  # pyright: ignore[reportCallIssue]


def test_names_without_units_are_refused(unchecked):
    with pytest.raises(InputError, match="'x' has no unit; give those of a mechanism"):
        coordinates_of(3, ["x", "y", "z"])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["delta", "telescope_delta", "3prs", "five_bar", "6ups"])
def test_a_solution_takes_one_number_for_each_coordinate(name, unchecked):
    """Tables of rows were taken for vectors, and numbers too many passed over (finding 12)."""
    mechanism = build(load("compliant_3prs") if name == "3prs" else described(name))
    n, home = len(mechanism.platform_coordinates), np.array(mechanism.home(), float)
    q = mechanism.inverse(home).value
    names = listed(mechanism.platform_coordinates)
    for x in (home[:-1], np.append(home, 0.0), list(home[:-1])):
        with pytest.raises(InputError, match=rf"for each of {names} was expected, not {len(x)}\."):
            mechanism.inverse(x)
    for rows in (np.tile(home, (5, 1)), np.tile(home, (n, 1)), [list(home)] * n):
        with pytest.raises(InputError, match=rf"for each of {names} was .* batch\(function\)"):
            mechanism.inverse(rows)
    for joints in (q[:-1], np.append(q, 0.0), np.tile(q, (n, 1))):
        with pytest.raises(InputError, match=r"One number for each of \w+"):
            mechanism.forward(joints)
    found = batch(mechanism.inverse)(np.tile(home, (5, 1)))
    assert np.allclose(found.value, q)


def test_the_size_of_a_robot_is_its_largest_loop():
    lengths = [float(np.asarray(d)) for d in build(described("delta")).scales().loops]
    assert float(np.asarray(build(described("delta")).size)) == max(lengths) > lengths[0]
    # The loop of an axis 4 is an angle, scaled by 1: larger than the rods of a small robot.
    small = eqx.tree_at(
        lambda robot: (robot.arm_length, robot.rod_length),
        build(load("abb_irb360_6_1600")),
        (np.full(3, 0.3), np.full(3, 0.6)),
    )
    assert float(np.asarray(small.size)) == 0.6
