"""The robots that ship: feasible, sourced, and equal to what was published.

IRB 360 values are from Gnad et al. (Robotics and Autonomous Systems), D3S-800 from Elshami et
al., flexible Delta from Kuo 2016, Omron from Bengoa et al. 2017, 3PRS from Ruiz et al. 2022. What
is published of robots made of limbs is said in their files.
"""

import math
import re
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.description.provenance import quantity_of
from triskele.description.schema import DeltaRobot
from triskele.errors import UnknownName

NAMES = (
    *("abb_irb360_1130", "abb_irb360_6_1600", "compliant_3prs", "d3s_800", "five_bar"),
    *("flexible_delta", "geared_delta", "hexa_6rus", "hexaglide_6pus", "keops", "kossel_mini"),
    *("omron_mini_delta", "omron_mini_delta_platens", "orthoglide", "par4", "planar_3rrr"),
    *("prs_rigid", "rps_3", "rrs_3", "six_rod_delta", "stewart_6ups", "two_axis_delta"),
    "two_axis_linear_delta",
)
FULL = ("delta", "3prs")  # templates with every optional key
SHORT = tuple(kind for kind in catalogue.templates() if kind not in (*FULL, "mechanism"))
TEMPLATES = (*FULL, *SHORT)


def shipped(name: str) -> Any:
    """A robot whose optional sections are taken as there: one that is not fails the test."""
    return load(name)


ROBOTS: list[Any] = [*map(shipped, NAMES), *(parse(catalogue.template(k)) for k in TEMPLATES)]
DELTAS = [robot for robot in ROBOTS if isinstance(robot, DeltaRobot)]
OF_LIMBS = [robot for robot in map(shipped, NAMES) if robot.kind == "limbs"]

by_name = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
by_delta = pytest.mark.parametrize("robot", DELTAS, ids=lambda robot: robot.name)


def uncommented(text):
    """A template with its optional keys, the lines that begin with # and no space, in use."""
    return re.sub(r"(?m)^#(?=[\w\[])", "", text)


# Laws, for every robot.


def test_the_catalogue_lists_the_robots_in_alphabetical_order():
    assert catalogue.names() == NAMES


@by_name
def test_every_number_has_a_source(robot):
    assert robot.facts
    assert all(fact.source for fact in robot.facts)
    assert {fact.key for fact in robot.facts} == {key for key, _, _ in numbers(robot)}


@by_name
def test_no_number_has_a_strange_size(robot):
    remarks = [f"{key}: {quantity.suspicious(value)}" for key, value, quantity in numbers(robot)]
    assert [remark for remark in remarks if not remark.endswith(": None")] == []


@by_name
def test_every_body_is_one_that_matter_can_form(robot):
    bodies = [*nested(robot.bodies), *robot.payloads.values()] if robot.bodies else []
    for body in bodies:
        m, x, y, z, xx, yy, zz, xy, yz, xz = body.ten_parameters
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second = np.trace(inertia) / 2 * np.eye(3) - inertia
        moment = np.array([[x], [y], [z]])
        pseudo_inertia = np.block([[second, moment], [moment.T, np.array([[m]])]])
        assert np.linalg.eigvalsh(pseudo_inertia).min() > 0


@pytest.mark.parametrize("robot", OF_LIMBS, ids=lambda robot: robot.name)
def test_a_rod_weighs_evenly_along_its_length(robot):
    rod = robot.bodies["piston" if "piston" in robot.bodies else "rod"]
    length = 2 * abs(rod.centre[0])
    across = rod.inertia[1:]
    assert across == pytest.approx([rod.mass * length**2 / 12] * 2, rel=0.05)
    for limb in robot.geometry.limbs:
        usual = pytest.approx((length,) * len(limb.rod_length or ()), rel=1e-3)  # some as built
        assert limb.rod_length in (None, usual)


@by_delta
def test_the_guaranteed_cylinder_is_within_all_travels(robot):
    limits, geometry = robot.limits, robot.geometry
    low, high = limits.joint_angle
    for x in cylinder(limits.workspace_radius, limits.workspace_height):
        assert all(low <= angle <= high for angle in arm_angles(geometry, x))
        for azimuth, rod in zip(geometry.azimuth, geometry.rod_length, strict=True):
            sideways = -math.sin(azimuth) * x[0] + math.cos(azimuth) * x[1]
            assert abs(sideways) <= rod * math.sin(limits.rod_tilt)
        if geometry.telescope and limits.telescope_length:
            top, bottom = (
                geometry.telescope.upper_joint_height,
                geometry.telescope.lower_joint_height,
            )
            length = math.hypot(x[0], x[1], top - x[2] - bottom)
            assert limits.telescope_length[0] <= length <= limits.telescope_length[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_opens_with_a_few_lines_on_the_robot_and_its_sources(name):
    text = catalogue.text(name)
    header = text[: text.index("\n\n")].splitlines()
    assert 3 <= len(header) <= 6
    assert all(line.startswith("# ") and len(line) <= 100 for line in header)
    assert shipped(name).name == name
    assert shipped(name).title
    assert shipped(name).summary.endswith(".")


# Templates.


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_is_a_robot_of_assumptions_that_ask_to_be_replaced(kind):
    robot = parse(catalogue.template(kind))
    assert robot.name == f"my_{kind}"
    assert {fact.source for fact in robot.facts} == {"assumed: template value, replace it"}


@pytest.mark.parametrize("kind", SHORT)
def test_a_template_of_limbs_is_short_says_who_invented_it_and_names_an_example(kind):
    text = catalogue.template(kind)
    header = text[: text.index("kind = ")]
    assert len(text.splitlines()) <= 25
    assert re.search(r"\b(18|19|20)\d\d\b|[A-Z]\. [A-Z]\w+|as (packing robots|gantries)", header)
    example = re.search(r"\brobot\s+#?\s*(\w+)\.$", header.strip())
    assert example is not None
    assert shipped(example[1]).kind == "limbs"


def test_each_kind_of_robot_made_of_limbs_has_a_template():
    """The same drives and joints on the same platform, in a shipped robot and in a template."""
    ours = {architecture(robot) for robot in OF_LIMBS}
    assert ours == {architecture(parse(catalogue.template(kind))) for kind in SHORT}
    assert len(ours) >= 12


@pytest.mark.parametrize("kind", FULL)
def test_the_optional_keys_of_a_template_work_when_they_are_uncommented(kind):
    text = catalogue.template(kind)
    robot, full = parse(text), parse(uncommented(text))
    assert len(full.facts) > len(robot.facts) + 5
    assert full.encoders is not None
    assert all(fact.assumed for fact in full.facts)


def test_an_unknown_template_is_answered_with_those_that_exist():
    with pytest.raises(UnknownName) as caught:
        catalogue.template("hexapod")
    known = ", ".join(sorted((*TEMPLATES, "mechanism")))
    assert str(caught.value) == f"There is no template 'hexapod'. Known: {known}."


# Published numbers.


def test_irb360_hangs_where_its_cad_model_does():
    # STEP model: arms level, ball plane at -1168.36 mm, motor axes at -275 mm.
    robot = shipped("abb_irb360_6_1600")
    assert home_height(robot.geometry) == pytest.approx(-0.893382, abs=1e-6)
    assert home_height(robot.geometry) - robot.geometry.mounting_height == pytest.approx(
        -1.16836, abs=5e-5
    )


def test_irb360_has_the_identified_bodies():
    # Gnad et al., Table 3.
    bodies = shipped("abb_irb360_6_1600").bodies
    assert bodies.rod.ten_parameters == (0.179, 0.076, 0, 0, 1.5e-5, 0.075, 0.075, 0, 0, 0)
    assert bodies.arm.ten_parameters[1:4] == (0.176, 0, 0.006)
    assert bodies.arm.ten_parameters[5] == 0.258
    assert (bodies.platform.mass, bodies.platform.centre) == (1.2, (0, 0, -0.02))
    upper, lower = bodies.telescope_upper, bodies.telescope_lower
    assert upper.ten_parameters == (0.922, 0, 0, -0.219, 0.084, 0.084, 1.9e-5, 0, 0, 0)
    assert lower.ten_parameters == (0.557, 0, 0, 0.146, 0.077, 0.077, 3.0e-5, 0, 0, 0)


def test_irb360_has_the_eleven_combinations_that_torques_determine():
    # From Gnad et al., Table 3: the null space of these rows is that of the regressor.
    robot = shipped("abb_irb360_6_1600")
    bodies, L, d = robot.bodies, robot.geometry.arm_length[0], robot.geometry.rod_length[0]
    _, mc_x, _, mc_z, _, O_A, *_ = bodies.arm.ten_parameters
    m, mc, _, _, O_xx, O_yy, *_ = bodies.rod.ten_parameters
    upper, lower = bodies.telescope_upper.ten_parameters, bodies.telescope_lower.ten_parameters
    combinations = [
        O_A + 2 * L**2 * (m - 2 * mc / d + O_yy / d**2),
        mc_x + 2 * L * (m - mc / d),
        mc_z,
        bodies.platform.mass + lower[0] + 6 * O_yy / d**2,
        mc / d - O_yy / d**2,
        O_xx,
        upper[4] + lower[4],
        upper[6] + lower[6],
        upper[3],
        lower[3],
        robot.motors.axis4.reflected_inertia,
    ]
    expected = [0.3094, 0.2863, 0.006, 2.1249, 0.0074, 1.5e-5, 0.161, 4.9e-5, -0.219, 0.146, 0.003]
    rounded = {0, 1, 3, 4}  # the others are entries of Table 3, or sums of two
    for i, (ours, theirs) in enumerate(zip(combinations, expected, strict=True)):
        assert ours == pytest.approx(theirs, abs=5e-5 if i in rounded else 1e-15)


def test_irb360_has_the_published_friction_and_limits():
    # Gnad et al., Tables 2 and 4, equation 48 and section 6.6.
    robot = shipped("abb_irb360_6_1600")
    friction, limits = robot.friction, robot.limits
    assert friction.drives.coulomb == (4.667, 4.376, 6.466)
    assert friction.drives.viscous == (1.727, 2.064, 1.557)
    assert (friction.axis4.coulomb, friction.axis4.saturating) == ((0.5272,), 0.6672)
    assert (friction.axis4.saturating_speed, friction.axis4.smoothing_speed) == (8.5919, 0.01)
    assert (friction.telescope.coulomb, friction.telescope.viscous) == (1.641, 1.247)
    assert np.degrees(limits.joint_speed) == pytest.approx([1088, 1088, 1088, 3200])
    assert np.degrees(limits.joint_acceleration) == pytest.approx([5000] * 3)
    assert np.degrees(limits.joint_jerk) == pytest.approx([1e5] * 3)
    assert (limits.rod_force, limits.flange_force, limits.flange_torque) == (120, 140, 10)
    assert limits.margin == 0.1
    assert robot.control.position_period == 400e-6


def test_irb360_has_the_parts_as_weighed_and_the_arms_alone():
    # Gnad et al., sections 6.3.2 and 6.5 and Table 1.
    robot = shipped("abb_irb360_6_1600")
    weighed, arms = robot.weighed, robot.disassembled
    masses = (weighed.rod, weighed.measuring_rod, weighed.platform, weighed.telescope)
    assert masses == (0.150, 0.340, 1.12, 1.14)
    assert arms.arm_moment_x == (0.150, 0.153, 0.152)
    assert arms.arm_moment_z == (0.005, 0.007, 0.016)
    assert arms.arm_inertia == (0.228, 0.232, 0.238)
    assert arms.coulomb == (4.201, 4.145, 5.773, 0.387)
    assert arms.viscous == (0.281, 0.419, 0.448, 0.012)


def test_irb360_gears_follow_from_motors_of_6000_rpm():
    robot = shipped("abb_irb360_6_1600")
    drives, axis4 = robot.motors.drives, robot.motors.axis4
    assert drives.peak_speed / robot.limits.joint_speed[0] == pytest.approx(33.09, abs=0.005)
    assert axis4.peak_speed / robot.limits.joint_speed[3] == pytest.approx(axis4.gear_ratio)
    assert drives.gear_ratio * drives.peak_torque * 0.9 == pytest.approx(118.8)
    assert robot.encoders.motor_bits == pytest.approx(math.log2(33 * 2**15), abs=1e-4)


def test_irb360_plate_is_a_disc_below_the_flange():
    plate = shipped("abb_irb360_6_1600").payloads["plate"]
    expected = [2.5, 0, 0, -0.24375, 0.030844, 0.030844, 0.013781, 0, 0, 0]
    assert plate.ten_parameters == pytest.approx(expected, abs=5e-7)
    m, R, h = 2.5, 0.105, 0.03
    assert plate.inertia[0] == pytest.approx(m * (3 * R**2 + h**2) / 12)
    assert plate.inertia[2] == pytest.approx(m * R**2 / 2)


def test_d3s_800_weighs_what_its_table_adds_up_to():
    # Elshami et al., Table 2: 60.6 kg, of which 30.6 kg move.
    bodies = shipped("d3s_800").bodies
    moving = 3 * bodies.arm.mass + 6 * bodies.rod.mass + 6 * bodies.connector.mass
    moving += bodies.platform.mass
    assert moving == pytest.approx(30.6)
    assert moving + bodies.base.mass == pytest.approx(60.6)


def test_d3s_800_has_its_six_wrists_on_a_circle_of_62_mm():
    # Elshami et al., section 4. Arms level, the platform is at -845.24 mm.
    geometry = shipped("d3s_800").geometry
    assert geometry.platform_radius[0] == math.sqrt(62**2 - 47.5**2) / 1000
    assert math.hypot(geometry.platform_radius[0], geometry.rod_spacing / 2) == pytest.approx(0.062)
    assert home_height(geometry) == pytest.approx(-0.84524, abs=5e-6)
    angles = np.degrees(arm_angles(geometry, (0, 0, -0.847)))
    assert angles == pytest.approx([0.27176] * 3, abs=5e-6)


def test_d3s_800_inertias_are_turned_into_our_frames():
    # Their arm has z along the motor axis (our y), their forearm is long in y (our x).
    bodies = shipped("d3s_800").bodies
    assert bodies.arm.inertia == (0.00510, 0.125448, 0.12448)
    assert bodies.rod.inertia == (0.00006, 0.13940, 0.13940)
    assert bodies.connector.inertia == (0.0000147, 0.000101, 0.000101)


def test_flexible_delta_links_weigh_what_their_section_says():
    # Kuo 2016, Table 1: 5 mm x 5 mm of steel.
    robot = shipped("flexible_delta")
    steel, section = robot.materials["steel"], robot.sections.rod
    assert (steel.young_modulus, steel.shear_modulus, steel.density) == (210e9, 80e9, 7800)
    per_length = steel.density * section.width * section.height
    for body, length in ((robot.bodies.arm, 0.5), (robot.bodies.rod, 0.6)):
        assert body.mass == pytest.approx(per_length * length)
        assert body.centre == (length / 2, 0, 0)
        assert body.ten_parameters[5] == pytest.approx(body.mass * length**2 / 3)
        assert body.inertia[0] == pytest.approx(steel.density * 5e-3**4 / 6 * length)
    assert (robot.bodies.arm.mass, robot.bodies.rod.mass) == (0.0975, 0.117)
    assert robot.bodies.platform.inertia == pytest.approx((4.1667e-4, 4.1667e-4, 6.25e-4), rel=1e-4)
    assert robot.geometry.rod_spacing is None


def test_flexible_delta_hangs_below_its_base():
    # Kuo's z points down; at his (0.1, 0, 0.5) the arms are at 10.7637 and 29.3019 deg.
    geometry = shipped("flexible_delta").geometry
    angles = np.degrees(arm_angles(geometry, (0.1, 0, -0.5)))
    assert angles == pytest.approx([10.7637, 29.3019, 29.3019], abs=5e-5)


def test_omron_platens_bend_over_their_thin_side():
    # Bengoa et al. 2017, Table 2: EI = 2.39625 N m^2, 0.1233 kg/m.
    robot = shipped("omron_mini_delta_platens")
    alloy, section, rod = robot.materials["aluminium"], robot.sections.rod, robot.bodies.rod
    bending = alloy.young_modulus * section.width * section.height**3 / 12
    assert bending == pytest.approx(2.39625)
    b, h, length = section.width, section.height, robot.geometry.rod_length[0]
    assert rod.mass / length == pytest.approx(0.1233) == pytest.approx(alloy.density * b * h)
    prism = [b**2 + h**2, length**2 + h**2, length**2 + b**2]
    assert rod.inertia == pytest.approx([rod.mass * size / 12 for size in prism])
    assert (robot.geometry.rod_spacing, robot.geometry.single_rod) == (None, "pair")
    assert home_height(robot.geometry) == pytest.approx(-0.34044, abs=5e-6)


def test_the_geared_delta_weighs_its_tubes_and_ten_newton_metres_per_arcminute():
    robot, lengths = shipped("geared_delta"), shipped("abb_irb360_1130").geometry
    for key in ("base_radius", "platform_radius", "arm_length", "rod_length", "rod_spacing"):
        assert getattr(robot.geometry, key) == getattr(lengths, key)
    motor = robot.motors.drives
    per_arcmin = motor.gear_ratio**2 * motor.coupling_stiffness * math.radians(1 / 60)
    assert per_arcmin == pytest.approx(10, abs=0.01)
    for part, length in (("arm", 0.35), ("rod", 0.8)):
        section, body = getattr(robot.sections, part), getattr(robot.bodies, part)
        area = math.pi * (section.outer_radius**2 - section.inner_radius**2)
        own = robot.materials[section.material].density * area * length
        tip = (body.mass * body.centre[0] - own * length / 2) / length
        root = body.mass - own - tip
        about = own * length**2 / 3 + tip * length**2 - body.mass * body.centre[0] ** 2
        assert min(root, tip) > 0.02
        assert body.inertia[1] == pytest.approx(about, rel=0.01)


def test_omron_pairs_of_rods_weigh_what_the_table_prints():
    # Bengoa et al. 2017, Table 1: lower link 0.1319 kg.
    robot, soft = shipped("omron_mini_delta"), shipped("omron_mini_delta_platens")
    assert 2 * robot.bodies.rod.mass == pytest.approx(0.1319)
    equivalent = math.sqrt(12 * robot.bodies.rod.inertia[1] / robot.bodies.rod.mass)
    assert equivalent == pytest.approx(0.4266, abs=1e-4)
    assert (robot.bodies.arm, robot.bodies.platform) == (soft.bodies.arm, soft.bodies.platform)


def test_3prs_rests_where_its_bars_stand_at_45_degrees():
    # Ruiz et al. 2022, Table 1: home at L sin 45 deg, with the sliders at 0.3003 mm.
    robot = shipped("compliant_3prs")
    geometry = robot.geometry
    a, b, L = geometry.base_radius[0], geometry.platform_radius[0], geometry.bar_length[0]
    home, slider = L * math.sin(geometry.rest_angle), a - b - L * math.cos(geometry.rest_angle)
    assert home == pytest.approx(77.2267e-3, abs=5e-8)
    assert slider == pytest.approx(0.3003e-3, abs=5e-8)
    assert robot.limits.workspace_height == pytest.approx((home - 2e-3, home + 2e-3), abs=5e-8)
    low, high = robot.limits.slider_position
    assert low <= slider - 2.720e-3 + 5e-7
    assert high >= slider + 2.950e-3 - 5e-7


def test_3prs_drives_have_the_printed_numbers_in_the_right_units():
    # Ruiz et al. 2022, Table 1.
    robot = shipped("compliant_3prs")
    motor, control, flexures = robot.motors.drives, robot.control, robot.flexures
    assert motor.transmission == pytest.approx(2 * math.pi * 14 / 0.07)
    assert motor.load_inertia * motor.transmission**2 == pytest.approx(0.0761, abs=5e-5)
    assert (motor.rotor_inertia, motor.torque_constant) == (1.423e-4, 0.0302)
    assert (motor.coupling_damping, motor.damping) == (1.085e-5, 0.003)
    assert (control.position_gain, control.velocity_gain, control.integral_gain) == (65, 1, 8)
    assert control.position_period == 0.005
    assert control.velocity_period is None
    stiffness = (flexures.revolute_bending, flexures.spherical_bending, flexures.spherical_torsion)
    assert stiffness == (98.37, 32.665, 24.46)


def test_3prs_belt_stiffness_is_the_one_of_five_per_cent_damping():
    motor = shipped("compliant_3prs").motors.drives
    damping = motor.coupling_damping / (
        2 * math.sqrt(motor.coupling_stiffness * motor.load_inertia)
    )
    assert damping == pytest.approx(0.05, rel=1e-3)


def test_1130_is_the_smaller_irb360():
    small, large = shipped("abb_irb360_1130"), shipped("abb_irb360_6_1600")
    geometry = small.geometry
    lengths = (geometry.base_radius, geometry.platform_radius, geometry.arm_length)
    assert [length[0] for length in lengths] == [0.2, 0.045, 0.35]
    assert (geometry.rod_length[0], geometry.rod_spacing) == (0.8, 0.1)
    assert small.bodies is None
    assert np.degrees(small.limits.joint_angle) == pytest.approx([-46, 100], abs=0.2)
    assert small.limits.workspace_radius < large.limits.workspace_radius


def test_kossel_carriages_stand_where_the_firmware_has_them():
    # Marlin: at the top, DELTA_HEIGHT above the bed, all carriages are at the end of their rails.
    robot = shipped("kossel_mini")
    (limb,) = robot.geometry.limbs
    across = limb.base[0] - limb.end[0]
    assert across == pytest.approx(0.1052)
    top = 0.250 - robot.geometry.flange_height + math.sqrt(limb.rod_length[0] ** 2 - across**2)
    assert robot.limits.slider_position[1] == pytest.approx(top, abs=1e-4)
    assert robot.motors.drives.transmission == pytest.approx(2 * math.pi / (20 * 0.002))


def test_orthoglide_travels_fit_its_cube():
    # A cube of 200 mm, from -126.8 to 73.2 mm: 257 mm for each carriage.
    robot = shipped("orthoglide")
    L, end = robot.geometry.limbs[0].rod_length[0], robot.geometry.limbs[0].end[0]
    low, high = -0.1268, 0.0732
    least = low - L + end
    most = high - math.sqrt(L**2 - 2 * low**2) + end
    assert robot.limits.slider_position == pytest.approx((least, most), abs=1e-3)
    assert most - least == pytest.approx(0.257, abs=1e-3)


def test_stewart_weighs_what_its_steel_cylinders_do():
    # The MathWorks: legs are tubes and bars of three quarters of their length at home.
    robot = shipped("stewart_6ups")
    (limb,) = robot.geometry.limbs
    foot, ball = (
        radius * np.array([math.cos(angle), math.sin(angle)])
        for radius, angle in ((limb.base[0], limb.around[0]), (limb.end[0], limb.end_around[0]))
    )
    leg = math.hypot(*(ball - foot), robot.geometry.platform.home[2])
    area, steel = math.pi * np.array([0.05**2 - 0.03**2, 0.03**2]), 76e3 / 9.81
    masses = [robot.bodies[part].mass for part in ("cylinder", "piston")]
    assert masses == pytest.approx(list(steel * area * 0.75 * leg), rel=1e-3)
    centres = [robot.bodies[part].centre[0] for part in ("cylinder", "piston")]
    assert centres == pytest.approx([3 / 8 * leg, -3 / 8 * leg], rel=1e-3)
    assert robot.bodies["platform"].mass == pytest.approx(steel * math.pi * 0.05, rel=1e-3)


# Helpers: an independent walk through the models, and a Delta's inverse kinematics.


def numbers(model, prefix=""):
    """(key, value, quantity) of each number that the file sets."""
    for name in model.model_fields_set:
        value, quantity = getattr(model, name), quantity_of(type(model).model_fields[name])
        if quantity is not None:
            yield prefix + name, value, quantity
        elif isinstance(value, BaseModel):
            yield from numbers(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from numbers(item, f"{prefix}{name}.{key}.")
        elif isinstance(value, tuple) and isinstance(value[0], BaseModel):
            for number, item in enumerate(value, 1):
                place = f".{number}" if len(value) > 1 else ""
                yield from numbers(item, f"{prefix}{name}{place}.")


def nested(model):
    """The sections directly below `model`, or the tables of a dictionary."""
    items = model.items() if isinstance(model, dict) else model
    return [value for _, value in items if isinstance(value, BaseModel)]


def architecture(robot):
    """Coordinates of the platform, and what the limbs are made of."""
    geometry = robot.geometry
    limbs = {
        (limb.drive, limb.upper, limb.lower, limb.rod_spacing is None, limb.level is None)
        for limb in geometry.limbs
    }
    turned = geometry.platform.coordinates[-1] == "z" and {limb.rail for limb in geometry.limbs}
    return geometry.platform.coordinates, frozenset(limbs), frozenset(turned or ())


def home_height(geometry):
    """z [m] of the platform with level arms."""
    R, r = geometry.base_radius[0], geometry.platform_radius[0]
    return -math.sqrt(geometry.rod_length[0] ** 2 - (R + geometry.arm_length[0] - r) ** 2)


def arm_angles(geometry, x):
    """Arm angles [rad] that put the platform at `x` [m], elbows outwards; NaN out of reach."""
    angles = []
    for limb in range(3):
        cos, sin = math.cos(geometry.azimuth[limb]), math.sin(geometry.azimuth[limb])
        L, d = geometry.arm_length[limb], geometry.rod_length[limb]
        radial = (
            cos * x[0] + sin * x[1] + geometry.platform_radius[limb] - geometry.base_radius[limb]
        )
        sideways = cos * x[1] - sin * x[0]
        k = (radial**2 + sideways**2 + x[2] ** 2 + L**2 - d**2) / (2 * L)
        ratio = k / math.hypot(radial, x[2])
        lift = math.acos(ratio) if abs(ratio) <= 1 else math.nan
        angles.append(-math.atan2(x[2], radial) - lift)
    return angles


def cylinder(radius, heights):
    """Points on the rims of a cylinder, every 5 degrees, and on its axis."""
    for z in heights:
        yield (0.0, 0.0, z)
        for step in range(72):
            angle = math.radians(5 * step)
            yield (radius * math.cos(angle), radius * math.sin(angle), z)
