"""States for which exported code must give what the library gives, and what that is.

Inside, values are compared: each to a part of the largest of its output. Beyond the border they
are held or left to chance, and only their status counts.
"""

from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from triskele.export.functions import Function
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import Scalars, tabulate
from triskele.programs.elementary import expanded
from triskele.programs.interpret import interpreted

Rows = Float[np.ndarray, "N k"]

INSIDE = 1e-3  #: margins of states at which values are compared
CLEAR = 0.05  #: margins of golden vectors: there rounding is not made larger
EXACT = 1e-12  #: of the largest value: how near doubles come
_NARROWEST = 0.05  # part of the span below which a smaller margin is tried
_SPAN = 0.5  # of random places from home, in sizes of the robot; and in radians
_RATE, _ACCELERATION = 5.0, 100.0  # of random motions, in spans per s and per s^2
_CARRIED = 2.0  # kg at most
_BORDER, _TRIED = 6, 200  # states out of reach, and random ones among which they are
_LEAST_SHARE = 1e-3  # of the largest of a group, which an output is at least compared with
_CLOSED = 1e-9  # how well forward finds again what inverse left


@dataclass(frozen=True)
class Golden:
    """Golden vectors of one function."""

    inputs: Rows
    outputs: Rows
    inside: Bool[np.ndarray, " N"]  #: where values count
    tolerance: float  #: of the largest value of an output
    error: float  #: measured: of the arithmetic of the target, in the same measure
    scales: Float[np.ndarray, " m"]  #: what an error of each output is a part of

    @property
    def status(self) -> list[int]:
        """0 inside, 1 out of reach."""
        return [0 if inside else 1 for inside in self.inside]


def scales(function: Function, outputs: Rows) -> Float[np.ndarray, " m"]:
    """The largest size of each output; at least a part of the largest of its group.

    One that is zero but for rounding, a moment about an axis that turns freely, is as exact as
    what it is a difference of. An output that is zero altogether counts as 1.
    """
    largest = np.abs(outputs).max(axis=0)
    found, first = [], 0
    for group in function.outputs:
        part = largest[first : first + len(group.ports)]
        found.append(np.maximum(part, _LEAST_SHARE * part.max()))
        first += len(part)
    sizes = np.concatenate(found)
    return np.where(sizes > 0, sizes, 1.0)


class States:
    """Random states of a robot at which all margins exceed `least`, or half of it, and so on."""

    def __init__(self, mechanism: AbstractMechanism, seed: int = 0, least: float = INSIDE) -> None:
        self.mechanism, self._random = mechanism, np.random.default_rng(seed)
        self._least = least
        self._home = np.array([float(np.asarray(value)) for value in mechanism.home()])
        self._size = size = float(np.asarray(mechanism.size))
        units = [c.unit for c in mechanism.platform_coordinates]
        self._span = np.array([_SPAN * size if unit == "m" else _SPAN for unit in units])
        self._judge = tabulate(eqx.Partial(_judged, mechanism))

    def places(self, count: int) -> Rows:
        """Platform coordinates, around home."""
        found: list[Rows] = []
        narrow, left = 1.0, count
        while left > 0:
            tried = self._home + narrow * self._span * self._random.uniform(
                -1, 1, (max(2 * count, 64), len(self._home))
            )
            margins, again = self._judge(tried)
            apart = np.abs(np.stack(again, axis=1) - tried) / self._span
            good = (np.stack(margins).min(axis=0) > self._least) & (apart.max(axis=1) < _CLOSED)
            found.append(tried[good][:left])
            left -= len(found[-1])
            narrow *= 0.8 if good.mean() < 0.2 else 1.0
            if narrow < _NARROWEST:  # home itself is nearer to a singularity
                narrow, self._least = 1.0, self._least / 2
        return np.concatenate(found)

    def motions(self, count: int) -> tuple[Rows, Rows, Rows]:
        """Places, velocities and accelerations of the platform."""
        x = self.places(count)
        xd, xdd = self._random.normal(size=(2, *x.shape)) * self._span
        return x, _RATE * xd, _ACCELERATION * xdd

    def payloads(self, count: int) -> Rows:
        """Mass, centre and moments of inertia of payloads; the first is nothing."""
        mass = self._random.uniform(0, _CARRIED, count)
        centre = self._random.uniform(-0.1, 0.1, (count, 3))
        inertia = self._random.uniform(0.5, 1.0, (count, 3)) * 0.01 * mass[:, None]
        rows = np.column_stack([mass, centre, inertia])
        rows[:1] = 0.0
        return rows

    def inputs(self, function: Function, count: int) -> Rows:
        """Inputs of a function."""
        x, xd, xdd = self.motions(count)
        known = {"x": x, "xd": xd, "xdd": xdd, "payload": self.payloads(count)}
        names = [group.name for group in function.inputs]
        if names[0] == "q":
            q = np.stack(tabulate(eqx.Partial(_joints, self.mechanism))(x), axis=1)
            span = [
                1.0 if c.unit == "rad" else self._size for c in self.mechanism.joint_coordinates
            ]
            qd, qdd = self._random.normal(size=(2, *q.shape)) * span
            known |= {"q": q, "qd": _RATE * qd, "qdd": _ACCELERATION * qdd}
        return np.concatenate([known[name] for name in names], axis=1)

    def beyond(self, function: Function, count: int) -> Rows:
        """Inputs that lead out of reach: far along random directions."""
        rows = self.inputs(function, count)
        n = len(self._home)
        moves = self._random.normal(size=(count, n))
        moves /= np.linalg.norm(moves, axis=1, keepdims=True)
        rows[:, :n] += 6.0 * moves * (self._span if function.inputs[0].name == "x" else 1.0)
        return rows


def _judged(mechanism: AbstractMechanism, x: Scalars) -> tuple[Scalars, Scalars]:
    """All margins at a place, and where `forward` says it is."""
    solved = mechanism.inverse(x)
    again = mechanism.forward(solved.components)
    margins = singularity_margins(mechanism, solved.components, x)
    return (*solved.margins, *again.margins, *margins.type1, margins.type2), again.components


def _joints(mechanism: AbstractMechanism, x: Scalars) -> Scalars:
    return mechanism.inverse(x).components


def golden(function: Function, states: States, count: int, kind: type = np.float64) -> Golden:
    """`count` golden vectors inside, and some out of reach, for code that computes in `kind`.

    States out of reach are those of which two ways to compute say so: a search that does not
    converge may end elsewhere with other rounding.
    """
    rows = states.inputs(function, count)
    far = states.beyond(function, _TRIED)
    inputs = np.concatenate([rows, far]).astype(kind).astype(float)
    outputs = function.at(inputs)
    own = _in_kind(function, inputs, kind)
    n = len(function.outputs[-1].ports)
    out = np.minimum(outputs[:, -n:].min(axis=1), 1.0) < -INSIDE
    out &= ~(own[:, -n:].min(axis=1) >= 0)
    inside = np.arange(len(inputs)) < count
    chosen = inside | (out & (np.cumsum(out & ~inside) <= _BORDER))
    inputs, outputs, own, inside = (part[chosen] for part in (inputs, outputs, own, inside))
    sizes = scales(function, outputs[inside])
    error = float((np.abs(own - outputs)[inside] / sizes).max())
    tolerance = max(EXACT, 4 * error)
    return Golden(inputs, outputs, inside, tolerance, error, sizes)


def _in_kind(function: Function, inputs: Rows, kind: type) -> Rows:
    """The outputs as the operations of a program in `kind` give them, one after the other."""
    program = expanded(function.program)
    return np.stack(interpreted(program, list(inputs.T), kind), axis=-1).astype(float)
