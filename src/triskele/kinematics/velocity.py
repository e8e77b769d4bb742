"""Velocity, acceleration and jerk of any mechanism, differentiated from its loop closure.

Along a motion c(q(t), x(t)) = 0, so that the time derivatives of c vanish. The k-th holds
the highest derivatives linearly,

    A x^(k) + B q^(k) + g_k = 0,      A = dc/dx,  B = dc/dq (diagonal)                 (1)

where g_k holds the lower ones: it is the k-th derivative of c along the Taylor polynomials
of q and x that leave out their k-th terms. Solved in turn for k = 1, 2, 3, (1) maps platform
motion to joint motion (division by B) or joint to platform motion (a solve with A).
"""

from collections.abc import Callable
from typing import NamedTuple

from triskele.kinematics.mechanism import AbstractMechanism
from triskele.numerics import (
    AnyArray,
    Components,
    Matrix,
    Numeric,
    Scalar,
    Scalars,
    as_scalars,
    at_known,
    full_like,
    jvp,
    library,
    safe_divide,
    solve,
    stacked,
    zeros_like,
)
from triskele.numerics import transpose as transposed


class ClosureJacobians(NamedTuple):
    """The matrices of (1): rows of A, diagonal of B."""

    A: Matrix  #: singular in type 2 singularities
    B: Scalars  #: has a zero in type 1 singularities


class Rates(NamedTuple):
    """First, second and third time derivatives of some coordinates."""

    velocity: Scalars
    acceleration: Scalars
    jerk: Scalars


@at_known
def closure_jacobians(
    mechanism: AbstractMechanism, q: Components, x: Components
) -> ClosureJacobians:
    """A and B of (1) at a closed configuration (q, x)."""
    q, x = as_scalars(q), as_scalars(x)
    ones = tuple(full_like(value, 1.0) for value in q)
    _, B = jvp(lambda q: mechanism.closure(q, x), (q,), (ones,))
    columns = []
    for j in range(len(x)):
        unit = tuple(full_like(value, float(k == j)) for k, value in enumerate(x))
        columns.append(jvp(lambda x: mechanism.closure(q, x), (x,), (unit,))[1])
    return ClosureJacobians(transposed(tuple(columns)), B)


@at_known
def jacobian(
    mechanism: AbstractMechanism, q: Components, x: Components
) -> Numeric[AnyArray, "*batch m n"]:
    """J = dx/dq, so that xd = J qd: the columns of -A^-1 B."""
    A, B = closure_jacobians(mechanism, q, x)
    columns = []
    for j, b in enumerate(B):
        right = tuple(-b if i == j else zeros_like(b) for i in range(len(B)))
        columns.append(stacked(solve(A, right)))
    return library(*q, *x).stack(columns, axis=-1)


@at_known
def joint_motion(
    mechanism: AbstractMechanism, q: Components, x: Components, *platform: Components
) -> Rates:
    """Joint velocity, acceleration and jerk from those of the `platform` (1 to 3 given).

    Derivatives not given are taken as zero.
    """
    _, B = closure_jacobians(mechanism, q, x)
    return Rates(*_march(mechanism, q, x, platform, known="x", solve_for=_divided_by(B)))


@at_known
def joint_velocity(
    mechanism: AbstractMechanism, q: Components, x: Components, xd: Components
) -> Scalars:
    """Joint velocity from that of the platform: qd = -B^-1 A xd."""
    A, B = closure_jacobians(mechanism, q, x)
    pushes = (sum(a * v for a, v in zip(row, xd, strict=True)) for row in A)
    return tuple(-safe_divide(push, b) for push, b in zip(pushes, B, strict=True))


@at_known
def joint_acceleration(
    mechanism: AbstractMechanism, q: Components, x: Components, xd: Components, xdd: Components
) -> tuple[Scalars, Scalars, ClosureJacobians]:
    """Joint velocity and acceleration, and the A and B they came from: what dynamics needs."""
    closure = closure_jacobians(mechanism, q, x)
    solve_for = _divided_by(closure.B)
    qd, qdd = _march(mechanism, q, x, (xd, xdd), known="x", solve_for=solve_for, orders=2)
    return qd, qdd, closure


@at_known
def platform_motion(
    mechanism: AbstractMechanism, q: Components, x: Components, *joints: Components
) -> Rates:
    """Platform velocity, acceleration and jerk from those of the `joints` (1 to 3 given).

    Derivatives not given are taken as zero.
    """
    A, _ = closure_jacobians(mechanism, q, x)

    def solve_for_x(rest: Scalars) -> Scalars:
        return solve(A, tuple(-g for g in rest))

    return Rates(*_march(mechanism, q, x, joints, known="q", solve_for=solve_for_x))


def _divided_by(B: Scalars) -> Callable[[Scalars], Scalars]:
    """What solves (1) for the joints."""
    return lambda rest: tuple(safe_divide(-g, b) for g, b in zip(rest, B, strict=True))


def _march(
    mechanism: AbstractMechanism,
    q: Components,
    x: Components,
    given: tuple[Components, ...],
    known: str,
    solve_for: Callable[[Scalars], Scalars],
    orders: int = 3,
) -> list[Scalars]:
    """Solve (1) for k = 1 to `orders`; the unknown k-th derivative enters g_k as zero."""
    q, x = as_scalars(q), as_scalars(x)
    zeros = tuple(zeros_like(value) for value in q)
    known_rates = [as_scalars(rate) for rate in given] + [zeros] * (orders - len(given))
    found: list[Scalars] = []
    for order in range(1, orders + 1):
        unknown_rates = [*found, zeros]
        rates = (unknown_rates, known_rates[:order])
        q_rates, x_rates = rates if known == "x" else reversed(rates)
        rest = _derivative_along(mechanism, [q, *q_rates], [x, *x_rates], order)
        found.append(solve_for(rest))
    return found


def _derivative_along(
    mechanism: AbstractMechanism, q: list[Scalars], x: list[Scalars], order: int
) -> Scalars:
    """`order`-th time derivative of c along the curves with these Taylor derivatives."""

    def curve(derivatives: list[Scalars], t: Scalar) -> Scalars:
        terms = list(zip(*derivatives, strict=True))
        return tuple(_taylor(coefficients, t) for coefficients in terms)

    def at(t: Scalar) -> Scalars:
        return mechanism.closure(curve(q, t), curve(x, t))

    function = at
    for _ in range(order):
        function = time_derivative(function)
    return function(zeros_like(q[0][0]))


def time_derivative(function: Callable[[Scalar], Scalars]) -> Callable[[Scalar], Scalars]:
    """d function / dt, component by component; nests."""
    return lambda t: jvp(function, (t,), (full_like(t, 1.0),))[1]


def _taylor(derivatives: tuple[Scalar, ...], t: Scalar) -> Scalar:
    """f + f' t + f'' t^2/2 + f''' t^3/6, as far as derivatives are given."""
    value: Scalar = derivatives[-1]
    for k in range(len(derivatives) - 1, 0, -1):
        value = derivatives[k - 1] + value * t / k
    return value
