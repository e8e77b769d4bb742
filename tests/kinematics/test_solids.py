"""Shapes follow from joints: bars end where joints are, whatever the pose, and nothing floats."""

import itertools
from functools import cache
from typing import NamedTuple

import equinox as eqx
import numpy as np
import pytest
from limb_robots import SAMPLES, described

from triskele.description.catalogue import names
from triskele.description.load import load, parse
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.solids import (
    BASE,
    Ball,
    Bar,
    Plate,
    body_frames,
    colours,
    extent,
    looks,
    solids,
)
from triskele.numerics import stacked

BETWEEN_JOINTS = ("rod", "bar", "connector")
NEAR = 1e-9  # [m]


def placed(mechanism, x):
    """[R p] by name of the body, the base as well."""
    return dict(
        zip((BASE, *mechanism.bodies), body_frames(mechanism, np.asarray(x)[None])[0], strict=True)
    )


def at_home(mechanism):
    return placed(mechanism, stacked(mechanism.home()))


def at(frame, point):
    return frame[:, :3] @ np.array(point, float) + frame[:, 3]


def of_body(found, body, kind=(Bar, Plate)):
    """The shapes of a body, without those of its joints."""
    own = (s.shape for s in found if s.body == body and not s.joint)
    return [shape for shape in own if isinstance(shape, kind)]


def to_segment(point, start, end):
    """Distance from the points between two ends."""
    way = end - start
    part = np.clip((point - start) @ way / (way @ way), 0.0, 1.0)
    return np.linalg.norm(point - start - part * way)


def away(point, shape):
    """Distance of a point from the middle line of a bar, or from the middle plane of a plate."""
    if isinstance(shape, Bar):
        return to_segment(point, shape.start, shape.end)
    ring = shape.outline
    edges = list(zip(ring, np.roll(ring, -1, axis=0), strict=True))
    normal = np.sum([np.cross(a - ring.mean(axis=0), b - a) for a, b in edges], axis=0)
    normal = normal / np.linalg.norm(normal)
    height = (point - ring.mean(axis=0)) @ normal
    inside = all(np.cross(b - a, point - height * normal - a) @ normal > -1e-12 for a, b in edges)
    off = abs(height) if inside else min(to_segment(point, *edge) for edge in edges)
    return max(off - shape.thickness / 2, 0.0)


class Drawn(NamedTuple):
    """A robot, its shapes, and its bodies at home."""

    mechanism: AbstractMechanism
    shapes: tuple
    frames: dict


@cache
def look_at(name):
    """A robot that ships, or a sample."""
    mechanism = build(described(name.split()[1]) if " " in name else load(name))
    return Drawn(mechanism, solids(mechanism), at_home(mechanism))


UNEVEN = [pytest.param(f"sample {name}", marks=pytest.mark.long) for name in SAMPLES]


@pytest.fixture(params=[*names(), *UNEVEN])
def drawn(request):
    return look_at(request.param)


# Laws, for every robot


def test_frames_are_those_of_the_mechanism(drawn):
    mechanism, _, found = drawn
    x = stacked(mechanism.home())
    q = mechanism.inverse(x).value
    assert np.array_equal(found[BASE], np.eye(3, 4))
    for name, frame in zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True):
        expected = np.stack([np.asarray(stacked(part)) for part in frame], axis=1)
        assert np.allclose(found[name], expected, atol=1e-12)


def test_every_body_has_shapes_a_colour_and_an_end(drawn):
    mechanism, found, frames = drawn
    size = float(np.asarray(mechanism.size))
    assert {solid.body for solid in found if not solid.joint} == {BASE, *mechanism.bodies}
    assert set(colours(mechanism)) == {BASE, *mechanism.bodies}
    assert all(colour.startswith("#") for colour in colours(mechanism).values())
    for shape in (solid.shape for solid in found):
        thick = shape.thickness if isinstance(shape, Plate) else shape.radius
        assert 0 < thick < 0.12 * size
        if isinstance(shape, Bar):
            assert np.linalg.norm(shape.end - shape.start) > 1e-4 * size
    low, high = extent(found, mechanism.bodies, np.array(list(frames.values())))
    assert np.isfinite([low, high]).all()
    assert 0.3 * size < (high - low).max() < 5 * size


def test_nothing_floats(drawn):
    """Both bodies of a joint reach it, and all that stands on the base reaches its plate."""
    plate, *stands = of_body(drawn.shapes, BASE)
    for bar in stands:
        points = bar.start + np.linspace(0, 1, 101)[:, None] * (bar.end - bar.start)
        assert min(away(point, plate) for point in points) < bar.radius
    for joint in drawn.mechanism.joints():
        if joint.kind == "prismatic":
            continue
        for body, point in ((joint.parent, joint.point), (joint.child, joint.child_point)):
            gaps = [away(np.array(point, float), s) for s in of_body(drawn.shapes, body)]
            assert min(gaps) < NEAR, (joint.name, body)


def test_slides_hold_what_slides(drawn):
    """A block is on its rail, and tubes are one in the other: parallel, and on one line."""
    mechanism, shapes, frames = drawn
    for joint in mechanism.joints():
        if joint.kind != "prismatic":
            continue
        axis = frames[joint.parent][:, :3] @ np.array(joint.axis, float)
        ends = {
            body: [
                (at(frames[body], bar.start), at(frames[body], bar.end))
                for bar in of_body(shapes, body, Bar)
                if abs(axis @ frames[body][:, :3] @ (bar.end - bar.start)) > 0.99 * bar_size(bar)
            ]
            for body in (joint.parent, joint.child)
        }
        shared = []
        for outer, inner in itertools.product(ends[joint.parent], ends[joint.child]):
            off = np.subtract(inner, outer[0])
            if np.linalg.norm(off - np.outer(off @ axis, axis), axis=1).max() < NEAR:
                low, high = sorted((outer[1] - outer[0]) @ axis * np.array([0, 1]))
                first, last = sorted(off @ axis)
                shared.append(min(high, last) - max(low, first))
        assert max(shared) > 0.01 * float(np.asarray(mechanism.size)), joint.name


def bar_size(bar):
    return np.linalg.norm(bar.end - bar.start)


def test_rods_end_at_their_joints_at_any_pose(drawn):
    """The ends of a bar between two joints touch the bodies that the joints name."""
    mechanism = drawn.mechanism
    scales = stacked(mechanism.scales().platform)
    frames = placed(mechanism, stacked(mechanism.home()) + 0.01 * mechanism.size / scales)
    for body, look in looks(mechanism).items():
        if look not in BETWEEN_JOINTS:
            continue
        (bar,) = of_body(drawn.shapes, body, Bar)
        ends = [at(frames[body], bar.start), at(frames[body], bar.end)]
        touched = [False, False]
        for joint in mechanism.joints():
            if body not in (joint.parent, joint.child):
                continue
            other = (joint.parent, joint.point)
            if joint.parent == body:
                other = (joint.child, joint.child_point)
            gaps = [np.linalg.norm(at(frames[other[0]], other[1]) - end) for end in ends]
            touched = [seen or gap < NEAR for seen, gap in zip(touched, gaps, strict=True)]
        assert all(touched) or look == "connector", body


def test_balls_and_hinges_are_where_passive_joints_are(drawn):
    mechanism, shapes, frames = drawn
    found = [s for s in shapes if s.joint]
    passive = [j for j in mechanism.joints() if not j.driven and j.name != mechanism.flange]
    balls = [j for j in passive if j.kind in ("spherical", "universal")]
    hinges = [j for j in passive if j.kind == "revolute"]
    assert sum(isinstance(s.shape, Ball) for s in found) == len(balls)
    assert len(found) == len(balls) + len(hinges)
    for joint in hinges:
        axis = frames[joint.parent][:, :3] @ np.array(joint.axis, float)
        middles = [
            (at(frames[s.body], (s.shape.start + s.shape.end) / 2), frames[s.body][:, :3], s.shape)
            for s in found
            if s.body == joint.child and isinstance(s.shape, Bar)
        ]
        point = at(frames[joint.parent], joint.point)
        _, R, bar = min(middles, key=lambda m: np.linalg.norm(m[0] - point))
        along = R @ (bar.end - bar.start)
        assert np.linalg.norm(np.cross(along, axis)) < 1e-9


# What is drawn of some


def test_names_of_bodies_make_no_difference():
    """A file that calls its bodies otherwise looks the same."""
    text = """
    kind = "limbs"
    name = "renamed"
    title = "Renamed"
    [geometry.platform]
    coordinates = ["x", "y", "z"]
    home = "[0, 0, -600] mm"
    [[geometry.limbs]]
    around = "[0, 118, 243] deg"
    drive = "arm"
    base = "[200, 5, 3] mm"
    arm_length = "[300, 310, 295] mm"
    rod_length = "[700, 690, 710] mm"
    rod_spacing = "80 mm"
    end = "[50, 2, 4] mm"
    """
    usual, other = (build(parse(text + more)) for more in ("", 'bodies = ["foo", "bar"]\n'))
    assert other.bodies[:6] == ("foo_1", "foo_2", "foo_3", "bar_1a", "bar_1b", "bar_2a")
    for a, b in zip(solids(usual), solids(other), strict=True):
        assert type(a.shape) is type(b.shape) and a.joint == b.joint
        assert all(np.array_equal(*pair) for pair in zip(a.shape, b.shape, strict=True))
        assert colours(usual)[a.body] == colours(other)[b.body]


def test_an_arm_of_a_pair_has_a_bar_across_and_a_slider_its_rail():
    pair = of_body(look_at("d3s_800").shapes, "arm_1")
    assert len(pair) == 2
    assert np.allclose((pair[1].start + pair[1].end) / 2, pair[0].end)
    rails = of_body(look_at("compliant_3prs").shapes, BASE)[1:]
    assert len(rails) == 3
    assert all(abs(rail.start[2]) < 1e-12 and abs(rail.end[2]) < 1e-12 for rail in rails)


@pytest.mark.parametrize("name", ["stewart_6ups", "rps_3"])
def test_a_cylinder_stands_on_its_foot_and_a_piston_hangs_on_its_wrist(name):
    mechanism, shapes, frames = look_at(name)
    for strut in mechanism.struts:
        ends = {joint.name: joint for joint in mechanism.joints()}
        foot, wrist = ends[strut.upper], ends[strut.lower]
        (outer,), (inner,) = (of_body(shapes, body) for body in (foot.child, wrist.child))
        whole = at(frames[wrist.child], inner.start) - at(frames[foot.child], outer.start)
        assert np.allclose(at(frames[foot.child], outer.start), np.array(foot.point, float))
        assert bar_size(outer) == pytest.approx(0.7 * np.linalg.norm(whole))
        assert bar_size(inner) == pytest.approx(0.8 * np.linalg.norm(whole))
        assert outer.radius > inner.radius


def test_motors_of_a_plane_mechanism_stand_on_a_plate_beside_it():
    shapes = look_at("planar_3rrr").shapes
    plate, *housings = of_body(shapes, BASE)
    assert np.ptp(plate.outline[:, 2]) < NEAR
    assert plate.outline[0, 2] < -of_body(shapes, "arm_1")[0].radius
    assert len(housings) == 3
    for housing in housings:  # from the plate through the plane of the arms
        low, high = sorted((housing.start[2], housing.end[2]))
        assert low == pytest.approx(plate.outline[0, 2]) and high == pytest.approx(-low)


def test_rails_stand_on_the_base_where_no_rod_is():
    """Beyond the block, seen from the platform."""
    for name in ("kossel_mini", "keops", "orthoglide", "two_axis_linear_delta"):
        mechanism, shapes, frames = look_at(name)
        middle = frames[mechanism.platform][:, 3]
        first = of_body(shapes, BASE)[0]
        feet = first.outline if isinstance(first, Plate) else np.array(first[:2])
        for joint in (j for j in mechanism.joints() if j.kind == "prismatic"):
            block, axis = frames[joint.child][:, 3], np.array(joint.axis, float)
            out = axis * np.sign((block - middle) @ axis)
            ways = feet - block
            on_line = np.linalg.norm(ways - np.outer(ways @ out, out), axis=1) < NEAR
            assert (ways[on_line] @ out > 0).any(), (name, joint.name)


def test_a_motor_above_the_base_stands_on_a_column():
    mechanism = look_at("abb_irb360_6_1600").mechanism
    high = eqx.tree_at(lambda m: m.telescope, mechanism, np.array([0.4, 0.038]))
    bars = of_body(solids(high), BASE, Bar)
    spans = sorted(sorted((bar.start[2], bar.end[2])) for bar in bars if np.ptp(bar[:2], axis=0)[2])
    assert [0.0, 0.4] in np.round(spans, 9).tolist()


def test_a_platform_whose_wrists_are_in_no_plane_is_a_star():
    bars = of_body(look_at("orthoglide").shapes, "platform")
    assert len(bars) == 6 and all(isinstance(bar, Bar) for bar in bars)


def test_level_plates_have_their_corners_in_order():
    for name in ("abb_irb360_6_1600", "compliant_3prs"):
        plates = [s.shape for s in look_at(name).shapes if isinstance(s.shape, Plate)]
        assert len(plates) == 2
        for plate in plates:
            edges = np.roll(plate.outline, -1, axis=0) - plate.outline
            turns = np.cross(edges, np.roll(edges, -1, axis=0))[:, 2]
            assert (turns > 0).all()  # convex and counterclockwise


def test_radii_are_given_by_part_and_the_extent_holds_all():
    mechanism = build(load("flexible_delta"))
    found = solids(mechanism, {"rod": 0.004})
    rods = [s.shape for s in found if s.body.startswith("rod") and isinstance(s.shape, Bar)]
    assert {shape.radius for shape in rods} == {0.004}
    arms = [s.shape.radius for s in found if s.body == "arm_1"]
    assert 0.004 not in arms
    low, high = extent(found, mechanism.bodies, np.array(list(at_home(mechanism).values())))
    assert low[2] == pytest.approx(float(mechanism.home()[2]), abs=1e-6)
    assert high[0] == pytest.approx(0.6, abs=1e-6)  # an arm of 0.5 m, 0.1 m from the axis
