"""Paths: exact where a formula is known, smooth where they claim to be, strict with arguments."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import interpolate
from scipy.integrate import quad

from triskele.description.tables import Table
from triskele.errors import InputError
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.path import (
    AbstractPath,
    BSpline,
    Circle,
    Line,
    PathDerivatives,
    Rounded,
    path_derivatives,
    path_length,
    u_turn,
    u_turn_on_legs,
    way_points,
)
from triskele.numerics import Scalar

RNG = np.random.default_rng(0)
CORNERS = np.array([[0, -0.4, -1, 0], [0, -0.4, -0.8, 0], [0.3, 0.4, -0.8, 1], [0.3, 0.4, -1, 2]])
START = [0.0, -0.4, -1.0]
PATHS = {
    "line": Line(CORNERS[0], CORNERS[2]),
    "circle": Circle([0.1, 0.2, -0.8, 0.5], 0.1, [1, -2, 0.5], 0.3, -1.5),
    "spline": BSpline(RNG.normal(size=(9, 4)), 5),
    "cubic": BSpline(RNG.normal(size=(7, 3)), 3),
    "rounded": Rounded(CORNERS, 0.15),
    "u_turn": u_turn([*START, 0.2], [1, 1, 0], length=0.8, height=0.18, corner=0.15, turn=1.5),
}


@eqx.filter_jit
def evaluated(path: AbstractPath, s: jax.Array) -> PathDerivatives:
    return jax.vmap(lambda s: path_derivatives(path, s))(s)


def at(path: AbstractPath, s) -> PathDerivatives:
    """Values and derivatives, one row per s, as NumPy arrays; padded to compile once."""
    s = np.atleast_1d(np.asarray(s, float))
    derivatives = evaluated(path, jnp.asarray(np.pad(s, (0, 1024 - s.size))))
    return jax.tree.map(lambda array: np.asarray(array)[: s.size], derivatives)


def smallest_radius(path: AbstractPath) -> float:
    """Of curvature [m]; by scipy for splines, which spares a compilation for each size."""
    s = np.linspace(0, 1, 1001)
    if isinstance(path, BSpline):
        t, c = np.asarray(path.knots), np.asarray(path.control_points)
        r1, r2 = (interpolate.BSpline(t, c, path.degree)(s, order) for order in (1, 2))
    else:
        _, r1, r2, _ = at(path, s)
    bend = np.linalg.norm(np.cross(r1[:, :3], r2[:, :3]), axis=1)
    return float((np.linalg.norm(r1[:, :3], axis=1) ** 3 / bend.clip(1e-12)).min())


@pytest.mark.parametrize("name", PATHS)
def test_each_derivative_is_the_difference_quotient_of_the_one_before(name):
    path, h = PATHS[name], 1e-5
    s = RNG.uniform(0.01, 0.99, 200)
    s = s[np.abs(s[:, None] - np.asarray(path.breaks())[None, :]).min(axis=1) > h]
    here, ahead, behind = at(path, s), at(path, s + h), at(path, s - h)
    for order in (1, 2, 3):
        quotient = (ahead[order - 1] - behind[order - 1]) / (2 * h)
        scale = 1 + np.abs(here[order]).max()
        np.testing.assert_allclose(here[order], quotient, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["circle", "spline", "rounded"])
def test_length_agrees_with_adaptive_quadrature(name):
    path = PATHS[name]
    speed = jax.jit(lambda s: jnp.linalg.norm(jax.jvp(path, (s,), (jnp.ones(()),))[1][:3]))
    breaks = np.asarray(path.breaks())
    pieces = itertools.pairwise(breaks)
    expected = sum(quad(lambda s: float(speed(s)), a, b, epsabs=1e-9)[0] for a, b in pieces)
    assert float(path_length(path)) == pytest.approx(expected, rel=1e-7)


def test_lengths_known_by_hand():
    assert float(path_length(Line([0, 0, 0, 9], [3, 4, 0, 0]))) == pytest.approx(5)
    whole = Line([0, 0, 0], [3, 4, 12])
    X, A = Coordinate("x", "m"), Coordinate("a", "rad")
    assert float(path_length(whole)) == pytest.approx(13)
    assert float(path_length(whole, (A, X, Coordinate("y", "m")))) == pytest.approx(160**0.5)
    assert float(path_length(whole, (A, X, Coordinate("b", "rad")))) == pytest.approx(13)
    turns = Circle([0, 0, 0], 0.1, turns=-2.5)
    assert float(path_length(turns)) == pytest.approx(math.pi / 2)


def test_a_line_meets_both_its_ends_exactly():
    start, end = RNG.normal(size=(2, 4))
    r, r1, r2, r3 = at(Line(start, end), [0, 1])
    assert r.tolist() == [start.tolist(), end.tolist()]
    np.testing.assert_allclose(r1, [end - start] * 2, atol=1e-15)
    assert not r2.any() and not r3.any()


@pytest.mark.parametrize(
    "normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -3, 0), (1, -2, 0.5), (1e-9, 0, -1)]
)
def test_a_circle_turns_counterclockwise_about_its_normal(normal):
    centre = np.array([0.1, 0.2, -0.8])
    r, r1, r2, _ = at(Circle([*centre, 0.7], 0.25, normal, turns=2), np.linspace(0, 1, 9))
    n = np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose(np.linalg.norm(r[:, :3] - centre, axis=1), 0.25, rtol=1e-12)
    np.testing.assert_allclose((r[:, :3] - centre) @ n, 0, atol=1e-12)
    v = 2 * np.pi * 2 * 0.25
    np.testing.assert_allclose(np.cross(r[:, :3] - centre, r1[:, :3]) @ n, 0.25 * v, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(r2[:, :3], axis=1), v**2 / 0.25, rtol=1e-12)
    assert (r[:, 3] == 0.7).all()


def test_a_level_circle_starts_on_the_x_axis():
    r = at(Circle([0, 0, 0], 2, start_angle=math.pi / 6), [0, 0.25]).r
    np.testing.assert_allclose(r, [[3**0.5, 1, 0], [-1, 3**0.5, 0]], atol=1e-15)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_splines_are_those_of_scipy_with_three_derivatives(degree):
    points = RNG.normal(size=(9, 3))
    inner = np.sort(RNG.uniform(0.1, 0.9, 8 - degree))
    inner[1] = inner[0]  # a double knot
    uneven = np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])
    for knots in (None, uneven) if degree > 1 else (None,):
        path = BSpline(points, degree, knots)
        # Also on the knots, where pieces meet; not at 1, where scipy has the same piece.
        s = np.concatenate([np.linspace(0, 1, 37), np.asarray(path.breaks())])
        reference = interpolate.BSpline(np.asarray(path.knots), points, degree)
        for order, values in enumerate(at(path, s)):
            expected = reference(s, order)
            np.testing.assert_allclose(values, expected, atol=1e-11 * (1 + np.abs(expected).max()))


def test_a_spline_weighs_its_control_points_by_scipys_basis_and_by_one_in_all():
    path = BSpline(np.zeros((8, 3)), 3)
    s = jnp.linspace(0, 1, 21)

    def height(points: jax.Array, s: jax.Array) -> jax.Array:
        return eqx.tree_at(lambda path: path.control_points, path, points)(s)[2]

    weights = jax.jit(jax.vmap(jax.grad(height), in_axes=(None, 0)))(path.control_points, s)
    assert not weights[:, :, :2].any()
    np.testing.assert_allclose(weights[:, :, 2].sum(axis=1), 1, atol=1e-15)
    basis = interpolate.BSpline.design_matrix(np.asarray(s), np.asarray(path.knots), 3)
    np.testing.assert_allclose(weights[:, :, 2], basis.toarray(), atol=1e-15)


def test_a_spline_meets_its_ends_exactly():
    path = PATHS["spline"]
    assert isinstance(path, BSpline)
    assert at(path, [0, 1]).r.tolist() == path.control_points[jnp.array([0, -1])].tolist()


def test_a_rounded_path_is_straight_outside_its_corners():
    path = Rounded(CORNERS, 0.15)
    legs = np.diff(CORNERS, axis=0)
    lengths = np.linalg.norm(legs[:, :3], axis=1)
    ways = np.append(0, np.cumsum(lengths))
    for i, (begin, end) in enumerate([(0, 0.05), (0.15, lengths[1] - 0.15), (0.15, 0.2)]):
        way = np.linspace(begin, end, 50)
        r, r1, r2, r3 = at(path, (ways[i] + way) / ways[-1])
        share = (way / lengths[i])[:, None]
        np.testing.assert_allclose(r, CORNERS[i] + share * legs[i], atol=1e-14)
        np.testing.assert_allclose(r1, [legs[i] / lengths[i] * ways[-1]] * 50, atol=1e-14)
        assert not r2[1:-1].any() and not r3[1:-1].any()


def test_a_rounded_corner_has_a_continuous_third_derivative():
    path = Rounded(CORNERS, 0.15)
    breaks = np.asarray(path.breaks())[1:-1]
    before, after = at(path, breaks - 1e-9), at(path, breaks + 1e-9)
    for left, right, scale in zip(before, after, (1, 1, 10, 100), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-4 * scale)
    assert np.abs(at(path, np.linspace(0, 1, 999)).r3).max() > 100


def test_a_rounded_corner_stays_in_the_triangle_it_cuts_off():
    # Legs along x and y: inside x < 0, y > 0 of the corner, and above the chord.
    path = Rounded([[-1, 0, 0], [0, 0, 0], [0, 1, 0]], 0.5)
    r, r1, *_ = at(path, np.linspace(0.25, 0.75, 201))
    x, y, _ = r.T
    assert (x <= 0).all() and (y >= 0).all() and (y - x <= 0.5 + 1e-15).all()
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all() and (r1[:, :2] >= 0).all()
    np.testing.assert_allclose(r[:, :2], -r[::-1, 1::-1], atol=1e-15)


def test_the_middle_of_a_right_angle_is_known_by_hand():
    # ramp(0) = d (5/16 - 6/32 + 2/64) = 5 d / 32; the bend there is S'(1/2) |v - u| / (2 d) =
    # 15 sqrt(2) / (16 d), the speed sqrt(1/2): a radius of (1/2) 16 d / (15 sqrt(2)).
    path = Rounded([[0, 0, 0], [0, 0, 1], [1, 0, 1]], 0.32)
    np.testing.assert_allclose(at(path, 0.5).r[0], [0.05, 0, 0.95], atol=1e-15)
    assert smallest_radius(path) == pytest.approx(0.32 * 8 / (15 * math.sqrt(2)), rel=1e-6)


def test_corners_may_fill_their_legs_to_the_end():
    path = Rounded([[0, 0, 0], [0, 0, 0.1], [0.2, 0, 0.1], [0.2, 0, 0]], 0.1)
    r = at(path, np.linspace(0, 1, 101)).r
    known = r[[0, 50, 100]]
    np.testing.assert_allclose(known, [[0, 0, 0], [0.1, 0, 0.1], [0.2, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(r[::-1] * [-1, 1, 1] + [0.2, 0, 0], r, atol=1e-15)


@pytest.mark.parametrize(
    ("corner", "radius"), [(0.267, 0.063), (0.2, 0.057), (0.15, 0.050), (0.1, 0.037)]
)
def test_cubic_u_turns_have_the_corner_radii_of_the_irb360_study(corner, radius):
    path = u_turn(START, length=0.8, height=0.18, corner=corner)
    assert smallest_radius(path) == pytest.approx(radius, abs=0.0005)


@pytest.mark.parametrize(
    ("spans", "radius"),
    [((3, 6), 52), ((3, 4), 56), ((3, 5), 54), ((4, 6), 39), ((4, 7), 38), ((4, 8), 37)],
)
def test_u_turns_on_legs_have_the_corner_radii_of_the_irb360_study(spans, radius):
    path = u_turn_on_legs(START, length=0.8, height=0.18, vertical=spans[0], horizontal=spans[1])
    assert len(path.control_points) == 2 * spans[0] + spans[1] + 1
    assert 1000 * smallest_radius(path) == pytest.approx(radius, abs=0.5)


def test_the_control_points_of_a_u_turn_are_those_of_the_irb360_study():
    points = u_turn(START, length=0.8, height=0.18, corner=0.15).control_points
    half = [(-0.4, 0), (-0.4, 0.09), (-0.4, 0.18), (-0.25, 0.18)]
    expected = [(0, y, z - 1) for y, z in [*half, *((-y, z) for y, z in reversed(half))]]
    np.testing.assert_allclose(points, expected, atol=1e-15)


@pytest.mark.parametrize("path", [PATHS["u_turn"], u_turn_on_legs(START, length=1, height=0.2)])
def test_u_turns_are_symmetric(path):
    r = at(path, np.linspace(0, 1, 41)).r
    sums = r + r[::-1]
    np.testing.assert_allclose(sums[:, :2], [r[0, :2] + r[-1, :2]] * 41, atol=1e-14)
    np.testing.assert_allclose(r[:, 2], r[::-1, 2], atol=1e-14)
    assert (r[:, 2] >= r[0, 2]).all()


def test_a_u_turn_goes_along_its_direction_and_turns_on_the_way():
    r = at(PATHS["u_turn"], [0, 1]).r
    d = 0.8 / math.sqrt(2)
    np.testing.assert_allclose(r, [[*START, 0.2], [d, d - 0.4, -1, 1.7]], atol=1e-14)


def test_a_path_can_be_made_and_differentiated_inside_a_trace():
    def length(corner: jax.Array) -> Scalar:
        return path_length(u_turn(START, length=0.8, height=0.18, corner=corner))

    def rounded(radius: jax.Array) -> Scalar:
        return path_length(Rounded(jnp.asarray(CORNERS), radius))

    for function, value in ((length, 0.15), (rounded, 0.1)):
        slope = float(jax.jit(jax.grad(function))(jnp.array(value)))
        function = jax.jit(function)
        difference = function(jnp.array(value + 1e-6)) - function(jnp.array(value - 1e-6))
        assert slope == pytest.approx(float(difference) / 2e-6, rel=1e-6)
        assert slope < 0

    constant = jnp.zeros(3)
    assert jax.jit(lambda: Line(constant, constant + 1)(jnp.array(0.5)))().tolist() == [0.5] * 3


def points_table(points: np.ndarray) -> Table:
    units = {"x": "m", "y": "m", "z": "m", "psi": "rad"}
    columns = zip(units.items(), points.T, strict=False)
    return Table({name: (unit, column) for (name, unit), column in columns}, "points.csv")


@pytest.mark.parametrize("rows", [3, 9])
def test_a_smooth_path_passes_through_every_row_of_the_table(rows):
    points = RNG.normal(size=(rows, 4))
    path = way_points(points_table(points))
    chords = np.append(0, np.cumsum(np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1)))
    np.testing.assert_allclose(at(path, chords / chords[-1]).r, points, atol=1e-11)


def test_a_table_with_a_radius_is_a_rounded_path_and_two_rows_are_a_line():
    rounded = way_points(points_table(CORNERS[:, :3]), radius=0.1)
    assert isinstance(rounded, Rounded)
    assert rounded.way_points.tolist() == CORNERS[:, :3].tolist()
    assert isinstance(way_points(points_table(CORNERS[:2])), Line)


MANY = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]]
U: dict[str, Any] = {"length": 0.8, "height": 0.18}
BAD = {
    "line too short": (lambda: Line([0, 0], [0, 0, 1]), "end has the shape (3,); expected: 2."),
    "line of one": (lambda: Line(0.0, 1.0), "start has the shape (); expected: any."),
    "line of none": (lambda: Line([], []), "start has the shape (0,); expected: any."),
    "line of words": (lambda: Line(["a"], ["b"]), "start is not made of numbers: ['a']."),
    "line to nan": (
        lambda: Line([0, 0, 0], [0, 0, math.nan]),
        "end holds a number that is not finite: [0.0, 0.0, nan].",
    ),
    "line to inf": (lambda: Line([math.inf], [0]), "start holds a number that is not finite"),
    "no line": (
        lambda: Line([1, 2, 3], [1, 2, 3]),
        "start and end are the same point, [1.0, 2.0, 3.0].",
    ),
    "flat circle": (lambda: Circle([0, 0], 1), "2 numbers are neither x, y, z nor x, y, z, psi;"),
    "circle without radius": (
        lambda: Circle([0, 0, 0], 0),
        "radius is 0 m; it must be positive.",
    ),
    "circle inside out": (
        lambda: Circle([0, 0, 0], -0.1),
        "radius is -0.1 m; it must be positive.",
    ),
    "two radii": (lambda: Circle([0, 0, 0], [1, 2]), "radius has the shape (2,); expected: one"),
    "no normal": (lambda: Circle([0, 0, 0], 1, [0, 0, 0]), "normal is zero."),
    "short normal": (
        lambda: Circle([0, 0, 0], 1, [0, 1]),
        "normal has the shape (2,); expected: 3.",
    ),
    "no turns": (lambda: Circle([0, 0, 0], 1, turns=0), "turns is zero."),
    "circle from nan": (lambda: Circle([0, 0, 0], 1, start_angle=math.nan), "start_angle holds a"),
    "few points": (
        lambda: BSpline(MANY, 4),
        "4 control points do not make a B-spline of degree 4; at least 5 points and degree 1",
    ),
    "no degree": (lambda: BSpline(MANY, 0), "4 control points do not make a B-spline of degree 0"),
    "flat points": (
        lambda: BSpline([1, 2, 3], 1),
        "control_points has the shape (3,); expected: any x any.",
    ),
    "few knots": (lambda: BSpline(MANY, 3, [0, 1]), "knots has the shape (2,); expected: 8."),
    "falling knots": (lambda: BSpline(MANY, 2, [0, 0, 0, -1, 1, 1, 1]), "knots must rise from 0"),
    "loose start": (lambda: BSpline(MANY, 2, [0, 0, 0.1, 0.2, 1, 1, 1]), "knots must rise from 0"),
    "loose end": (
        lambda: BSpline(MANY, 2, [0, 0, 0, 0.2, 0.9, 1, 1]),
        "each end degree + 1 times.",
    ),
    "two way-points": (
        lambda: Rounded(MANY[:2], 0.1),
        "A path with corners needs three way-points; use a Line for two.",
    ),
    "ragged": (lambda: Rounded([[0, 0, 0], [1]], 0.1), "way_points is not made of numbers"),
    "sharp": (lambda: Rounded(MANY, 0), "radius is 0 m; it must be positive."),
    "same place": (
        lambda: Rounded([*MANY, MANY[-1]], 0.1),
        "way_points 4 and 5 are at the same place; drop one of them.",
    ),
    "turn on the spot": (
        lambda: Rounded([[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1]], 0.1),
        "way_points 2 and 3 are at the same place",
    ),
    "straight back": (
        lambda: Rounded([*MANY, [1, 0, 1]], 0.1),
        "way_points: the path turns straight back at 4; make it two paths.",
    ),
    "corner too large inside": (
        lambda: Rounded(MANY, 0.501),
        "radius is 0.501 m, but between way_points 2 and 3 there is room for 0.5 m only.",
    ),
    "corner too large at the end": (
        lambda: Rounded([[0, 0, 0.9], *MANY[1:]], 0.2),
        "radius is 0.2 m, but between way_points 1 and 2 there is room for 0.1 m only.",
    ),
    "u-turn too sharp": (
        lambda: u_turn(START, corner=0, **U),
        "corner is 0 m; it must be positive",
    ),
    "u-turn too round": (
        lambda: u_turn(START, corner=0.5, **U),
        "corner is 0.5 m; at most half of the length, 0.8 m, fits.",
    ),
    "u-turn upwards": (
        lambda: u_turn(START, [0, 1, 1], corner=0.1, **U),
        "direction is [0.0, 1.0, 1.0]; a horizontal one was expected.",
    ),
    "u-turn nowhere": (
        lambda: u_turn(START, [0, 0, 0], corner=0.1, **U),
        "direction is [0.0, 0.0, 0.0]; a horizontal one was expected.",
    ),
    "u-turn that turns": (
        lambda: u_turn(START, corner=0.1, turn=1.0, **U),
        "coordinates: x, y, z; to turn takes an angle among them, called by its name.",
    ),
    "u-turn of nothing": (
        lambda: u_turn(START, corner=0.1, length=-0.8, height=0.1),
        "length is -0.8 m; it must be positive.",
    ),
    "u-turn without legs": (
        lambda: u_turn_on_legs(START, vertical=0, **U),
        "vertical and horizontal are 0 and 6; at least 1.",
    ),
    "u-turn with few points": (
        lambda: u_turn_on_legs(START, vertical=1, horizontal=1, **U),
        "4 control points do not make a B-spline of degree 5",
    ),
    "u-turn of no height": (
        lambda: u_turn_on_legs(START, length=0.8, height=0),
        "height is 0 m; it must be positive.",
    ),
    "one row": (
        lambda: way_points(points_table(CORNERS[:1])),
        "points.csv: one point is not a path.",
    ),
    "rows alike": (
        lambda: way_points(points_table(CORNERS[[0, 1, 1, 2]])),
        "points.csv: rows 2 and 3 are at the same place.",
    ),
    "no z": (
        lambda: way_points(points_table(CORNERS[:, :2])),
        "points.csv: there is no column 'z'.",
    ),
    "angle for a length": (
        lambda: way_points(Table({n: ("rad", [0, 1]) for n in "xyz"}, "points.csv")),
        "points.csv, column 'x': is in [rad], but [m] was expected.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_path_is_refused_in_one_sentence(case):
    make, expected = BAD[case]
    with pytest.raises(ValueError) as error:
        make()
    assert type(error.value) is InputError or "column" in expected
    assert expected in str(error.value)
