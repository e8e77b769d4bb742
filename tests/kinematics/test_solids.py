"""Shapes follow from joints: bars end where joints are, whatever the pose."""

import numpy as np
import pytest

from triskele.description.catalogue import names
from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.solids import Ball, Bar, Plate, body_colour, body_frames, extent, solids
from triskele.numerics import stacked

NAMES = names()


def placed(mechanism, x):
    """[R p] by name of the body, the base as well."""
    return dict(
        zip(
            ("base", *mechanism.bodies), body_frames(mechanism, np.asarray(x)[None])[0], strict=True
        )
    )


def at(frame, point):
    return frame[:, :3] @ point + frame[:, 3]


@pytest.fixture(scope="module", params=NAMES)
def mechanism(request):
    return build(load(request.param))


def test_frames_are_those_of_the_mechanism(mechanism):
    x = stacked(mechanism.home())
    q = mechanism.inverse(x).value
    found = placed(mechanism, x)
    assert np.array_equal(found["base"], np.eye(3, 4))
    for name, frame in zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True):
        expected = np.stack([np.asarray(stacked(part)) for part in frame], axis=1)
        assert np.allclose(found[name], expected, atol=1e-12)


def test_every_body_has_a_shape_and_a_colour(mechanism):
    found = solids(mechanism)
    assert {solid.body for solid in found} == {"base", *mechanism.bodies}
    assert all(body_colour(solid.body).startswith("#") for solid in found)


def test_rods_join_arms_and_platform_at_any_pose(mechanism):
    """The ends of a bar of a leg touch the bodies that its joints name."""
    x = stacked(mechanism.home()) + 0.01 * stacked(mechanism.scales().loops[:1])[0]
    frames = placed(mechanism, x)
    bars = {s.body: s.shape for s in solids(mechanism) if isinstance(s.shape, Bar) and not s.joint}
    for joint in mechanism.joints():
        if not joint.child.startswith(("rod", "bar")):
            continue
        other = at(frames[joint.parent], np.array(joint.point, float))
        ends = [at(frames[joint.child], end) for end in bars[joint.child][:2]]
        assert min(np.linalg.norm(other - end) for end in ends) < 1e-9


def test_balls_are_where_spherical_joints_are(mechanism):
    balls = [s for s in solids(mechanism) if isinstance(s.shape, Ball)]
    passive = [
        j for j in mechanism.joints() if j.kind in ("spherical", "universal") and not j.driven
    ]
    assert len(balls) == len(passive)
    assert all(solid.joint for solid in balls)


def test_an_arm_of_a_pair_has_a_bar_across_and_a_slider_its_rail():
    pair = [s.shape for s in solids(build(load("d3s_800"))) if s.body == "arm_1"]
    assert len(pair) == 2
    assert np.allclose((pair[1].start + pair[1].end) / 2, pair[0].end)
    rails = [s.shape for s in solids(build(load("compliant_3prs"))) if s.body == "base"][1:]
    assert len(rails) == 3
    assert all(abs(rail.start[2]) < 1e-12 and abs(rail.end[2]) < 1e-12 for rail in rails)


def test_plates_have_their_corners_in_order():
    for name in ("abb_irb360_6_1600", "compliant_3prs"):
        plates = [s.shape for s in solids(build(load(name))) if isinstance(s.shape, Plate)]
        assert len(plates) == 2
        for plate in plates:
            edges = np.roll(plate.outline, -1, axis=0) - plate.outline
            turns = np.cross(edges, np.roll(edges, -1, axis=0))[:, 2]
            assert (turns > 0).all()  # convex and counterclockwise


def test_radii_can_be_given_and_the_extent_holds_all():
    mechanism = build(load("flexible_delta"))
    found = solids(mechanism, {"rod": 0.004})
    rods = [s.shape for s in found if s.body.startswith("rod") and isinstance(s.shape, Bar)]
    assert {shape.radius for shape in rods} == {0.004}
    frames = body_frames(mechanism, np.asarray(stacked(mechanism.home()))[None])[0]
    low, high = extent(found, mechanism.bodies, frames)
    assert low[2] == pytest.approx(float(mechanism.home()[2]), abs=1e-6)
    assert high[0] == pytest.approx(0.6, abs=1e-6)  # an arm of 0.5 m, 0.1 m from the axis
