"""What a robot is: inertia by hand, and the sentence for each contradiction in a file."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from triskele.description import schema
from triskele.description.load import load, parse
from triskele.description.schema import Body, CrossSection, Material, Payload
from triskele.errors import MissingFact, TriskeleError

GEOMETRY = {"base_radius": 0.2, "platform_radius": 0.05, "arm_length": 0.3, "rod_length": 0.7}


def message(model: type[BaseModel], **fields: Any) -> str:
    """The first sentence with which `model` refuses `fields`."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(fields)
    return caught.value.errors()[0]["msg"].removeprefix("Value error, ")


def test_both_ways_to_state_an_inertia_give_the_same_ten_parameters():
    # A point of 2 kg at (1, 2, 3) m: m (y^2 + z^2) = 26 and so on, products -m x y = -4.
    ten = (2, 2, 4, 6, 26, 20, 10, -4, -12, -6)
    about_centre = Body(mass=2, centre_of_mass=(1, 2, 3), inertia=(0, 0, 0))
    about_origin = Body(mass=2, first_moment=(2, 4, 6), inertia_at_origin=(26, 20, 10, -4, -12, -6))
    assert about_centre.ten_parameters == ten
    assert about_origin.ten_parameters == ten
    assert about_origin.centre == about_centre.centre == (1, 2, 3)


def test_own_inertia_adds_to_that_of_the_centre():
    body = Body(mass=2, centre_of_mass=(0, 0, 3), inertia=(1, 2, 3, 0.1, 0.2, 0.3))
    assert body.ten_parameters == (2, 0, 0, 6, 19, 20, 3, 0.1, 0.2, 0.3)


def test_a_bare_mass_is_a_point_at_the_origin():
    assert Body(mass=2).ten_parameters == (2, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert Payload(mass=2).ten_parameters == (2, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def test_a_body_is_described_one_way_only():
    twice = message(Body, mass=1, centre_of_mass=(0, 0, 0), first_moment=(0, 0, 0))
    assert twice == "give centre_of_mass or first_moment, not both."
    twice = message(Body, mass=1, inertia=(1, 1, 1), inertia_at_origin=(1, 1, 1))
    assert twice == "give inertia (about the centre) or inertia_at_origin, not both."


def test_limbs_stand_apart():
    sentence = (
        "two limbs have the same azimuth; write three angles that differ, also by full turns."
    )
    assert message(schema.DeltaGeometry, **GEOMETRY, azimuth=0.0) == sentence
    assert schema.DeltaGeometry.model_validate(GEOMETRY).azimuth == pytest.approx(
        (0, 2.0943951, 4.1887902)
    )


def test_connectors_need_a_pair_of_rods_to_connect():
    alone = message(schema.DeltaGeometry, **GEOMETRY, connector_offset=0.05)
    assert alone == "connector_offset needs rod_spacing: a single rod has no pair."
    long = message(schema.DeltaGeometry, **GEOMETRY, connector_offset=0.35, rod_spacing=0.1)
    assert long == "connector_offset must be less than half of rod_length."


def test_one_rod_stands_for_a_pair_or_there_are_two():
    both = message(schema.DeltaGeometry, **GEOMETRY, single_rod="pair", rod_spacing=0.1)
    assert both.startswith('single_rod = "pair" is for one rod that stands for a pair, and rod_sp')
    assert schema.DeltaGeometry(**GEOMETRY, single_rod="pair").rod_spacing is None
    assert schema.DeltaGeometry(**GEOMETRY).single_rod == "alone"


def test_a_friction_term_needs_its_speed():
    sentence = message(schema.JointFriction, saturating=0.6)
    assert sentence == "saturating needs saturating_speed beside it."
    assert message(schema.JointFriction, stribeck=0.6).startswith("stribeck needs stribeck_speed")
    assert schema.JointFriction(coulomb=(1, 2, 3)).coulomb == (1.0, 2.0, 3.0)


def test_a_motor_turns_or_slides():
    assert message(schema.Motor, gear_ratio=33, transmission=1256).startswith("give gear_ratio")


def test_shear_is_known_once():
    steel = {"young_modulus": 210e9, "density": 7800}
    sentence = "give shear_modulus or poisson_ratio, one of the two."
    assert message(Material, **steel) == sentence
    assert message(Material, **steel, shear_modulus=80e9, poisson_ratio=0.3) == sentence
    assert Material(**steel, poisson_ratio=0.3).shear_modulus is None


def test_a_section_has_the_measures_of_its_shape():
    needs = "a rectangle section needs width and height."
    assert message(CrossSection, shape="rectangle", material="steel") == needs
    assert "needs outer_radius" in message(CrossSection, shape="tube", material="steel")
    assert "area and second_moment_y" in message(CrossSection, shape="custom", material="steel")
    hollow = {"shape": "tube", "material": "steel", "outer_radius": 0.007, "inner_radius": 0.008}
    assert message(CrossSection, **hollow) == "inner_radius must be less than outer_radius."


def test_a_section_names_a_material_of_the_file():
    text = """
        kind = "delta"
        name = "x"
        title = "X"
        sections.rod = { shape = "tube", material = "stel", outer_radius = "8 mm" }
        materials.steel = { young_modulus = "210 GPa", density = "7.8 t/m^3", poisson_ratio = 0.3 }
        [geometry]
        base_radius = "1 m"
        platform_radius = "1 m"
        arm_length = "3 m"
        rod_length = "5 m"
    """
    with pytest.raises(TriskeleError) as caught:
        parse(text, "x.toml")
    expected = "x.toml, sections.rod.material: 'stel' is not under [materials]."
    assert str(caught.value) == expected
    assert parse(text.replace('stel"', 'steel"')).require("sections.rod.outer_radius", "x") == 0.008


def test_require_gets_a_number_or_says_what_is_missing_and_why():
    robot = load("abb_irb360_6_1600")
    assert robot.require("bodies.rod.mass", "inverse dynamics") == 0.179
    assert robot.require("materials.cfrp.density", "modes") == 1600.0
    with pytest.raises(MissingFact) as caught:
        robot.require("flexures.revolute_bending", "stiffness")
    sentence = (
        "abb_irb360_6_1600 has no 'flexures.revolute_bending', which stiffness needs; add it."
    )
    assert str(caught.value) == sentence
    with pytest.raises(MissingFact, match=r"materials\.steel"):
        robot.require("materials.steel.density", "modes")


def test_robots_are_equal_if_they_say_the_same_in_whatever_units():
    text = 'kind = "delta"\nname = "x"\ntitle = "X"\n[geometry]\nplatform_radius = "1 m"\n'
    text += 'arm_length = "3 m"\nrod_length = "5 m"\nbase_radius = '
    robot = parse(text + '"1 m"')
    assert robot == parse(text + '{ value = 1000, unit = "mm", source = "a ruler" }')
    assert robot != parse(text + '"2 m"')
    assert robot != load("compliant_3prs")
    assert robot != "x"


def test_data_are_frozen():
    robot = load("d3s_800")
    with pytest.raises(ValidationError, match="frozen"):
        robot.name = "other"
