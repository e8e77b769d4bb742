"""The payload that options describe, for every command that takes one."""

from typing import TYPE_CHECKING, Annotated

from triskele.cli.inputs import number
from triskele.cli.shapes import option
from triskele.errors import InputError

if TYPE_CHECKING:
    from triskele.description.schema import Payload, Robot

Carried = Annotated[str | None, option("Mass [kg], or the name of one in the robot file.", "none")]
CarriedCentre = Annotated[
    str | None, option("Its centre of mass in the flange frame, as 0,0,-0.1 [m].", "0,0,0")
]
CarriedInertia = Annotated[
    str | None, option("Its moments xx,yy,zz about that centre [kg m^2].", "0,0,0")
]


def carried_payload(
    robot: "Robot",
    mass: str | None,
    centre: str | None,
    inertia: str | None,
    *,
    name: str = "--payload",
) -> "Payload | None":
    """The payload that the options describe; that of the mass is called `name`."""
    from triskele.description.schema import Payload

    if mass is None:
        given = "--payload-centre" if centre else "--payload-inertia" if inertia else None
        if given:
            raise InputError(f"{given} needs --payload, the mass, beside it.")
        return None
    if mass in robot.payloads:
        if centre or inertia:
            raise InputError(f"The payload '{mass}' of the file has its own centre and inertia.")
        return robot.payloads[mass]
    if mass.isidentifier():
        known = ", ".join(robot.payloads) or "none"
        raise InputError(
            f"{name}: {robot.name} has no payload '{mass}' (it has {known}); give a mass, "
            "such as 2.5 or 2500g."
        )
    value = number(mass, "kg", name)
    if value <= 0:
        raise InputError(f"{name} is {value:g} kg; a payload has a positive mass.")
    return Payload(
        mass=value,
        centre_of_mass=_three(centre, "m", "--payload-centre"),
        inertia=_three(inertia, "kg m^2", "--payload-inertia"),
    )


def _three(text: str | None, unit: str, place: str) -> tuple[float, float, float]:
    if text is None:
        return 0.0, 0.0, 0.0
    parts = text.split(",")
    if len(parts) != 3:
        raise InputError(f"{place} is three numbers, as 0,0,0.1 [{unit}]; {len(parts)} given.")
    x, y, z = (number(part, unit, place) for part in parts)
    return x, y, z
