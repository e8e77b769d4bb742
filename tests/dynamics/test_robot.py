"""From the robot file to the rigid robot: what counts where, and what is refused."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Body, Payload
from triskele.dynamics.robot import rigid
from triskele.errors import DescriptionError, InputError, MissingFact, UnknownName

IRB, PRS, OMRON = (load(f) for f in ("abb_irb360_6_1600", "compliant_3prs", "omron_mini_delta"))


def changed(robot, **parts):
    return robot.model_copy(update=parts)


# Refused


def test_a_robot_without_bodies_names_what_is_missing():
    with pytest.raises(MissingFact, match=r"abb_irb360_1130 has no 'bodies', which dynamics needs"):
        rigid(load("abb_irb360_1130"))
    bodies = changed(IRB.bodies, telescope_lower=None)
    with pytest.raises(MissingFact, match=r"has no 'bodies.telescope_lower'"):
        rigid(changed(IRB, bodies=bodies))


@pytest.mark.parametrize(
    "inertia, reason",
    [
        ((0.1, 0.1, 0.3), "one principal moment exceeds the sum of the others: 0.1, 0.1, 0.3"),
        ((-0.1, 0.1, 0.1), "a moment about its centre of mass is negative: -0.1, 0.1, 0.1"),
    ],
)
def test_an_impossible_payload_is_refused_with_the_reason(inertia, reason):
    with pytest.raises(InputError, match=rf"The payload cannot exist: .*{reason} kg m\^2"):
        rigid(OMRON, Payload(mass=1.0, inertia=inertia))


@pytest.mark.parametrize("mass", [0.0, -1.0])
def test_a_payload_without_mass_is_refused(mass):
    with pytest.raises(ValueError, match=f"{mass:g} kg is not a mass. It must be positive"):
        Payload(mass=mass)


@pytest.mark.parametrize(
    "arm, reason",
    [
        (Body(mass=1.0, inertia=(0.1, 0.1, 0.3)), "exceeds the sum of the others"),
        (
            Body(mass=1.0, centre_of_mass=(1.0, 0, 0), inertia_at_origin=(0.1, 0.1, 0.1)),
            "a moment about its centre of mass is negative.*too far out",
        ),
    ],
)
def test_an_impossible_body_is_refused_with_the_reason(arm, reason):
    with pytest.raises(DescriptionError, match=rf"omron_mini_delta.toml, bodies.arm: .*{reason}"):
        rigid(changed(OMRON, bodies=changed(OMRON.bodies, arm=arm)))


def test_an_unknown_payload_gets_a_hint():
    with pytest.raises(UnknownName, match=r"no payload 'plat'. Did you mean 'plate'\?"):
        rigid(IRB, "plat")
    with pytest.raises(UnknownName, match=r"no payload 'plate'. It has none."):
        rigid(OMRON, "plate")


# What counts where


def test_the_payload_is_kept_apart_and_counts_in_the_frame_of_its_carrier():
    for robot, carrier in ((IRB, "end_effector"), (OMRON, "platform")):
        payload = Payload(mass=2.0, centre_of_mass=(0.1, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
        bare, loaded = rigid(robot), rigid(robot, payload)
        assert loaded.carrier == carrier
        assert np.array_equal(bare.theta, loaded.theta)
        assert not bare.payload.any()
        place = loaded.mechanism.bodies.index(carrier)
        more = np.array(loaded.inertias()) - np.array(bare.inertias())
        assert np.allclose(more[place], [2, 0.2, 0, 0, 0.01, 0.04, 0.04, 0, 0, 0], atol=1e-15)
        assert not np.delete(more, place, axis=0).any()


def test_a_payload_has_a_name_in_the_file():
    ten = [2.5, 0, 0, -0.24375, 0.030844, 0.030844, 0.013781, 0, 0, 0]
    assert np.allclose(rigid(IRB, "plate").payload, ten, rtol=0, atol=5e-7)


def test_a_flange_that_is_part_of_the_platform_weighs_nothing():
    robot = rigid(IRB)
    assert not robot.theta[robot.mechanism.bodies.index("end_effector")].any()
    assert robot.flange_height == -0.0625


def test_axis_4_has_its_own_motor_and_friction():
    robot = rigid(IRB)
    assert np.allclose(robot.rotors, [0, 0, 0, 0.003])
    drives = [float(law.coulomb) for law in robot.drive_friction]
    assert drives == [4.667, 4.376, 6.466, 0.5272]
    assert float(robot.drive_friction[3].saturating) == 0.6672
    assert [law is not None for law in robot.passive_friction] == [False, False, False, True]
    assert float(robot.passive_friction[3].viscous) == 1.247


def test_without_friction_motors_keep_their_inertia():
    robot = rigid(IRB, friction=False)
    assert np.allclose(robot.rotors, [0, 0, 0, 0.003])
    assert not any((*robot.drive_friction, *robot.passive_friction, robot.ball_friction))


def test_bearings_of_the_motors_rub_at_the_joint():
    # 200 turns per metre: (400 pi)^2 times 0.003 N m s/rad, and 1.42348e-4 kg m^2.
    robot = rigid(PRS)
    speed = np.array(0.01)
    rubbed = [float(law.effort(speed)) for law in robot.drive_friction]
    assert np.allclose(rubbed, (400 * np.pi) ** 2 * 0.003 * 0.01)
    assert np.allclose(robot.rotors, (400 * np.pi) ** 2 * (1.423e-4 + 4.817e-8))
    assert not any(rigid(PRS, friction=False).drive_friction)


def test_bearings_add_to_the_friction_of_the_drives():
    motors = changed(IRB.motors, drives=changed(IRB.motors.drives, damping=1e-3))
    law = rigid(changed(IRB, motors=motors)).drive_friction[1]
    assert np.isclose(law.viscous, 2.064 + 33**2 * 1e-3)
    assert np.isclose(law.coulomb, 4.376)


def test_each_flexure_of_the_3prs_is_one_spring():
    springs = dict(
        zip(
            (c.name for c in rigid(PRS).mechanism.passive_coordinates),
            rigid(PRS).springs,
            strict=True,
        )
    )
    assert {float(springs[f"alpha_{i}"].stiffness) for i in (1, 2, 3)} == {98.37}
    assert np.isclose(springs["alpha_2"].rest, np.pi / 4)
    for axis, stiffness in (("m", 32.665), ("n", 32.665), ("l", 24.46)):
        assert float(springs[f"beta_{axis}1"].stiffness) == stiffness
        assert springs[f"beta_{axis}3"].rest == 0
