"""From files to mechanisms of limbs: what cannot be is refused by limb and mobility found."""

import pytest

from triskele.description import catalogue
from triskele.description.load import parse
from triskele.errors import DescriptionError
from triskele.kinematics.build import build

PLACE = '[geometry.platform]\ncoordinates = ["x", "y", "z"]\nhome = "[0, 0, -600] mm"\n'
DELTA = """[geometry.limbs]
around = "[0, 120, 240] deg"
drive = "arm"
base = "[200, 0, 0] mm"
arm_length = "300 mm"
rod_length = "700 mm"
rod_spacing = "80 mm"
end = "[50, 0, 0] mm"
"""
TILT = '[geometry.platform]\ncoordinates = ["z", "psi", "theta"]\nhome = "[0, 0, 500] mm"\n'
LEGS = """[geometry.limbs]
around = "[0, 120, 240] deg"
drive = "strut"
base = "[300, 0, 0] mm"
upper = "revolute"
end = "[150, 0, 0] mm"
"""
PLANE = '[geometry.platform]\ncoordinates = ["x", "y"]\nhome = "[0, 300, 0] mm"\n'
FIVE_BAR = """[geometry.limbs]
around = "[180, 0] deg"
drive = "arm"
base = "[140, 0, 0] mm"
axis = "up"
arm_length = "230 mm"
rod_length = "230 mm"
upper = "revolute"
lower = "revolute"
branch = [-1, 1]
"""
ARTICULATED = """[geometry.platform]
coordinates = ["x", "y", "z", "c"]
home = "[0, 0, -600] mm"
half = "[0, 50, 0] mm"
link = "[80, 0, 0] mm"
"""
FOUR = DELTA.replace("[0, 120, 240]", "[45, 135, 225, 315]")
HALVES = 'part = ["half_a", "half_a", "half_b", "half_b"]\n'
SIX = """[geometry.platform]
coordinates = ["x", "y", "z", "a", "b", "c"]
home = "[0, 0, -500] mm"
"""


def carriages(platform, *limbs):
    """A robot of carriages on rails along x: y of the rail and wrist [mm], and branch, of each."""
    return platform + "".join(
        f"""[[geometry.limbs]]
        drive = "slide"
        rail = [1, 0, 0]
        base = "[0, {y}, 0] mm"
        rod_length = "700 mm"
        end = "{end} mm"
        branch = {branch}
        {more}
        """
        for y, end, branch, more in limbs
    )


PAIR = 'rod_spacing = "60 mm"'
PARALLEL = carriages(
    PLACE, (-200, [0, -40, 0], 1, PAIR), (200, [0, 40, 0], 1, PAIR), (0, [0, 0, 0], -1, PAIR)
)
_TABLES = PARALLEL.split("[[geometry.limbs]]")
WITHOUT_RAIL = "[[geometry.limbs]]".join(
    table.replace("rail = [1, 0, 0]", "") if number == 2 else table
    for number, table in enumerate(_TABLES)
)
# The mirrors x to -x and y to -y leave three pairs of rods for four motions that change sign in y.
MIRRORED = carriages(
    SIX,
    *((y, [x, y / 4, 0], -x // 60, "") for x in (60, -60) for y in (240, -240)),
    (0, [120, 0, 0], -1, ""),
    (0, [-120, 0, 0], 1, ""),
)


def refused(geometry):
    """The sentence with which a robot of that geometry is refused."""
    with pytest.raises(DescriptionError) as caught:
        build(parse(f'kind = "limbs"\nname = "bad"\ntitle = "Bad"\n{geometry}', "bad.toml"))
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("kind", [k for k in catalogue.templates() if k != "mechanism"])
def test_templates_can_be_built(kind):
    mechanism = build(parse(catalogue.template(kind)))
    assert len(mechanism.joint_coordinates) == len(mechanism.platform_coordinates)


@pytest.mark.parametrize(
    ("geometry", "sentence"),
    [
        (
            PLACE + DELTA.replace('"700 mm"', '"[700, 200, 700] mm"'),
            "bad.toml, geometry: limb 2 cannot close at home: arm (300 mm) and rod (200 mm) do not "
            "span the 618.5 mm from its motor to its wrist.",
        ),
        (
            PARALLEL.replace("-600", "-800"),
            "bad.toml, geometry: limb 1 cannot close at home: its rod (700 mm) is shorter than the "
            "distance of its wrist from the rail (815.8 mm).",
        ),
        (
            PARALLEL.replace("[0, 0, -600]", "[4e13, 0, -600]"),
            "bad.toml, geometry: limb 1 cannot close at home: its wrist is 4e+13 mm from `base`, "
            "the point of its rail; no robot is larger than 1e+09 mm.",
        ),
        (
            TILT.replace("500", "0") + LEGS.replace("300", "150"),
            "bad.toml, geometry: limb 1 cannot close at home: its foot and its wrist are at "
            "one place.",
        ),
    ],
)
def test_a_loop_that_cannot_close_names_its_limb_and_the_lengths(geometry, sentence):
    assert refused(geometry) == sentence


@pytest.mark.parametrize(
    ("geometry", "sentence"),
    [
        (
            PLACE + DELTA.replace(PAIR.replace("60", "80"), 'lower = "spherical"'),
            "bad.toml, geometry: the limbs leave 6 degrees of freedom for 3 drives at home; with "
            "the drives locked, platform (about z) moves freely.",
        ),
        (
            PARALLEL,
            "bad.toml, geometry: the limbs leave 4 degrees of freedom for 3 drives at home; with "
            "the drives locked, platform (about y) moves freely.",
        ),
        (
            PLANE + FIVE_BAR,
            "bad.toml, geometry: the limbs leave 3 degrees of freedom for 2 drives at home; with "
            "the drives locked, platform (about z) moves freely.",
        ),
        (
            ARTICULATED.replace("[80, 0, 0]", "[0, 80, 0]") + FOUR + HALVES,
            "bad.toml, geometry: the limbs leave 5 degrees of freedom for 4 drives at home; with "
            "the drives locked, platform (about y) moves freely.",
        ),
    ],
)
def test_a_platform_that_its_limbs_do_not_hold_is_refused_with_the_freedom_found(
    geometry, sentence
):
    assert refused(geometry) == sentence


@pytest.mark.parametrize(
    ("geometry", "sentence"),
    [
        (  # hinges along the radius, so that a leg leaves its plane
            TILT + LEGS + "across = [1, 0, 0]\n",
            "bad.toml, geometry: limb 1 forbids the coordinate z: it leaves the platform 5 degrees "
            "of freedom, none of them a motion in z.",
        ),
        (  # the pairs hold the link with the tool, which should turn
            ARTICULATED + FOUR,
            "bad.toml, geometry: limb 1 forbids the coordinate c: it leaves the platform 6 degrees "
            "of freedom, none of them a motion in c.",
        ),
        (  # hinges for rods that must swing sideways
            PLACE + DELTA.replace(PAIR.replace("60", "80"), 'upper = "revolute"'),
            "bad.toml, geometry: limb 1 forbids the coordinate y: it leaves the platform 3 degrees "
            "of freedom, none of them a motion in y.",
        ),
    ],
)
def test_a_limb_that_forbids_a_coordinate_is_named_with_its_mobility(geometry, sentence):
    assert refused(geometry) == sentence


def test_a_home_where_locked_drives_do_not_hold_the_platform_is_refused():
    assert refused(MIRRORED) == (
        "bad.toml, geometry: the platform is singular at home: the limbs leave 6 degrees of "
        "freedom for 6 drives, but with the drives locked, platform (about x) moves freely."
    )


def test_a_home_where_two_coordinates_are_one_motion_is_refused():
    """At b = 90 deg, a and c turn about one axis: no limb is to blame."""
    legs = LEGS.replace("[0, 120, 240]", "[-11, 11, 109, 131, 229, 251]")
    legs = legs.replace('upper = "revolute"\n', 'end_around = "[-48, 48, 72, 168, 192, 288] deg"\n')
    home = SIX.replace("-500", "500")
    build(parse(f'kind = "limbs"\nname = "good"\ntitle = "Good"\n{home}{legs}'))
    turned = home + 'home_angles = "[10, 90, 20] deg"\n'
    assert refused(turned + legs) == (
        "bad.toml, geometry.platform: at home the coordinates a and c move the platform in the "
        "same way; with R = Rz(c) Ry(b) Rx(a) they do where b is 90 deg. Choose another home, or "
        "turn the axes of the platform."
    )


@pytest.mark.parametrize(
    ("geometry", "sentence"),
    [
        (
            PLACE + DELTA.replace("[0, 120, 240]", "[0, 90, 180, 270]"),
            "bad.toml, geometry: 4 drives for 3 platform coordinates (x, y, z); there must be as "
            "many: limb 4 is too many.",
        ),
        (
            PLACE + DELTA.replace("[0, 120, 240]", "[0, 120]"),
            "bad.toml, geometry: 2 drives for 3 platform coordinates (x, y, z); there must be as "
            "many: a limb is missing.",
        ),
        (
            PLACE + DELTA.replace('arm_length = "300 mm"\n', ""),
            "bad.toml, geometry.limbs: a limb with drive = 'arm' needs arm_length.",
        ),
        (
            WITHOUT_RAIL,
            "bad.toml, geometry.limbs.2: a limb with drive = 'slide' needs rail.",
        ),
        (
            PLACE + DELTA + 'zero = [1, 0.2, 0]\naxis = "radial"\n',
            "bad.toml, geometry.limbs: zero and axis of a limb with drive = 'arm' are not at a "
            "right angle.",
        ),
        (
            PLACE + DELTA + 'part = "half_a"\n',
            "bad.toml, geometry.limbs.part: 'half_a' is no part of the platform; it has platform.",
        ),
        (
            PLANE + 'carried_by = "rod_3"\n' + FIVE_BAR,
            "bad.toml, geometry.platform.carried_by: there is no 'rod_3'. Did you mean 'rod_2'?",
        ),
        (
            TILT + LEGS + "branch = -1\n",
            "bad.toml, geometry.limbs: a strut has no branch -1.",
        ),
        (
            TILT + LEGS + 'end_around = "0 deg"\n',
            "bad.toml, geometry.limbs.end: with the coordinates z, psi, theta a wrist lies in the "
            "plane of its leg and of the platform: radial, above 0, the rest 0, and no end_around.",
        ),
        (
            TILT.replace("[0, 0, 500]", "[50, 0, 500]") + LEGS,
            "bad.toml, geometry.platform: with the coordinates z, psi, theta, home has only a "
            "height and home_angles only psi and theta; how far the platform slides and turns "
            "besides, its legs decide.",
        ),
        (
            PLACE + DELTA + 'across = "up"\n',
            "bad.toml, geometry.limbs: a limb with drive = 'arm' has no across.",
        ),
        (
            TILT + LEGS + 'zero = "up"\npair = "up"\n',
            "bad.toml, geometry.limbs: a limb with drive = 'strut' has no zero and no pair.",
        ),
        (
            carriages(PLACE, (200, [0, 40, 0], 1, 'pair = "up"')),
            "bad.toml, geometry.limbs.1: pair is the direction from one rod to the other; give "
            "rod_spacing.",
        ),
        (
            PLACE + DELTA + 'bodies = ["arm", "platform"]\n',
            "bad.toml, geometry.limbs.bodies: 'platform' is the name of another body; what a limb "
            "consists of has two names of its own.",
        ),
        (
            TILT + LEGS + 'bodies = ["leg", "leg"]\n',
            "bad.toml, geometry.limbs.bodies: 'leg' is the name of another body; what a limb "
            "consists of has two names of its own.",
        ),
        (
            PLACE + DELTA + '[bodies.carriage]\nmass = "1 kg"\n',
            "bad.toml, bodies.carriage: this robot has no such body. Known: arm, arm_1, arm_2, "
            "arm_3, base, platform, rod, rod_1a, rod_1b, rod_2a, rod_2b, rod_3a, rod_3b.",
        ),
        (
            PLACE.replace('"z"]', '"z", "psi"]') + DELTA + "[geometry.telescope]\n"
            'upper_joint_height = "-650 mm"\nlower_joint_height = "-50 mm"\n',
            "bad.toml, geometry.telescope: both its joints are at one place at home; a telescope "
            "has a length.",
        ),
        (
            SIX.replace("-500", "1e300")
            + LEGS.replace("[0, 120, 240]", "[0, 60, 120, 180, 240, 300]").replace(
                'upper = "revolute"', ""
            ),
            "bad.toml, geometry.platform.home: 1e+297 m is not a position: the number is too "
            "large.",
        ),
        (
            TILT + LEGS.replace("[0, 120, 240]", "[0, 180, 0]"),
            "bad.toml, geometry.limbs.around: all legs lie in one plane.",
        ),
    ],
)
def test_what_a_limb_lacks_or_has_too_much_is_said_where_it_stands(geometry, sentence):
    assert refused(geometry) == sentence
