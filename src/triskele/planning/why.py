"""Why a plan is not faster: what is used of each limit, which one binds where, what it is worth.

The price of a limit L is the change of the duration with it. By the multipliers lam of the slacks
S in which it appears,

    dT / dln L = -sum lam dS/dln L                                                       (1)

where dS/dln L is what is used of the limit (twice its square for a speed, which enters squared;
times sqrt(X / x) for third order, `interior.py`; for a mean square m over the duration and the
dwell, 2 m times both). A torque that falls with speed (`limits.py`, 2) depends on two limits:

    S = 1 - |qd| / v_p - (1 - v_c / v_p) |tau| / P
    dS/dln P = (1 - v_c / v_p) |tau| / P    dS/dln v_p = |qd| / v_p - (v_c / v_p) |tau| / P    (2)

The maximum velocity curve is where no path acceleration is left that limits up to second order
allow; norms count by their axes there.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.kinematics.limits import Limit
from triskele.planning.limits import Column, Rows
from triskele.planning.problem import Average, Solution
from triskele.planning.reachability import maximum_speed

Series = Float[np.ndarray, " _"]
_BINDING = 5e-3  #: a limit that is used up to this part binds
_STILL = 0.009  #: and binds on as long as it is used up to this part
_SETTLED = 1e-3  #: residual of the conditions of optimality up to which multipliers are prices
_SPEEDS = ("joint_speed", "peak_speed")  #: limits that enter squared


class PlannedLimit(NamedTuple):
    """One limit along a plan."""

    limit: Limit
    use: float  #: at most, 1 is at the limit
    s: float  #: where; 1 if it is over the whole motion
    price: float | None  #: d duration / d ln(limit) [s], never positive; None: not known
    whole: bool = False  #: an average over the whole motion and the rest after it

    @property
    def whole_binds(self) -> bool:
        """Whether it is over the whole motion and used up."""
        return self.whole and self.use > 1 - _BINDING


class Run(NamedTuple):
    """A stretch of the path along which a limit binds."""

    start: float  #: s
    end: float  #: s
    limit: Limit
    lasts: float = 0.0  #: [s]
    whole: bool = False  #: an average over the whole motion, which binds as a whole


def uses(rows: Rows, x: Series, u: Series, w: Series) -> Float[np.ndarray, "N columns"]:
    """How much of each limit is used at each point; 1 is at the limit."""
    x, u, w, root = x[:, None], u[:, None], w[:, None], np.sqrt(x)[:, None]
    p = rows.two_sided
    plain = np.abs(p.a * u + p.b * x + p.c) + p.e * root
    speeds = [column.limit.key in _SPEEDS for column in rows.columns[: plain.shape[1]]]
    plain[:, speeds] = np.sqrt(plain[:, speeds])
    p = rows.third_order
    third = np.abs(p.a * w + p.b * u + p.c * x + p.d) * root
    p = rows.norms
    v = p.a * u[..., None] + p.b * x[..., None] + p.c
    norms = np.linalg.norm(v, axis=-1) - (p.la * u + p.lb * x + p.lc)
    return np.concatenate([plain, third, norms], axis=1)


def price_of_each(
    rows: Rows, found: Solution, used: np.ndarray, motion: tuple[Series, Series, Series]
) -> Float[np.ndarray, " columns"] | None:
    """dT/dln L of each column, by (1); None if the multipliers have not settled."""
    if found.residual > _SETTLED:
        return None
    k2, k3 = rows.two_sided.a.shape[1], rows.third_order.a.shape[1]
    up, down, rising, falling, norms = np.split(found.price, np.cumsum([k2, k2, k3, k3]), axis=1)
    speeds = np.array([column.limit.key in _SPEEDS for column in rows.columns[:k2]], bool)
    _, third, sizes = np.split(used, np.cumsum([k2, k3]), axis=1)
    x, u, _ = (part[:, None] for part in motion)
    p, lam = rows.two_sided, up + down
    plain = np.abs(p.a * u + p.b * x + p.c) * np.where(speeds, 2.0, 1.0)
    shares = lam * plain, (rising + falling) * third * found.scale[:, None], norms * sizes
    prices = -np.sum(np.concatenate(shares, axis=1), axis=0)
    places = {column.limit.identity: k for k, column in enumerate(rows.columns)}
    for k, (limit, corner) in enumerate(rows.columns[:k2]):
        if corner is not None:  # (2)
            share = p.e[:, k] * np.sqrt(x[:, 0]) - plain[:, k] * corner / (1 - corner)
            prices[places["peak_speed", limit.part, False]] -= lam[:, k] @ share
    return prices


def average_limit(
    limit: Limit, item: Average, motion: tuple[Series, Series, Series], price: float | None
) -> PlannedLimit:
    """The limit of a mean over the motion; `motion` are x, u and ds / sqrt(x) at its nodes.

    `price` is the multiplier of its slack.
    """
    x, u, dt = motion
    y = item.a * u + item.b * x + item.c
    squares = float(dt @ (y * y) + item.dwell * item.idle**2)
    use = float(np.sqrt(squares / (dt.sum() + item.dwell)))
    gain = None if price is None else -2 * price * squares
    return PlannedLimit(limit, use=use, s=1.0, price=gain, whole=True)


def merged(
    columns: tuple[Column, ...], used: np.ndarray, prices: np.ndarray | None, s: Series
) -> list[PlannedLimit]:
    """One entry per limit: both ends of a rod, and all cases of a payload, are one."""
    found: list[PlannedLimit] = []
    for limit, own in _columns_of_each(columns):
        most = used[:, own].max(axis=1)
        worst = int(most.argmax())
        price = None if prices is None else float(prices[own].sum())
        found.append(PlannedLimit(limit, float(most[worst]), float(s[worst]), price))
    return found


def _columns_of_each(columns: tuple[Column, ...]) -> list[tuple[Limit, list[int]]]:
    """All limits, and the columns of each."""
    found: dict[tuple, tuple[Limit, list[int]]] = {}
    for k, column in enumerate(columns):
        found.setdefault(column.limit.identity, (column.limit, []))[1].append(k)
    return list(found.values())


def binding_limits(columns: tuple[Column, ...], used: np.ndarray) -> tuple[Limit | None, ...]:
    """The limit that binds at each point, None if none does."""
    most = used.argmax(axis=1)
    return tuple(
        columns[k].limit if used[i, k] > 1 - _BINDING else None for i, k in enumerate(most)
    )


def binding_runs(columns: tuple[Column, ...], used: np.ndarray, s: Series) -> tuple[Run, ...]:
    """From where to where each limit binds: used up at both ends, and nearly so between."""
    found: list[Run] = []
    for limit, own in _columns_of_each(columns):
        most = used[:, own].max(axis=1)
        held = np.concatenate([[False], most > 1 - _STILL, [False]])
        for first, after in np.flatnonzero(held[1:] != held[:-1]).reshape(-1, 2):
            full = first + np.flatnonzero(most[first:after] > 1 - _BINDING)
            if len(full):
                found.append(Run(float(s[full[0]]), float(s[full[-1]]), limit))
    return tuple(sorted(found, key=lambda run: run[:2]))


def maximum_velocity(rows: Rows) -> Series:
    """The largest x at each point that limits up to second order allow."""
    a, b, c = half_planes(rows, None)
    return maximum_speed(a, b, c)


def half_planes(rows: Rows, at: tuple[Series, Series] | None) -> tuple[np.ndarray, ...]:
    """|a u + b x + c| <= 1: two-sided rows, and each norm along some directions.

    Norms are cut by their axes and by the direction they have `at` x and u, where torques that
    fall with speed are taken as well.
    """
    p, n = rows.two_sided, rows.norms
    left = 1.0 if at is None else np.maximum(1 - p.e * np.sqrt(at[0])[:, None], 1e-3)
    a, b, c = [p.a / left], [p.b / left], [p.c / left]
    if n.la.shape[1]:
        directions = [np.broadcast_to(axis, n.a.shape) for axis in np.eye(3)]
        if at is not None:
            x, u = (part[:, None, None] for part in at)
            v = n.a * u + n.b * x + n.c
            directions.append(v / (np.linalg.norm(v, axis=-1, keepdims=True) + 1e-12))
        for e in directions:
            a.append(np.sum(e * n.a, axis=-1) - n.la)
            b.append(np.sum(e * n.b, axis=-1) - n.lb)
            c.append(np.sum(e * n.c, axis=-1) - n.lc)
    return tuple(np.concatenate(part, axis=1) for part in (a, b, c))
