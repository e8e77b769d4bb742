"""Mechanisms with seeded faults: each ends in one sentence, none hangs, none is silently wrong.

A slider-crank has closed forms: crank of 0.1 m, rod of 0.3 m, the slide at
x = 0.1 cos q + sqrt(0.09 - 0.01 sin^2 q), which lies between 0.2 and 0.4 m.
"""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load_mechanism
from triskele.errors import DescriptionError, InputError, TriskeleError
from triskele.multibody.adams import adams
from triskele.multibody.from_file import from_file
from triskele.multibody.generalised_alpha import generalised_alpha
from triskele.multibody.integrate import simulate
from triskele.multibody.joints import Body, Joint, system
from triskele.multibody.solve import accelerations, violation

SLIDER_CRANK = """
kind = "mechanism"
name = "press"
title = "Slider-crank"
gravity = { value = [0, -9.81, 0], unit = "m/s^2" }

[bodies.crank]
mass = "1 kg"
centre_of_mass = { value = [50, 0, 0], unit = "mm" }
inertia = { value = [1e-4, 1e-3, 1e-3], unit = "kg m^2" }
orientation = { value = [0, 0, CRANK], unit = "deg" }

[bodies.rod]
mass = "0.5 kg"
centre_of_mass = { value = [150, 0, 0], unit = "mm" }
inertia = { value = [1e-4, 4e-3, 4e-3], unit = "kg m^2" }
position = { value = [86.6, 50, 0], unit = "mm" }
orientation = { value = [0, 0, -10], unit = "deg" }

[bodies.ram]
mass = "2 kg"
inertia = { value = [1e-3, 1e-3, 1e-3], unit = "kg m^2" }
position = { value = [380, 0, 0], unit = "mm" }

[joints.main]
kind = "revolute"
parent = "ground"
child = "crank"
axis = [0, 0, 1]
MAIN

[joints.pin]
kind = "revolute"
parent = "crank"
child = "rod"
point = { value = [100, 0, 0], unit = "mm" }
axis = [0, 0, 1]

[joints.wrist]
kind = "inline"
parent = "rod"
child = "ram"
point = { value = [300, 0, 0], unit = "mm" }
axis = [0, 0, 1]

[joints.guide]
kind = "prismatic"
parent = "ground"
child = "ram"
axis = [1, 0, 0]
GUIDE
"""
TURN = 'drive = { start = "30 deg", speed = "2 rad/s" }'
PUSH = 'slide_drive = { start = "380 mm", speed = "100 mm/s" }'


def stretched(q):
    """Where the ram is with the crank at q [rad]."""
    return 0.1 * np.cos(q) + np.sqrt(0.09 - 0.01 * np.sin(q) ** 2)


@pytest.fixture
def press(tmp_path):
    """A function that reads the slider-crank with what its two axes carry."""

    def read(main="", guide="", crank=30, *changes):
        text = SLIDER_CRANK.replace("MAIN", main).replace("GUIDE", guide)
        text = text.replace("CRANK", str(crank))
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "press.toml"
        path.write_text(text, encoding="utf-8")
        return load_mechanism(path)

    return read


def run(model, duration=1.0, **options):
    return simulate(
        model.system,
        model.start,
        duration,
        efforts=model.actuation.efforts,
        signal=model.actuation.signal,
        **options,
    )


# Drives that leave what the loop can reach


def test_a_drive_beyond_the_dead_centre_is_refused_with_time_and_joint(press):
    model = from_file(press(guide=PUSH))
    with pytest.raises(InputError, match="drives ask for more than joints can reach") as error:
        run(model)
    stated = re.search(r"at t = ([0-9.]+) s", str(error.value))
    assert stated is not None
    assert float(stated[1]) == pytest.approx((0.4 - 0.38) / 0.1, abs=1e-6)
    assert "shorten the travel of 'guide'" in str(error.value)


def test_each_integrator_refuses_it(press):
    model = from_file(press(guide=PUSH))
    how = {"signal": model.actuation.signal}
    with pytest.raises(InputError, match=r"at t = 0\.2 s: drives ask for more"):
        adams(model.system, model.start, 1.0, **how)
    with pytest.raises(InputError, match=r"at t = 0\.2 s: drives ask for more"):
        generalised_alpha(model.system, model.start, 1.0, step=1e-3, **how)


@pytest.mark.long
def test_what_is_out_of_reach_between_two_instants_ends_the_run_there(press):
    """A short push beyond 0.4 m: 0.39 + 0.0101 sin(2 pi 64 t) passes unseen before the run."""
    wave = 'slide_drive = { start = "390 mm", amplitude = "10.1 mm", frequency = "64 Hz" }'
    found = run(from_file(press(guide=wave)))
    first = np.arcsin(10 / 10.1) / (2 * np.pi * 64)
    assert found.ended is not None
    assert "drives ask for more than joints can reach" in found.ended
    assert "'guide'" in found.ended
    assert float(found.ended.split()[3]) == pytest.approx(first, rel=1e-4)
    assert found.t[-1] <= first
    assert found.gap.max() < 1e-12


def test_a_start_at_the_dead_centre_is_refused(press):
    at_end = PUSH.replace("380 mm", "400 mm")
    for push in (at_end, at_end.replace('"100 mm/s"', '"-100 mm/s"')):
        with pytest.raises(DescriptionError, match="at a dead centre of the loop through") as error:
            from_file(press(guide=push))
        assert "'guide' cannot move as fast as the drive says" in str(error.value)


def test_drives_that_contradict_each_other_are_refused(press):
    """The slide follows the crank at the start only; in the second case its speed does as well."""
    q, h = np.radians(30), 1e-6
    x, slope = stretched(q), (stretched(q + h) - stretched(q - h)) / (2 * h)
    for speed, sentence in (
        (1.0, "cannot move as fast as the drive says"),
        (1e3 * 2 * slope, "drives ask for more than joints can reach"),
    ):
        push = f'slide_drive = {{ start = "{1e3 * float(x)!r} mm", speed = "{speed:.6f} mm/s" }}'
        with pytest.raises(TriskeleError, match=sentence):
            run(from_file(press(TURN, push)))


# The branch that the drives ask for


@pytest.mark.parametrize("placed", [30, 210, 209, -150.0001, 120])
def test_a_crank_is_assembled_where_its_drive_begins(press, placed):
    model = from_file(press(TURN, "", placed))
    angle, x = model.system.gauges.coordinates(_motion(model))[0][jnp.array([0, 2])]
    assert float(angle) == pytest.approx(np.radians(30), abs=1e-9)
    assert float(x) == pytest.approx(stretched(np.radians(30)), abs=1e-9)
    drive = model.actuation.drive(jnp.zeros(()))
    assert violation(model.system, model.start, drive)[0] < 1e-12


def test_a_rocker_that_cannot_be_led_to_its_drive_is_refused(tmp_path):
    """The rod of the slider-crank swings by asin(1/3) to each side, never around."""
    text = SLIDER_CRANK.replace("MAIN", "").replace("GUIDE", "").replace("CRANK", "30")
    swing = 'drive = { start = "175 deg" }'
    text = text.replace(
        'kind = "inline"\nparent = "rod"', f'kind = "revolute"\nparent = "rod"\n{swing}'
    )
    path = tmp_path / "press.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        DescriptionError, match=r"cannot be assembled|closer to where the drive begins"
    ):
        from_file(load_mechanism(path))


def test_a_start_half_a_turn_from_the_drive_is_refused_in_python(press):
    model = from_file(press(TURN))
    other = from_file(press(TURN.replace("30 deg", "210 deg"), "", 210))
    with pytest.raises(InputError, match=r"joints\.main is not where its drive begins"):
        simulate(model.system, other.start, 1.0, signal=model.actuation.signal)
    adrift = model.start._replace(r=model.start.r.at[2, 2].add(1e-3))
    with pytest.raises(InputError, match=r"joints are open \(gap 0\.00"):
        simulate(model.system, adrift, 1.0, signal=model.actuation.signal)


def _motion(model):
    from triskele.multibody.system import motion_of

    return motion_of(model.system, model.start)


# Bodies of next to no mass


def chain(light):
    """A pendulum of 12 kg at 2 m, on a link of mass `light` at 1 m, hanging at 0.3 and 0.5 rad."""
    angles, ends = (0.3, 0.5), [np.zeros(3)]
    poses = []
    for angle in angles:
        s, c = np.sin(angle), np.cos(angle)
        R = np.array([[s, c, 0], [-c, s, 0], [0, 0, 1.0]])
        poses.append(np.column_stack([R, ends[-1]]))
        ends.append(ends[-1] + R[:, 0])
    tens = [
        (light, 0.5 * light, 0.0, 0.0, *(light * k for k in (1e-4, 1 / 3, 1 / 3)), 0.0, 0.0, 0.0)
    ]
    tens.append((12.0, 12.0, 0.0, 0.0, 0.1, 12.1, 12.1, 0.0, 0.0, 0.0))
    bodies = [Body(name, *part) for name, *part in zip(("link", "bob"), tens, poses, strict=True)]
    joints = [
        Joint("top", "revolute", "ground", "link"),
        Joint("knee", "revolute", "link", "bob", point=(1.0, 0.0, 0.0)),
    ]
    return system("chain", bodies, joints, gravity=(0.0, -9.81, 0.0), size=1.0)


def test_a_link_of_a_tenth_of_a_microgram_moves_as_one_without_mass():
    """Beside 12 kg; the first has the inertia that the second lacks, to ten digits the same."""
    found = []
    for light in (1e-10, 1e-12):
        built, start = chain(light)
        assert built.coupled
        found.append(np.asarray(accelerations(built, start, jnp.zeros(0)).twist))
        residual = found[-1]
        assert np.isfinite(residual).all()
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-6 * np.abs(found[1]).max())
    # The massless link is a two-force member: the knee accelerates so that the pull is along it.
    built, start = chain(1e-10)
    lam = np.asarray(accelerations(built, start, jnp.zeros(0)).lam)
    pull = lam[:3]
    assert abs(-pull[0] * np.cos(0.3) - pull[1] * np.sin(0.3)) < 1e-6 * np.linalg.norm(pull)


@pytest.mark.long
def test_a_light_body_beside_a_heavy_one_moves_or_ends_in_a_sentence():
    built, start = chain(1e-10)
    found = simulate(built, start, 0.5, rate=100.0)
    if found.ended is None:
        assert found.imbalance < 1e-6
    else:
        assert "'link' of 1e-10 kg" in found.ended


# Speeds and units that do not fit


@pytest.mark.parametrize(
    "main, guide, sentence",
    [
        ('initial_speed = "2 m/s"', "", "initial_speed is in m/s, but rad/s was expected"),
        ('torque = "2 N"', "", "torque"),
        (TURN + '\ninitial_speed = "2 rad/s"', "", "initial_speed and a drive exclude one another"),
        (TURN + '\ntorque = "2 N m"', "", "a motor has an effort or follows a drive, not both"),
        ('drive = { table = "a.csv", start = "1 rad" }', "", "a table or a harmonic, not both"),
        ('drive = { column = "q" }', "", "column names a column of a table"),
        ('drive = { table = "none.csv" }', "", "none.csv: no such file"),
        (
            'initial_speed = "1 rad/s"',
            'initial_speed = "1 m/s"',
            "a speed of 1 is stated, but with the joints, drives and other speeds only",
        ),
    ],
)
def test_what_contradicts_itself_gets_a_sentence(press, main, guide, sentence):
    with pytest.raises(TriskeleError, match=re.escape(sentence)):
        from_file(press(main, guide))
