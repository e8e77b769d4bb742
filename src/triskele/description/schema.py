"""The format of a robot file: what a robot is, as plain data in SI units.

One class per section of the TOML file; each field is a quantity with its unit, in brackets
as everywhere. Nothing here computes: `kinematics.build`, `dynamics.build` and the others
make models from it. Limbs are numbered 1, 2, 3 and drives 1, 2, 3, then 4 for the telescope.

Frames in which bodies state their inertia (origin and axes; u_i radial, v_i tangential and
k upward unit vectors of limb i, as in `kinematics/delta.py` and `kinematics/prs.py`):

    base                at the origin of O, with its axes
    arm                 on the motor axis; x towards the elbow, y along v_i
    rod                 at the upper ball; x towards the lower ball, z normal to the pair
    connector           midway between its hinges; x along v_i, z normal to the pair
    platform            in the plane of the wrists, on its axis; axes of the base
    end_effector        as platform, turned by psi about z
    telescope_upper     at the upper cardan; z up along the bar
    telescope_lower     at the lower cardan; z up along the bar
    coupling (3prs)     at the revolute flexure; x along the slide, inwards, z up
    bar (3prs)          at the revolute flexure; x towards the spherical flexure, y = m_i
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from triskele.description.provenance import Fact
from triskele.description.quantity import Quantity, Shape
from triskele.errors import MissingFact

_SAME = 1e-3  #: azimuths that differ by less are one [rad]
_LEGS = tuple(2 * math.pi / 3 * leg for leg in range(3))


def _positive(unit: str, name: str, shape: Shape = "number", **rules: object) -> Quantity:
    return Quantity(unit, name, shape, least=0.0, open_end=True, **rules)  # pyright: ignore[reportArgumentType]


def _not_negative(unit: str, name: str, shape: Shape = "number", **rules: object) -> Quantity:
    return Quantity(unit, name, shape, least=0.0, **rules)  # pyright: ignore[reportArgumentType]


def _apart(azimuth: "Limbs") -> "Limbs":
    pairs = zip(azimuth, (*azimuth[1:], azimuth[0]), strict=True)
    if any(abs(math.remainder(a - b, 2 * math.pi)) < _SAME for a, b in pairs):
        raise ValueError(
            "two limbs have the same azimuth; write three angles that differ, also by full turns."
        )
    return azimuth


Limbs = tuple[float, float, float]
Drives = tuple[float, ...]
Range = tuple[float, float]
Ranges = Range | tuple[Range, ...]  #: one for all joints, or one each
Vector = tuple[float, float, float]

_SIZE = (1e-3, 5.0)
Length = Annotated[float, _positive("m", "length", usual=_SIZE)]
LimbLength = Annotated[Limbs, _positive("m", "length", "limbs", usual=_SIZE)]
Height = Annotated[float, Quantity("m", "height", usual=_SIZE)]
Azimuth = Annotated[Limbs, Quantity("rad", "angle", "limbs"), AfterValidator(_apart)]
Angle = Annotated[float, _positive("rad", "angle", most=math.pi)]
AngleRanges = Annotated[Ranges, Quantity("rad", "angle", "ranges", usual=(1e-3, 2 * math.pi))]
LengthRanges = Annotated[Ranges, Quantity("m", "length", "ranges", usual=(1e-4, 5.0))]
LengthRange = Annotated[Range, Quantity("m", "length", "range", usual=(1e-4, 5.0))]
Mass = Annotated[float, _positive("kg", "mass", usual=(1e-4, 2000.0))]
Position = Annotated[Vector, Quantity("m", "position", "vector", usual=(0.0, 5.0))]
FirstMoment = Annotated[
    Vector, Quantity("kg m", "first moment of mass", "vector", usual=(0.0, 1e4))
]
Inertia = Annotated[
    tuple[float, ...], Quantity("kg m^2", "moment of inertia", "inertia", usual=(0.0, 1000.0))
]
RotorInertia = Annotated[float, _positive("kg m^2", "moment of inertia", usual=(1e-9, 1.0))]
JointInertia = Annotated[float, _positive("kg m^2", "inertia", usual=(1e-9, 1.0), sliding="kg")]
Acceleration = Annotated[Vector, Quantity("m/s^2", "acceleration", "vector")]
Ratio = Annotated[float, _positive("", "ratio", usual=(0.5, 500.0))]
Fraction = Annotated[float, _not_negative("", "fraction", most=1.0)]
Torque = Annotated[float, _positive("N m", "torque", usual=(1e-4, 1e4))]
Force = Annotated[float, _positive("N", "force", usual=(1e-2, 1e5))]
Duration = Annotated[float, _positive("s", "time", usual=(1e-5, 0.1))]
Stiffness = Annotated[float, _positive("N m/rad", "stiffness", usual=(1e-3, 1e7))]
AxialStiffness = Annotated[float, _positive("N/m", "stiffness", usual=(1e2, 1e11))]
TorqueConstant = Annotated[float, _positive("N m/A", "torque constant", usual=(1e-3, 20.0))]
Bits = Annotated[float, _positive("", "number of bits", most=64.0)]


class Section(BaseModel):
    """A table of the robot file. `source` holds for each number that names none itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str | None = None


class Telescope(Section):
    """The bar of axis 4, from a cardan above the joint plane to one on the platform."""

    upper_joint_height: Height  #: z_TU [m], upper cardan above the plane of the motor axes
    lower_joint_height: Height  #: z_TL [m], lower cardan above the plane of the wrists
    upper_length: Length | None = None  #: length of the upper part [m]
    lower_length: Length | None = None  #: length of the lower part [m]


class DeltaGeometry(Section):
    """Lengths of a Delta; one number for equal limbs, or three."""

    azimuth: Azimuth = _LEGS  # pyright: ignore[reportAssignmentType] #: phi_i [rad]
    base_radius: LimbLength  #: R_i [m], robot axis to motor axis
    platform_radius: LimbLength  #: r_i [m], platform axis to mid-wrist
    arm_length: LimbLength  #: L_i [m], motor axis to elbow
    rod_length: LimbLength  #: d_i [m], elbow ball to wrist ball
    rod_spacing: Length | None = None  #: w [m], between the rods of a pair; none: one rod
    single_rod: Literal["alone", "pair"] = "alone"
    #: what one rod is: itself, or a pair made one, which keeps the platform level
    connector_offset: Length | None = None  #: h [m], ball to hinge of the connecting rods
    flange_height: Height = 0.0  #: z_F [m], flange above the plane of the wrists
    mounting_height: Height = 0.0  #: mounting face above the plane of the motor axes [m]
    length_deviation: Annotated[float, _not_negative("m", "length")] | None = None
    #: standard deviation of each length of a limb [m]
    telescope: Telescope | None = None

    @model_validator(mode="after")
    def _one_rod_or_two(self) -> "DeltaGeometry":
        if self.single_rod == "pair" and self.rod_spacing is not None:
            raise ValueError(
                'single_rod = "pair" is for one rod that stands for a pair, and rod_spacing makes '
                "two; leave one of them out."
            )
        return self

    @model_validator(mode="after")
    def _connectors_need_a_pair(self) -> "DeltaGeometry":
        if self.connector_offset is not None:
            if self.rod_spacing is None:
                raise ValueError("connector_offset needs rod_spacing: a single rod has no pair.")
            if 2 * self.connector_offset >= min(self.rod_length):
                raise ValueError("connector_offset must be less than half of rod_length.")
        return self


class PrsGeometry(Section):
    """Lengths of a 3PRS with horizontal sliders that move inwards."""

    azimuth: Azimuth = _LEGS  # pyright: ignore[reportAssignmentType] #: gamma_i [rad]
    base_radius: LimbLength  #: a_i [m], robot axis to the revolute flexure at s_i = 0
    platform_radius: LimbLength  #: b_i [m], platform axis to the spherical flexure
    bar_length: LimbLength  #: L_i [m]
    rest_angle: Annotated[float, Quantity("rad", "angle", least=0.0, most=math.pi / 2)]
    #: alpha_0 [rad], inclination of the bars where the flexures are stress-free


class Body(Section):
    """Mass, centre and inertia of a body, in the frame named in the module's docstring.

    Either about the centre of mass (`centre_of_mass`, `inertia`) or about the frame's origin
    (`first_moment`, `inertia_at_origin`), as the source prints them.
    """

    mass: Mass
    mass_deviation: Fraction | None = None
    #: standard deviation of the mass, as a part of it; of the platform, for virtual sensors
    centre_of_mass: Position | None = None  #: c [m]
    first_moment: FirstMoment | None = None  #: m c [kg m]
    inertia: Inertia | None = None  #: about the centre of mass [kg m^2]
    inertia_at_origin: Inertia | None = None  #: about the frame's origin [kg m^2]

    @model_validator(mode="after")
    def _one_way_of_saying_it(self) -> "Body":
        if self.centre_of_mass is not None and self.first_moment is not None:
            raise ValueError("give centre_of_mass or first_moment, not both.")
        if self.inertia is not None and self.inertia_at_origin is not None:
            raise ValueError("give inertia (about the centre) or inertia_at_origin, not both.")
        return self

    @property
    def centre(self) -> Vector:
        """Centre of mass [m]; the frame's origin if the file is silent."""
        if self.first_moment is not None:
            x, y, z = self.first_moment
            return x / self.mass, y / self.mass, z / self.mass
        return self.centre_of_mass or (0.0, 0.0, 0.0)

    @property
    def ten_parameters(self) -> tuple[float, ...]:
        """m, mc (3), and xx, yy, zz, xy, yz, xz about the frame's origin; SI units."""
        m, (x, y, z) = self.mass, self.centre
        given = self.inertia_at_origin or self.inertia or (0.0, 0.0, 0.0)
        O = (*given, 0.0, 0.0, 0.0) if len(given) == 3 else given
        if self.inertia_at_origin is None:
            steiner = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
            O = tuple(a + m * b for a, b in zip(O, steiner, strict=True))
        return (m, m * x, m * y, m * z, *O)


class DeltaBodies(Section):
    """The bodies of a Delta; limbs are alike, and only the base stays where it is."""

    base: Body | None = None
    arm: Body
    rod: Body
    platform: Body
    connector: Body | None = None
    end_effector: Body | None = None
    telescope_upper: Body | None = None
    telescope_lower: Body | None = None


class PrsBodies(Section):
    """The moving bodies of a 3PRS; limbs are alike."""

    platform: Body
    bar: Body
    coupling: Body


_COULOMB = _not_negative("N m", "friction torque", usual=(0.0, 1e3))
_VISCOUS = _not_negative("N m s/rad", "viscous friction", usual=(0.0, 1e4))
_DRY = _not_negative("N m", "dry friction", sliding="N", usual=(0.0, 1e3))
_DRY_EACH = _not_negative("N m", "dry friction", "drives", sliding="N", usual=(0.0, 1e3))
_VISCOUS_EACH = _not_negative(
    "N m s/rad", "viscous friction", "drives", sliding="N s/m", usual=(0.0, 1e4)
)
_RUBBING_SPEED = _positive("rad/s", "speed", sliding="m/s", usual=(1e-5, 1e3))


class JointFriction(Section):
    """Friction of a joint: Coulomb, viscous, Stribeck and a saturating term.

    f = (coulomb + stribeck exp(-(w/stribeck_speed)^2)) tanh(w/smoothing_speed)
        + viscous w + saturating tanh(w/saturating_speed)

    A joint that turns rubs in N m at rad/s, one that slides in N at m/s.
    """

    coulomb: Annotated[Drives, _DRY_EACH] = (0.0,)
    viscous: Annotated[Drives, _VISCOUS_EACH] = (0.0,)
    stribeck: Annotated[float, _DRY] = 0.0
    stribeck_speed: Annotated[float, _RUBBING_SPEED] | None = None
    saturating: Annotated[float, _DRY] = 0.0
    saturating_speed: Annotated[float, _RUBBING_SPEED] | None = None
    smoothing_speed: Annotated[float, _RUBBING_SPEED] = 0.01

    @model_validator(mode="after")
    def _terms_are_complete(self) -> "JointFriction":
        for term in ("stribeck", "saturating"):
            if getattr(self, term) and getattr(self, f"{term}_speed") is None:
                raise ValueError(f"{term} needs {term}_speed beside it.")
        return self


class SlideFriction(Section):
    """Coulomb and viscous friction of a prismatic joint."""

    coulomb: Annotated[float, _not_negative("N", "friction force", usual=(0.0, 1e5))] = 0.0
    viscous: Annotated[float, _not_negative("N s/m", "viscous friction", usual=(0.0, 1e6))] = 0.0
    smoothing_speed: Annotated[float, _positive("m/s", "speed", usual=(1e-5, 1.0))] = 0.01


class Friction(Section):
    """Friction joint by joint; a table of the name of a joint coordinate, `q2`, is that drive's."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JointFriction] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    drives: JointFriction | None = None  #: the drives but that of the telescope, gear output
    axis4: JointFriction | None = None  #: the drive of the telescope, gear output
    telescope: SlideFriction | None = None  #: its prismatic joint
    balls: JointFriction | None = None  #: each ball joint of the rods
    slides: SlideFriction | None = None  #: drives that slide


class Motor(Section):
    """A motor with its transmission.

    Two inertias, coupled by a spring and a damper, all seen from the motor shaft; a rigid
    transmission is one without `coupling_stiffness`.
    """

    gear_ratio: Ratio | None = None  #: motor turns per joint turn
    transmission: Annotated[float, _positive("rad/m", "transmission", usual=(3.0, 1e5))] | None = (
        None
    )
    rotor_inertia: RotorInertia | None = None  #: J1 [kg m^2], at the motor shaft
    load_inertia: RotorInertia | None = None  #: J2 [kg m^2], at the motor shaft
    reflected_inertia: JointInertia | None = None  #: of the rotor, at the joint [kg m^2 or kg]
    coupling_stiffness: Stiffness | None = None  #: kt [N m/rad], at the motor shaft
    coupling_stiffness_reverse: Stiffness | None = None  #: kt while the load leads; none: as kt
    coupling_damping: Annotated[float, _VISCOUS] = 0.0  #: ct [N m s/rad]
    damping: Annotated[float, _VISCOUS] = 0.0  #: c1 [N m s/rad], motor bearing
    coulomb: Annotated[float, _COULOMB] = 0.0  #: dry friction at the motor shaft [N m]
    coulomb_speed: Annotated[float, _positive("rad/s", "speed")] = 1.0  #: where it is 76 % of it
    torque_constant: TorqueConstant | None = None
    current_limit: Annotated[float, _positive("A", "current", usual=(0.05, 1e3))] | None = None
    peak_torque: Torque | None = None  #: at the motor shaft [N m]
    continuous_torque: Torque | None = None  #: RMS over a cycle, at the shaft [N m]
    peak_speed: Annotated[float, _positive("rad/s", "speed", usual=(1, 1e4))] | None = None
    corner_speed: Annotated[float, _positive("rad/s", "speed", usual=(1, 1e4))] | None = None
    #: up to it the peak torque is there, beyond it falls to none at `peak_speed`

    @model_validator(mode="after")
    def _corner_below_peak(self) -> "Motor":
        if self.corner_speed is None:
            return self
        if self.peak_torque is None or self.peak_speed is None:
            raise ValueError("corner_speed needs peak_torque and peak_speed beside it.")
        if self.corner_speed >= self.peak_speed:
            raise ValueError("corner_speed must be below peak_speed.")
        return self

    @model_validator(mode="after")
    def _reverse_of_what(self) -> "Motor":
        if self.coupling_stiffness_reverse is not None and self.coupling_stiffness is None:
            raise ValueError("coupling_stiffness_reverse needs coupling_stiffness beside it.")
        return self

    @model_validator(mode="after")
    def _one_transmission(self) -> "Motor":
        if self.gear_ratio is not None and self.transmission is not None:
            raise ValueError(
                "give gear_ratio (joint that turns) or transmission (joint that slides), not both."
            )
        return self


class Motors(Section):
    """Which motor drives what; a table of the name of a joint coordinate, `q2`, is that drive's."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Motor] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    drives: Motor | None = None  #: all but that of the telescope
    axis4: Motor | None = None  #: that of the telescope


_SPEED = _positive("rad/s", "speed", "drives", usual=(1e-2, 200.0), sliding="m/s")
_ACCELERATION = _positive("rad/s^2", "acceleration", "drives", usual=(1e-1, 1e5), sliding="m/s^2")
_JERK = _positive("rad/s^3", "jerk", "drives", usual=(1.0, 1e8), sliding="m/s^3")
_TORQUE_RATE = _positive("N m/s", "rate of the effort", "drives", sliding="N/s")


class Limits(Section):
    """What the robot must not exceed; of torques and loads, `margin` is kept free."""

    joint_angle: AngleRanges | None = None  #: of the arms; of a Delta positive is down [rad]
    slider_position: LengthRanges | None = None  #: of the sliders, from s = 0 [m]
    strut_length: LengthRanges | None = None  #: of struts, foot to ball [m]
    rod_tilt: Angle | None = None  #: rod out of its limb plane, at most [rad]
    foot_angle: Angle | None = None  #: of a strut at its foot, from home, at most [rad]
    ball_angle: Angle | None = None  #: of a rod on a platform that turns, from home, at most [rad]
    telescope_length: LengthRange | None = None  #: cardan to cardan [m]
    platform_tilt: Angle | None = None  #: of a platform that tilts, at most [rad]
    singularity_margin: Fraction = 0.02  #: both margins of `kinematics.singularity`
    workspace_radius: Length | None = None  #: of the guaranteed cylinder [m]
    workspace_height: LengthRange | None = None  #: z of its floor and ceiling [m]
    joint_speed: Annotated[Drives, _SPEED] | None = None  #: [rad/s or m/s]
    joint_acceleration: Annotated[Drives, _ACCELERATION] | None = None  #: [rad/s^2 or m/s^2]
    joint_jerk: Annotated[Drives, _JERK] | None = None  #: [rad/s^3 or m/s^3]
    torque_rate: Annotated[Drives, _TORQUE_RATE] | None = None  #: at the joint [N m/s or N/s]
    rod_force: Force | None = None  #: axial, at either end [N]
    bearing_force: Force | None = None  #: in the bearing of a motor [N]
    bearing_torque: Torque | None = None  #: tilting moment in the bearing of a motor [N m]
    flange_force: Force | None = None  #: on the flange bearing [N]
    flange_torque: Torque | None = None  #: tilting moment on the flange bearing [N m]
    margin: Fraction = 0.0  #: part of torques and loads kept free


class Material(Section):
    """Elastic material of links and flexures."""

    young_modulus: Annotated[float, _positive("Pa", "modulus", usual=(1e8, 2e12))]
    density: Annotated[float, _positive("kg/m^3", "density", usual=(100, 3e4))]
    shear_modulus: Annotated[float, _positive("Pa", "modulus", usual=(1e8, 1e12))] | None = None
    poisson_ratio: Annotated[float, Quantity("", "ratio", least=-1.0, most=0.5)] | None = None
    yield_strength: Annotated[float, _positive("Pa", "strength")] | None = None
    damping_ratio: Fraction | None = None  #: modal damping
    young_modulus_deviation: Fraction | None = None  #: standard deviation, as a part of it
    density_deviation: Fraction | None = None  #: standard deviation, as a part of it

    @model_validator(mode="after")
    def _shear_is_known(self) -> "Material":
        if (self.shear_modulus is None) == (self.poisson_ratio is None):
            raise ValueError("give shear_modulus or poisson_ratio, one of the two.")
        return self


class CrossSection(Section):
    """Cross-section of a link along its x axis.

    rectangle: `width` along y, `height` along z; tube: `outer_radius`, `inner_radius`;
    custom: `area` and the three second moments.
    """

    shape: Literal["rectangle", "tube", "custom"]
    material: str  #: a name under [materials]
    width: Length | None = None
    height: Length | None = None
    outer_radius: Length | None = None
    inner_radius: Annotated[float, _not_negative("m", "length")] = 0.0
    area: Annotated[float, _positive("m^2", "area")] | None = None
    second_moment_y: Annotated[float, _positive("m^4", "second moment")] | None = None
    second_moment_z: Annotated[float, _positive("m^4", "second moment")] | None = None
    torsion_constant: Annotated[float, _positive("m^4", "torsion constant")] | None = None
    torsion_rule: Literal["polar", "saint-venant"] = "saint-venant"

    @model_validator(mode="after")
    def _shape_is_complete(self) -> "CrossSection":
        needs = {
            "rectangle": ("width", "height"),
            "tube": ("outer_radius",),
            "custom": ("area", "second_moment_y", "second_moment_z", "torsion_constant"),
        }[self.shape]
        missing = [key for key in needs if getattr(self, key) is None]
        if missing:
            raise ValueError(f"a {self.shape} section needs {' and '.join(missing)}.")
        if self.outer_radius is not None and self.inner_radius >= self.outer_radius:
            raise ValueError("inner_radius must be less than outer_radius.")
        return self


class Sections(Section):
    """Elastic links.

    A stated `rod_stiffness` is used where there is one, else E A / L of the section.
    """

    arm: CrossSection | None = None
    rod: CrossSection | None = None
    rod_stiffness: AxialStiffness | None = None  #: of one rod or strut along its axis [N/m]


class NotchHinge(Section):
    """A circular notch: what turns like a revolute joint."""

    material: str  #: a name under [materials]
    width: Length  #: b [m], along the axis of the joint
    thickness: Annotated[float, _positive("m", "length", usual=(1e-5, 0.1))]  #: t [m], of the neck
    radius: Length  #: R [m], of the notch


class CylinderHinge(Section):
    """A thin cylinder: what turns like a spherical joint."""

    material: str  #: a name under [materials]
    diameter: Annotated[float, _positive("m", "length", usual=(1e-4, 0.1))]  #: d [m]
    length: Length  #: l [m]


class Flexures(Section):
    """Compliant joints at the ends of rods and bars: springs, stated or from the shape of hinges.

    A stated stiffness is used where there is one; the shape then serves for stresses.
    """

    revolute_bending: Stiffness | None = None  #: kr [N m/rad]
    spherical_bending: Stiffness | None = None  #: ksf [N m/rad], both bending axes
    spherical_torsion: Stiffness | None = None  #: kst [N m/rad], about the bar
    revolute: NotchHinge | None = None
    spherical: CylinderHinge | None = None


class Control(Section):
    """Cascade control of one drive; gains act on motor-side angles."""

    position_gain: Annotated[float, _positive("1/s", "gain", usual=(0.5, 3000.0))] | None = (
        None  #: kV
    )
    velocity_gain: Annotated[float, _positive("A s/rad", "gain", usual=(1e-4, 1e3))] | None = (
        None  #: kP
    )
    integral_gain: Annotated[float, _not_negative("A/rad", "gain", usual=(1e-4, 1e5))] | None = (
        None  #: kI
    )
    position_period: Duration | None = None  #: sampling of the position loop [s]
    velocity_period: Duration | None = None  #: of the velocity loop; none: continuous [s]


_ZERO = _not_negative("rad", "angle", most=0.2)


class Encoders(Section):
    """What measures the joints."""

    motor_bits: Bits | None = None  #: 2**bits counts per joint turn (slider: motor turn)
    passive_bits: Bits | None = None  #: of an encoder on a passive joint
    sampling_period: Duration | None = None
    motor_zero_deviation: Annotated[float, _ZERO] | None = None
    #: standard deviation of the zeros of the motors [rad]
    passive_zero_deviation: Annotated[float, _ZERO] | None = None
    #: the same of encoders on passive joints [rad]
    timing_deviation: Annotated[float, _not_negative("s", "time", most=1.0)] | None = None
    #: standard deviation of the time by which a passive encoder is late [s]


class Weighed(Section):
    """Parts on a scale; identification keeps them as facts."""

    rod: Mass | None = None
    measuring_rod: Mass | None = None  #: instrumented with a force sensor [kg]
    platform: Mass | None = None
    telescope: Mass | None = None


class Disassembled(Section):
    """What was identified with the arms alone, limb by limb, about the motor axis."""

    arm_moment_x: Annotated[Limbs, Quantity("kg m", "first moment", "limbs")]
    arm_moment_z: Annotated[Limbs, Quantity("kg m", "first moment", "limbs")]
    arm_inertia: Annotated[Limbs, _positive("kg m^2", "moment of inertia", "limbs")]
    coulomb: Annotated[Drives, _not_negative("N m", "friction torque", "drives")]
    viscous: Annotated[Drives, _not_negative("N m s/rad", "viscous friction", "drives")]


class Payload(Section):
    """What the flange carries, in the end-effector frame (origin in the wrist plane)."""

    mass: Mass
    centre_of_mass: Position = (0.0, 0.0, 0.0)
    inertia: Inertia = (0.0, 0.0, 0.0)  #: about its centre of mass [kg m^2]
    mass_tolerance: Fraction = 0.0  #: the mass may be so much more or less, as a part of it
    centre_tolerance: Annotated[float, _not_negative("m", "length")] = 0.0  #: of its centre [m]
    grip_force: Force | None = None  #: with which a suction cup or magnet holds it [N]
    grip_friction: Annotated[float, _positive("", "friction coefficient", usual=(0.05, 2.0))] = 0.5

    @property
    def ten_parameters(self) -> tuple[float, ...]:
        """m, mc (3), and xx, yy, zz, xy, yz, xz about the frame's origin; SI units."""
        body = Body(mass=self.mass, centre_of_mass=self.centre_of_mass, inertia=self.inertia)
        return body.ten_parameters


class AbstractFile(Section):
    """What every file begins with; `require` gets a section or says what is missing."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    title: str
    summary: str = ""
    gravity: Acceleration = (0.0, 0.0, -9.81)
    _facts: tuple[Fact, ...] = PrivateAttr(default=())
    _place: str = PrivateAttr(default="")

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, however their files wrote the numbers."""
        return type(self) is type(other) and self.__dict__ == other.__dict__

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Every number of the file as it was written, with its source."""
        return self._facts

    @property
    def place(self) -> str:
        """The file it was read from, or its name: where a mistake in it is."""
        return self._place or self.name

    def assumptions(self, *sections: str) -> tuple[Fact, ...]:
        """The facts under `sections` (all, if none is named) that nobody vouches for."""
        return tuple(
            fact
            for fact in self._facts
            if fact.assumed and (not sections or fact.key.split(".")[0] in sections)
        )

    def require(self, key: str, why: str) -> object:
        """The value at a dotted `key`, or an error that names it and `why` it is needed."""
        value: object = self
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
            if value is None:
                raise MissingFact(f"{self.name} has no '{key}', which {why} needs; add it.")
        return value


class AbstractRobot(AbstractFile):
    """What every robot file may hold; a kind adds its geometry, and names its bodies."""

    kind: Any
    geometry: Any
    bodies: Any = None
    friction: Friction | None = None
    motors: Motors | None = None
    limits: Limits = Limits()
    materials: dict[str, Material] = {}
    sections: Sections | None = None
    flexures: Flexures | None = None
    control: Control | None = None
    encoders: Encoders | None = None
    weighed: Weighed | None = None
    disassembled: Disassembled | None = None
    payloads: dict[str, Payload] = {}

    def body(self, part: str) -> Body | None:
        """The body of that name under [bodies]; None if the file does not have it."""
        of_name = self.bodies.get if isinstance(self.bodies, dict) else _of(self.bodies)
        found = of_name(part)
        return found if isinstance(found, Body) else None

    @model_validator(mode="after")
    def _materials_exist(self) -> "AbstractRobot":
        parts = [("sections", part) for part in ("arm", "rod")]
        parts += [("flexures", part) for part in ("revolute", "spherical")]
        for section, part in parts:
            made = getattr(getattr(self, section), part, None)
            if made is not None and made.material not in self.materials:
                raise ValueError(
                    f"{section}.{part}.material: '{made.material}' is not under [materials]."
                )
        return self


def _of(section: Section | None) -> Callable[[str], object]:
    return lambda name: getattr(section, name, None)


class DeltaRobot(AbstractRobot):
    """A Delta: three arms, rods or pairs of rods, a platform that translates."""

    kind: Literal["delta"]
    geometry: DeltaGeometry
    bodies: DeltaBodies | None = None


class PrsRobot(AbstractRobot):
    """A compliant 3PRS: three sliders, three bars, a platform that lifts and tilts."""

    kind: Literal["3prs"]
    geometry: PrsGeometry
    bodies: PrsBodies | None = None


Robot = AbstractRobot
