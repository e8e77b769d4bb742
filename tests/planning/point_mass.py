"""A mass on a straight way of length 1: the planning problem with answers known by hand."""

import numpy as np

from triskele.planning.problem import Average, Norms, Problem, ThirdOrder, TwoSided
from triskele.planning.profile import FROM_REST, FROM_STEP, Space


def point_mass(
    *,
    speed: float | None = None,
    acceleration: float | None = None,
    jerk: float | None = None,
    stall: float | None = None,
    mean: float | None = None,
    held: float = 0.0,
    as_norm: bool = False,
    cells: int = 200,
) -> Problem:
    """|sd| <= speed, |sdd| <= acceleration (falling to none at the speed `stall`), ...

    The mean of (sdd / mean + held)^2 is at most 1: `held` is what it takes to stand still.
    """
    tau = np.linspace(0, 1, cells + 1)
    edges = tau**3 * (10 - 15 * tau + 6 * tau**2)
    space = Space(edges, 3, FROM_STEP if jerk is None else FROM_REST)
    s, cell = space.points(np.array([1e-6, 0.5, 1 - 1e-6]))
    one, none = np.ones((len(s), 1)), np.zeros((len(s), 1))
    two = [[none[:, :0]] for _ in range(4)]
    norms = [none[:, :0, None] * np.ones(3)] * 3 + [none[:, :0]] * 3
    if speed is not None:
        for part, value in zip(two, (none, one / speed**2, none, none), strict=True):
            part.append(value)
    if acceleration is not None and as_norm:
        vector = np.array([0.6, 0.0, 0.8]) / acceleration
        norms = [one[..., None] * vector, *(none[..., None] * vector,) * 2, none, none, none]
    elif acceleration is not None:
        share = none if stall is None else one / stall
        for part, value in zip(two, (one / acceleration, none, none, share), strict=True):
            part.append(value)
    third = [none[:, :0]] * 4 if jerk is None else [one / jerk, none, none, none]
    averages = ()
    if mean is not None:
        nodes, _, _ = space.quadrature()
        flat = np.zeros_like(nodes)
        averages = (Average(flat + 1 / mean, flat, flat + held, 0.0, 0.0),)
    return Problem(
        space,
        space.basis(s, cell),
        TwoSided(*(np.concatenate(part, axis=1) for part in two)),
        ThirdOrder(*third),
        Norms(*norms),
        averages,
    )
