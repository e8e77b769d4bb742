"""Forces measured in rods against those of the model, along the motion of the log they are in.

A log has t [s], q1 [rad], ... and, of each rod with a sensor, its tension [N] at the end where the
sensor is: `rod_1a_upper` or `rod_1a_lower`, the names that `torques --out` writes. The model's
tension follows from the log's own motion. A rod with a sensor is heavier than the others: where the
file weighs it (`weighed.measuring_rod`), it takes the place of each rod that is measured, with the
mass distributed as in the rod. Between the ends of a rod lies what moves the rod itself, so that
the end matters.
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.description.tables import Table
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.torques import load_vectors
from triskele.errors import InputError, TableError
from triskele.identification.signals import platform_along
from triskele.kinematics.log import log_from_table
from triskele.kinematics.mechanism import AbstractMechanism

Vector = Float[np.ndarray, " N"]
ENDS = ("lower", "upper")
_EDGE = 0.02  #: [s] at both ends, where rates are uncertain


class MeasuredRod(NamedTuple):
    """Tension of one rod at one end, measured and by the model [N]."""

    name: str  #: as in rod_1a_upper
    measured: Vector
    computed: Vector

    @property
    def difference(self) -> Vector:
        """Measured less computed."""
        return self.measured - self.computed

    @property
    def bias(self) -> float:
        """Mean difference: a sensor that was not set to zero, or a weight that is not known."""
        return float(self.difference.mean())

    @property
    def rms(self) -> float:
        """Root mean square of the difference."""
        return float(np.sqrt(np.mean(self.difference**2)))

    @property
    def varying(self) -> float:
        """Root mean square of the difference without its mean."""
        return float(self.difference.std())

    @property
    def gain(self) -> float | None:
        """Slope of measured over computed; None where the force hardly changes."""
        about = self.computed - self.computed.mean()
        square = float(about @ about)
        if square <= 1e-12 * max(float(self.computed @ self.computed), 1e-300):
            return None
        return float(about @ self.measured) / square

    def to_dict(self) -> dict:
        """Numbers, as JSON has them."""
        return {
            "name": self.name,
            "unit": "N",
            "rms": self.rms,
            "bias": self.bias,
            "rms_without_bias": self.varying,
            "gain": self.gain,
            "peak_difference": float(np.abs(self.difference).max()),
            "measured": [float(self.measured.min()), float(self.measured.max())],
            "computed": [float(self.computed.min()), float(self.computed.max())],
        }


class MeasuredRods(NamedTuple):
    """All rods that a log has measured."""

    robot: Robot
    t: Vector  #: [s]
    rods: tuple[MeasuredRod, ...]
    mass: float | None  #: of a measuring rod [kg]; None: as the others

    def to_table(self) -> Table:
        """Columns t, and of each rod and end what was measured and what the model has."""
        columns = {"t": ("s", self.t)}
        for rod in self.rods:
            columns[rod.name] = ("N", rod.measured)
            columns[f"{rod.name}_computed"] = ("N", rod.computed)
        return Table(columns, "measured rods")


def measured_rods(
    robot: Robot,
    log: Table,
    *,
    payload: Payload | str | None = None,
    window: int | None = None,
) -> MeasuredRods:
    """Tensions in `log` against those of `robot` along the motion of its joints."""
    model = rigid(robot, payload)
    mechanism = model.mechanism
    wanted = _columns(mechanism, log)
    mass = None if robot.weighed is None else robot.weighed.measuring_rod
    if mass is not None:
        model = with_sensors(model, {body for _, body, _ in wanted}, mass)
    seen = log_from_table(log, mechanism, window)
    edge = max(round(_EDGE / seen.step), 1)
    keep = slice(edge, len(seen.t) - edge)
    if len(seen.t) < 4 * edge:
        raise TableError(f"{log.place}: too short: {len(seen.t)} rows.")
    q, qd, qdd = (np.asarray(part)[keep] for part in (seen.q, seen.qd, seen.qdd))
    x, xd, xdd = platform_along(mechanism, q, qd, qdd, log.place)
    pulls = load_vectors(model, x, xd, xdd).rods
    assert pulls is not None, "a robot with struts has their tensions"
    places = {strut.body: k for k, strut in enumerate(mechanism.struts)}
    rods = tuple(
        MeasuredRod(name, log.column(name, "N")[keep], pulls[ENDS.index(end)][:, places[body]])
        for name, body, end in wanted
    )
    return MeasuredRods(robot, seen.t[keep], rods, mass)


def _columns(mechanism: AbstractMechanism, log: Table) -> list[tuple[str, str, str]]:
    """Name, body and end of each column with the tension of a rod."""
    bodies = [strut.body for strut in mechanism.struts]
    if not bodies:
        raise InputError("This robot has no rods whose tension could be measured.")
    bare = [body for body in bodies if body in log]
    if bare:
        raise TableError(
            f"{log.place}: column '{bare[0]}' does not say at which end of the rod the sensor is; "
            f"call it '{bare[0]}_upper' or '{bare[0]}_lower'."
        )
    found = list(_named(bodies, log))
    if not found:
        raise TableError(
            f"{log.place}: no column has the tension of a rod; '{bodies[0]}_upper [N]' or "
            f"'{bodies[0]}_lower [N]' was expected, or that of {', '.join(bodies[1:])}."
        )
    return found


def _named(bodies: list[str], log: Table) -> Iterator[tuple[str, str, str]]:
    for body in bodies:
        for end in ENDS:
            if f"{body}_{end}" in log:
                yield f"{body}_{end}", body, end


def with_sensors(model: RigidRobot, bodies: set[str], mass: float) -> RigidRobot:
    """The model with rods of another mass, distributed as in the rod."""
    theta = np.array(model.theta, float)
    for body in bodies:
        place = model.mechanism.bodies.index(body)
        theta[place] *= mass / theta[place, 0]
    return eqx.tree_at(lambda r: r.theta, model, theta)
