"""Mechanisms of limbs: laws, the machines that they replace, and all their assemblies."""

import dataclasses
import tomllib

import equinox as eqx
import jax
import numpy as np
import pytest
from limb_robots import SAMPLES, described
from limb_robots import text as limb_text

from triskele.description import catalogue
from triskele.description.limbs import LimbsRobot
from triskele.description.load import load, parse
from triskele.dynamics.inverse import inverse_dynamics, regressor
from triskele.dynamics.robot import rigid
from triskele.dynamics.torques import load_vectors
from triskele.errors import DescriptionError, UnknownName
from triskele.kinematics.build import build
from triskele.kinematics.platforms import LedPlatform
from triskele.numerics import batch, stacked, tabulate
from triskele.testing import check_mechanism, random_poses

QUICK = ("delta", "keops", "five_bar", "two_axis_delta", "telescope_delta")


def box(mechanism, metres=0.05, radians=0.1):
    """A box of poses around home."""
    home = np.array(mechanism.home(), float)
    room = [metres if c.unit == "m" else radians for c in mechanism.platform_coordinates]
    return np.stack([home - room, home + room], axis=1)


LIKE_6UPS = ("6rus", "6pus")


def marked(name):
    """Left to `make validate-quick`, or, of two of three hexapods, out of that too."""
    marks = [pytest.mark.long] * (name not in QUICK) + [pytest.mark.slow] * (name in LIKE_6UPS)
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [marked(name) for name in SAMPLES])
def test_laws_of_a_mechanism(name):
    mechanism = build(described(name))
    check_mechanism(mechanism, random_poses(mechanism, box(mechanism), 12))


def test_the_laws_find_what_is_wrong():
    mechanism = build(described("delta"))
    poses = random_poses(mechanism, box(mechanism), 4)
    single = tuple(dataclasses.replace(limb, spacing=None) for limb in mechanism.limbs)
    loose = dataclasses.replace(
        mechanism,
        limbs=tuple(dataclasses.replace(limb, wrist="spherical") for limb in single),
    )
    with pytest.raises(AssertionError, match="6 degrees of freedom for 3 drives"):
        check_mechanism(loose, poses)
    folded = dataclasses.replace(mechanism, working_mode=(1, -1, 1))
    turned = dataclasses.replace(folded, working_mode=(1, 1, 1), limbs=_flipped(mechanism.limbs))
    with pytest.raises(AssertionError):
        check_mechanism(turned, poses)


def _flipped(limbs):
    """Limb 2 measures its angle the other way round, while its motor does not."""
    first, second, third = limbs
    axis = tuple(-value for value in second.axis)
    return first, dataclasses.replace(second, axis=axis), third


def resized(mechanism, random):
    """The same mechanism, each of its limbs with lengths of its own."""

    def scaled(value):
        if isinstance(value, float):  # by structure
            return value
        factor = 1 + random.uniform(-0.04, 0.04)
        return np.asarray(factor * value)

    led = isinstance(mechanism.frame, LedPlatform)  # whose corners stand where the wrists do
    keys = ("base", "size") if led or mechanism.tilting else ("base", "end", "size")
    keys += () if mechanism.tilting else ("length",)
    limbs = tuple(
        dataclasses.replace(limb, **{key: jax.tree.map(scaled, getattr(limb, key)) for key in keys})
        for limb in mechanism.limbs
    )
    return dataclasses.replace(mechanism, limbs=limbs)


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLES)
def test_random_robots_come_back_from_where_they_went(name):
    """Five geometries of each architecture, a hundred poses each."""
    random, mechanism = np.random.default_rng(23), build(described(name))
    for _ in range(5):
        robot = resized(mechanism, random)
        x = random_poses(robot, box(robot), 100, seed=int(random.integers(1000)))
        q = np.asarray(batch(robot.inverse)(x).value)
        assert np.abs(np.stack(tabulate(robot.closure)(q, x))).max() < 1e-14
        assert np.abs(np.asarray(batch(robot.forward)(q).value) - x).max() < 1e-10


# The machines that limbs replace


def limbs_of(name, geometry):
    """The shipped robot `name` with its geometry written as limbs."""
    raw = tomllib.loads(catalogue.text(name))
    raw = {key: value for key, value in raw.items() if key != "flexures"}
    raw |= {"kind": "limbs", "geometry": geometry}
    return LimbsRobot.model_validate(raw, context={"file": name})


IRB = {
    "platform": {
        "coordinates": ["x", "y", "z", "psi"],
        "home": "[0, 0, -967.7] mm",
    },
    "limbs": {
        "around": "[0, 120, 240] deg",
        "drive": "arm",
        "base": "[200, 0, 0] mm",
        "zero": "radial",
        "axis": "tangential",
        "arm_length": "500 mm",
        "rod_length": "1106 mm",
        "rod_spacing": "100 mm",
        "end": "[48, 0, 0] mm",
    },
    "telescope": {
        "upper_joint_height": "75 mm",
        "lower_joint_height": "38 mm",
        "upper_length": "760 mm",
        "lower_length": "800 mm",
    },
    "flange_height": "-62.5 mm",
}
STAGE = {
    "platform": {"coordinates": ["z", "psi", "theta"], "home": "[0, 0, 77.2] mm"},
    "limbs": {
        "around": "[0, 120, 240] deg",
        "drive": "slide",
        "base": "[125.137, 0, 0] mm",
        "rail": "inwards",
        "across": [0, -1, 0],
        "rod_length": "109.215 mm",
        "end": "[47.61, 0, 0] mm",
        "upper": "revolute",
        "bodies": ["coupling", "bar"],
    },
}


@pytest.mark.parametrize(
    ("name", "geometry"), [("abb_irb360_6_1600", IRB), ("compliant_3prs", STAGE)]
)
def test_a_machine_written_as_limbs_is_the_same_machine(name, geometry):
    """Poses, torques, loads and regressors, friction and payload included."""
    known = load(name)
    if name == "compliant_3prs":
        known = known.model_copy(update={"flexures": None})
    first, second = rigid(known), rigid(limbs_of(name, geometry))
    ours, other = first.mechanism, second.mechanism
    random = np.random.default_rng(5)
    x = random_poses(ours, box(ours, 0.003 if name == "compliant_3prs" else 0.2), 50)
    units = np.asarray(stacked(ours.scales().platform))
    xd, xdd = random.normal(size=(2, 50, x.shape[1])) / units
    q = np.asarray(batch(ours.inverse)(x).value)
    assert np.abs(np.asarray(batch(other.inverse)(x).value) - q).max() < 1e-12
    assert np.abs(np.asarray(batch(other.forward)(q).value) - x).max() < 1e-12
    places = [ours.bodies.index(body) for body in other.bodies]
    assert len(places) == len(ours.bodies)
    frames = [np.array(tabulate(eqx.Partial(_poses, m))(x)) for m in (ours, other)]
    assert np.abs(frames[0][places] - frames[1]).max() < 1e-12
    torques = [
        np.stack(tabulate(eqx.Partial(inverse_dynamics, robot))(x, xd, xdd), -1)
        for robot in (first, second)
    ]
    assert np.abs(torques[0] - torques[1]).max() < 1e-12 * np.abs(torques[0]).max()
    loads = [load_vectors(robot, x, xd, xdd) for robot in (first, second)]
    for name, one, two in zip(loads[0]._fields, *loads, strict=True):
        size = np.abs(np.asarray(one)).max()
        assert np.abs(np.asarray(one) - np.asarray(two)).max() <= 1e-12 * size, name
    shape = (5, len(q[0]), len(places), 10)
    one, two = (
        np.asarray(regressor(robot, x[:5], xd[:5], xdd[:5])).reshape(shape)
        for robot in (first, second)
    )
    assert np.abs(one[:, :, places] - two).max() < 1e-12 * np.abs(two).max()


def _poses(mechanism, x):
    frames = mechanism.body_poses(mechanism.inverse(x).components, x)
    return tuple(tuple(part + 0.0 * x[0] for axis in frame for part in axis) for frame in frames)


# Assemblies


def test_all_assemblies_close_the_loops_and_the_built_one_comes_first():
    mechanism = build(described("five_bar"))
    x = np.array([0.05, 0.28])
    q = mechanism.inverse(tuple(x)).value
    found = mechanism.assembly_modes(q)
    # The two circles of the rods meet in two points, mirrored in the line of the elbows.
    elbows = [np.array(limb.tip(angle))[:2] for limb, angle in zip(mechanism.limbs, q, strict=True)]
    along = (elbows[1] - elbows[0]) / np.linalg.norm(elbows[1] - elbows[0])
    off = x - elbows[0]
    mirrored = elbows[0] + 2 * (off @ along) * along - off
    assert np.allclose(found, [x, mirrored], atol=1e-9)


# Refusals


def test_a_platform_that_its_limbs_do_not_hold_is_refused_with_its_freedom():
    geometry = IRB | {
        "platform": {"coordinates": ["x", "y", "z"], "home": "[0, 0, -967.7] mm"},
        "limbs": {k: v for k, v in IRB["limbs"].items() if k != "rod_spacing"}
        | {"lower": "spherical"},
    }
    del geometry["telescope"]
    with pytest.raises(DescriptionError, match="leave 6 degrees of freedom for 3 drives") as told:
        build(limbs_of("omron_mini_delta", geometry))
    assert "platform (about" in str(told.value)


@pytest.mark.long
def test_assemblies_with_a_name_are_reached():
    """The six poses of a Stewart platform, each named by itself, are found from their lengths."""
    mechanism = build(described("6ups"))
    x = np.add(mechanism.home(), [0.05, -0.03, 0.02, 0.1, -0.05, 0.08])
    others = mechanism.assembly_modes(mechanism.inverse(tuple(x)).value)
    text = limb_text("6ups")
    for number, pose in enumerate(others[1:]):
        place, turn = pose[:3].tolist(), pose[3:].tolist()
        text += f'[geometry.platform.assemblies.other_{number}]\nhome = "{place} m"\n'
        text += f'home_angles = "{turn} rad"\n'
    named = build(parse(text))
    assert list(named.assemblies()) == ["built", *(f"other_{k}" for k in range(len(others) - 1))]
    for name, pose in zip(named.assemblies(), others, strict=True):
        chosen = named.in_assembly(name)
        near = pose + 0.002
        found = chosen.forward(tuple(chosen.inverse(tuple(near)).value))
        assert np.abs(found.value - near).max() < 1e-9
        assert found.margin > 0
    with pytest.raises(UnknownName, match="Did you mean 'other_1'"):
        named.in_assembly("othr_1")
    with pytest.raises(DescriptionError, match=r"assemblies\.away: a limb cannot close there"):
        build(
            parse(limb_text("3prs") + '[geometry.platform.assemblies.away]\nhome = "[0,0,9] m"\n')
        )


def test_both_sides_of_the_spheres_have_names():
    mechanism = build(described("delta"))
    q = mechanism.inverse(mechanism.home()).components
    sides = [mechanism.in_assembly(name).forward(q).value[2] for name in ("built", "mirrored")]
    assert np.isclose(sides[0], -0.6) and sides[1] > 0
