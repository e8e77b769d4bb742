"""The modal sensor: from what is measured of a bent link to its whole shape.

A link with given ends bends in its lowest modes X, which its beam elements give once,

    K X = M X diag(w^2)                                                                (1)

With as many measurements y = C d as modes, or more, all deflections and slopes are

    d = X (C X)^+ y                                                                    (2)

a constant matrix, the same for rates and for accelerations. Shapes are seen from a frame of the
link, "tangent" to it at its root, as in the literature, or along its "chord", from root to tip; or
from the "ground", in which the modes are given.

Ends are free, pinned, clamped or guided (no slope), root first. A hub is a root that is pinned and
has an inertia: the heavier, the nearer it comes to a clamp, and without it the root is pinned.
The shape decides everything: tip deflection over tip slope, seen from the tangent, is 0.7265 l for
a clamped link and l/2 for one with pins at both ends, such as the rod of a Delta.

Reference: P. Bengoa et al., Sensors 17 (2017) 1934, whose sensor is the first mode, clamped-free.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from triskele.errors import InputError, did_you_mean
from triskele.flexible.beam import Beam
from triskele.flexible.link import END, W1, W, hermite, link
from triskele.numerics import AnyArray

FRAMES = ("tangent", "chord", "ground")
KINDS = ("deflection", "slope")
_HELD = {"free": (), "pinned": (W,), "clamped": (W, W1), "guided": (W1,)}
_RIGID = 1e-7  #: of the highest frequency: below, a mode moves the link as a whole
_BLIND = 1e-9  #: of its largest entry: measurements below tell nothing of a mode


class Measured(NamedTuple):
    """One measurement of a link."""

    kind: str  #: "slope" [rad] or "deflection" [m]
    place: float = 1.0  #: where, as a part of the length, from the root


TIP_SLOPE = Measured("slope", 1.0)


class ModalSensor(eqx.Module):
    """Ratios between what is measured and all else, and the modes they come from."""

    frequencies: Float[AnyArray, " modes"]  #: [rad/s]
    places: Float[AnyArray, " nodes"]  #: of the nodes, along the link [m]
    deflection: Float[AnyArray, "nodes measured"]  #: [m] per unit of each measurement
    slope: Float[AnyArray, "nodes measured"]  #: [rad] per unit

    def deflections(self, measured: Float[AnyArray, "... k"]) -> Float[AnyArray, "... nodes"]:
        """Of all nodes [m]; from rates of what is measured, their rates, and so on."""
        return measured @ self.deflection.T

    def slopes(self, measured: Float[AnyArray, "... k"]) -> Float[AnyArray, "... nodes"]:
        """Of all nodes [rad], in the same way."""
        return measured @ self.slope.T

    @property
    def tip_ratio(self) -> Float[AnyArray, " measured"]:
        """Tip deflection per unit of each measurement."""
        return self.deflection[-1]


def modal_sensor(
    beam: Beam,
    length: float,
    *,
    ends: str = "clamped-free",
    measured: Sequence[Measured] = (TIP_SLOPE,),
    modes: int = 1,
    elements: int = 3,
    frame: str = "tangent",
    hub_inertia: float = 0.0,
    tip_mass: float = 0.0,
) -> ModalSensor:
    """The sensor of a link that bends in z: `modes` of it seen by as many `measured`, or more.

    `hub_inertia` [kg m^2] turns with the root, `tip_mass` [kg] moves with the tip.

    >>> from triskele import load
    >>> from triskele.flexible.robot import flexible
    >>> platen = flexible(load("omron_mini_delta_platens")).rod_beam
    >>> f"{modal_sensor(platen, 0.4).tip_ratio[0] / 0.4:.5f}"
    '0.72648'
    """
    if frame not in FRAMES:
        raise InputError(f"frame is '{frame}'. {did_you_mean(frame, FRAMES)}")
    if not length > 0 or modes < 1 or elements < 1:
        raise InputError("A link has a positive length, and one element and one mode at least.")
    if len(measured) < modes:
        raise InputError(f"{modes} modes need as many measurements; there are {len(measured)}.")
    free = _free_unknowns(ends, elements)
    if not len(free):
        raise InputError(f"A {ends} link of one element cannot move. Take more elements.")
    w, shapes = _modes(beam, length, elements, free, (hub_inertia, tip_mass))
    if len(w) < modes:
        raise InputError(
            f"A {ends} link of {elements} elements has {len(w)} modes in which it bends, not "
            f"{modes}. Take more elements."
        )
    seen = _seen_from(frame, shapes[:, :modes], length)
    C = np.stack([_row(item, elements, length) for item in measured])
    observed = C @ seen
    scale = np.abs([[_size(item, seen, j) for j in range(modes)] for item in measured])
    sharp = np.linalg.svd(observed / np.maximum(scale, 1e-300), compute_uv=False)
    if not scale.all() or sharp[-1] < _BLIND:
        raise InputError(
            f"What is measured does not tell {modes} mode(s) of a {ends} link apart, seen from "
            f"its {frame}: measure something else, or elsewhere."
        )
    ratios = seen @ np.linalg.pinv(observed)
    places = np.linspace(0.0, length, elements + 1)
    return ModalSensor(*map(jnp.asarray, (w[:modes], places, ratios[::2], ratios[1::2])))


def _free_unknowns(ends: str, elements: int) -> np.ndarray:
    """Places of deflection and slope of each node that nothing holds, root to tip."""
    kinds = ends.split("-")
    wrong = next((kind for kind in kinds if kind not in _HELD), None)
    if len(kinds) != 2 or wrong is not None:
        about = did_you_mean(wrong, tuple(_HELD)) if wrong is not None else ""
        raise InputError(f"ends are '{ends}'; write root-tip, 'clamped-free', say. {about}".strip())
    held = {int(place == W1) for place in _HELD[kinds[0]]}
    held |= {2 * elements + int(place == W1) for place in _HELD[kinds[1]]}
    return np.array([k for k in range(2 * elements + 2) if k not in held])


def _modes(
    beam: Beam, length: float, elements: int, free: np.ndarray, hung: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [rad/s] and nodal shapes (deflection, slope, ...) of all that bends it."""
    hub, tip = hung
    if hub < 0 or tip < 0:
        raise InputError("hub_inertia and tip_mass are not negative.")
    whole = link(beam, length, elements=elements, lumps=(0.0, tip))
    nodes = np.r_[0, np.arange(2, elements + 1), 1]  # a link's ends come first
    bending = (END * nodes[:, None] + np.array([W, W1])).ravel()
    M, K = (np.array(part)[np.ix_(bending, bending)] for part in (whole.M, whole.K))
    M[1, 1] += hub
    squares, found = eigh(K[np.ix_(free, free)], M[np.ix_(free, free)])
    bends = squares > (_RIGID**2) * squares[-1]
    shapes = np.zeros((len(bending), int(bends.sum())))
    shapes[free] = found[:, bends]
    return np.sqrt(squares[bends]), shapes


def _seen_from(frame: str, shapes: np.ndarray, length: float) -> np.ndarray:
    """Shapes less the line that is tangent at the root, or that joins root and tip."""
    if frame == "ground":
        return shapes
    x = np.linspace(0.0, length, len(shapes) // 2)[:, None]
    rise = shapes[1] if frame == "tangent" else (shapes[-2] - shapes[0]) / length
    seen = shapes.copy()
    seen[::2] -= shapes[0] + x * rise
    seen[1::2] -= rise
    return seen


def _row(item: Measured, elements: int, length: float) -> np.ndarray:
    """What `item` is of the nodal values."""
    if item.kind not in KINDS:
        raise InputError(f"'{item.kind}' cannot be measured. {did_you_mean(item.kind, KINDS)}")
    if not 0 <= item.place <= 1:
        raise InputError(f"A place on a link is from 0 to 1 of its length, not {item.place:g}.")
    k = min(int(item.place * elements), elements - 1)
    xi = np.array([item.place * elements - k])
    values = hermite(2, xi, jnp.asarray(length / elements))[KINDS.index(item.kind)]
    row = np.zeros(2 * elements + 2)
    row[2 * k : 2 * k + 4] = np.asarray(values)[0]
    return row


def _size(item: Measured, seen: np.ndarray, mode: int) -> float:
    return float(np.abs(seen[item.kind == "slope" :: 2, mode]).max())
