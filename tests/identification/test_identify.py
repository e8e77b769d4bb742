"""The whole way, from logs to a robot file, on the IRB 360."""

import dataclasses
from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load, parse
from triskele.description.save import to_toml
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.identification.consistent import Anchored
from triskele.identification.examination import Finding
from triskele.identification.identify import IdentificationOptions, arms_alone, identify
from triskele.identification.probes import least_inertia
from triskele.identification.synthetic import synthetic_log
from triskele.identification.update import with_arms
from triskele.identification.verdict import Errors
from triskele.kinematics.build import build
from triskele.kinematics.motion import fourier, resting
from triskele.numerics import tabulate
from triskele.studies import irb360_identification as study

pytestmark = pytest.mark.long


@lru_cache(maxsize=1)
def found():
    return study.identified()


def test_the_verdict_of_good_logs():
    verdict = found().verdict
    assert np.allclose(verdict.held_out.consistent, study.NOISE, rtol=0.05)
    assert np.allclose(verdict.held_out.base[:3], study.NOISE[:3], rtol=0.05)
    assert np.allclose(verdict.noise, study.NOISE, rtol=0.05)
    assert verdict.at_rest is None
    assert (verdict.rank, len(verdict.parameters)) == (37, 37)
    assert verdict.least_inertia > 0.1
    assert verdict.least_inertia_base > 0
    assert (verdict.white > 1e-4).all()
    assert (verdict.effective > 0.7).all()
    assert verdict.faults == ()
    assert {"arm.m", "telescope_upper.m"} <= set(verdict.prior_only)
    assert not {"drive_1.coulomb", "rod.m", "platform.m"} & set(verdict.prior_only)
    assert verdict.usable
    assert verdict.recommendation[0] == "Use the identified robot."


def test_the_robot_file_says_what_the_fit_says():
    robot, log = found().robot, found().held_out[0]
    assert parse(to_toml(robot)) == robot
    tau = np.stack(
        tabulate(eqx.Partial(inverse_dynamics, rigid(robot)))(log.x, log.xd, log.xdd), axis=-1
    )
    assert np.allclose(tau, found().predicted_held_out, atol=1e-9)


def test_each_number_has_its_source():
    facts = {fact.key: fact for fact in found().robot.facts}
    told = facts["friction.drives.coulomb"]
    assert told.source == "identified from determinant.csv, condition.csv"
    assert facts["bodies.telescope_upper.mass"].assumed
    assert "torques do not determine it" in facts["bodies.telescope_upper.mass"].reason
    assert facts["bodies.rod.mass"].source == "on a scale, see weighed"
    assert facts["motors.axis4.reflected_inertia"].source.startswith("identified")
    assert facts["geometry.arm_length"].source == "ABB STEP model of this variant"
    assert found().robot.bodies.rod.mass == pytest.approx(0.150, abs=1e-9)
    bodies = found().robot.bodies
    assert bodies.telescope_upper.mass + bodies.telescope_lower.mass == pytest.approx(1.14)


def test_sentences_of_a_verdict():
    verdict = found().verdict
    poor = verdict._replace(
        condition=1e4,
        converged=False,
        held_out=Errors(verdict.fitted.base, 2 * verdict.fitted.consistent),
        least_inertia_base=-1.0,
        white=np.array([1e-9, 1.0, 1.0, 1.0]),
        effective=np.array([0.3, 1.0, 1.0, 1.0]),
    )
    text = " ".join(poor.recommendation)
    assert not poor.usable
    for part in (
        "Do not use",
        "did not settle",
        "condition number 10000",
        "errs 2.00 times as much",
        "use the consistent fit",
        "Residuals of drive 1 are not white: 30 %",
    ):
        assert part in text
    alone = verdict._replace(held_out=None)
    assert not alone.usable
    assert not alone.refused
    assert alone.recommendation[0] == "Do not rely on the identified robot yet."
    assert "No log was held out" in " ".join(alone.recommendation)
    late = Finding("delay", (), (0.01,), (1e-4,), 0.8, 1e-9, 12.0, 0)
    text = " ".join(verdict._replace(faults=(late,)).recommendation)
    assert "Delay: efforts are late by 10 +- 0.2 ms" in text
    assert f"{verdict.parameters[0].formula} is off by 12 of its deviations" in text
    loose = verdict._replace(gain=Anchored(0.0, 0.2))
    assert not loose.usable
    assert "common to all drives cannot be told apart" in " ".join(loose.recommendation)
    assert poor.to_dict()["usable"] is False
    assert len(verdict.to_dict()["parameters"]) == 37


def test_a_mass_matrix_that_is_not_one_is_seen():
    assert least_inertia(np.array([[[1.0, 2.0], [2.0, 1.0]]])) < 0


ARMS = {
    "mc_x": (0.150, 0.153, 0.152),
    "mc_z": (0.005, 0.007, 0.016),
    "yy": (0.228, 0.232, 0.238),
    "coulomb": (4.201, 4.145, 5.773),
    "viscous": (0.281, 0.419, 0.448),
}


def arms_log():
    """Arms alone, by hand: pendulums with friction, and a rotor of 0.003 kg m^2."""
    t = np.arange(3000) / 500
    w = 2 * np.pi / 6
    q = np.stack(
        [0.3 + sum(np.sin(k * w * t + i + k) / k for k in (1, 2, 5)) / 2 for i in range(4)]
    )
    qd = np.stack([sum(w * np.cos(k * w * t + i + k) for k in (1, 2, 5)) / 2 for i in range(4)])
    qdd = np.stack(
        [-sum(k * w**2 * np.sin(k * w * t + i + k) for k in (1, 2, 5)) / 2 for i in range(4)]
    )
    tau = [
        ARMS["yy"][i] * qdd[i]
        - 9.81 * (ARMS["mc_x"][i] * np.cos(q[i]) + ARMS["mc_z"][i] * np.sin(q[i]))
        + ARMS["coulomb"][i] * np.tanh(qd[i] / 0.01)
        + ARMS["viscous"][i] * qd[i]
        for i in range(3)
    ]
    tau.append(0.003 * qdd[3] + 0.387 * np.tanh(qd[3] / 0.01) + 0.012 * qd[3])
    columns = {"t": ("s", t)}
    for i in range(4):
        columns[f"q{i + 1}"] = ("rad", q[i])
        columns[f"tau{i + 1}"] = ("N m", tau[i])
    return Table(columns, "arms.csv")


def test_arms_alone_are_the_first_stage():
    robot = study.prior()
    arms = arms_alone(robot, [arms_log()])
    told = dict(zip(arms.base.formulas(), arms.read, strict=True))
    for i in (1, 2, 3):
        for name in ("mc_x", "mc_z", "yy"):
            assert told[f"arm_{i}.{name}"] == pytest.approx(ARMS[name][i - 1], abs=2e-3)
        assert told[f"drive_{i}.coulomb"] == pytest.approx(ARMS["coulomb"][i - 1], rel=5e-3)
    assert told["drive_4.rotor"] == pytest.approx(0.003, abs=1e-4)
    better = with_arms(robot, arms, [arms_log()])
    assert better.friction.drives.viscous == pytest.approx(ARMS["viscous"], rel=0.03)
    moment = better.bodies.arm.first_moment
    assert moment is not None
    assert moment[0] == pytest.approx(np.mean(ARMS["mc_x"]), abs=1e-3)
    facts = {fact.key: fact.source for fact in better.facts}
    assert facts["bodies.arm.first_moment"] == "identified from the arms alone: arms.csv"


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="compliant_3prs has no arms"):
        arms_alone(load("compliant_3prs"), [arms_log()])
    with pytest.raises(InputError, match="needs a log at least"):
        identify(study.prior(), [])


@pytest.mark.long
def test_a_3prs_is_identified_without_a_line_of_its_own():
    robot = load("compliant_3prs")
    mechanism = build(robot)
    home = [float(value) for value in mechanism.home()]

    def log(seed):
        rows = np.random.default_rng(seed).normal(size=(2, 8, 3)) * (0.003, 0.02, 0.02)
        found = resting(*(rows / np.arange(1, 9)[:, None]))
        names = mechanism.platform_coordinates
        motion = fourier(home, found.sine, found.cosine, period=2.0, rate=500, coordinates=names)
        return synthetic_log(robot, motion, 0.05, seed=seed)

    verdict = identify(robot, [log(0)], [log(1)]).verdict
    assert verdict.rank == verdict.possible == 21
    assert np.allclose(verdict.held_out.consistent, 0.05, rtol=0.05)
    assert any(p.formula.startswith("drive_1.rotor + coupling.m") for p in verdict.parameters)


def rested():
    """A log in which axis 4 rests, without noise."""
    stored = study.motions()["condition"]
    still = dataclasses.replace(
        stored,
        **{
            name: getattr(stored, name) * jnp.array([1.0, 1, 1, 0])[None]
            for name in ("x", "xd", "xdd", "xddd")
        },
    )
    return synthetic_log(load(study.ROBOT), still, rates=True)


def test_a_drive_that_rests_tells_nothing_and_the_verdict_says_so():
    found = identify(study.prior(), [rested()], options=IdentificationOptions(trusted=True))
    verdict = found.verdict
    assert verdict.possible == 37 > verdict.rank > 20
    assert "of 37 combinations" in " ".join(verdict.recommendation)
    assert {"drive_4.rotor", "drive_4.coulomb"} <= set(verdict.prior_only)
    assert found.robot.motors.axis4.reflected_inertia == pytest.approx(0.003)
    # Without noise the fit is as good as the numbers of the file let it be, and finite.
    assert verdict.fitted.consistent[:3].max() < 0.05
    assert np.isfinite(found.fit.values).all()
