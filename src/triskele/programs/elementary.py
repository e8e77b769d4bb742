"""sin, cos, atan2, exp and tanh as arithmetic, accurate to two units in the last place.

Calls of a mathematical library take one number at a time. The formulas here are made of
sums, products, roundings and choices, so that they run on many lanes at once, and on machines
that have no such library.

    sin, cos   reduced to [-pi/4, pi/4] by subtracting k pi/2 in three parts (Cody and Waite), then
               series; for |x| < 1e6
    atan2      of the smaller over the larger, reduced once at tan(1/2), then a polynomial; the
               larger between 1e-300 and 1e300, or 0 with the angle 0
    exp        x = k ln 2 + r with |r| <= ln 2 / 2; e^r - 1 by its series; 2^k by the exponent; what
               is below the least normal number is 0
    tanh       E / (E + 2) with E = e^(2|x|) - 1, which does not cancel

What is left of x after the large part of k pi/2 or k ln 2 is exact and is added last; the small
part joins the series, so that a result is rounded about twice. A quotient is one operation in
machine code; as a product with a reciprocal, tanh and atan2 are accurate to 2.5 units.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from math import factorial

import numpy as np

from triskele.programs.program import ELEMENTARY, Program
from triskele.programs.simplify import Graph

_HALF_PI = Fraction("1.5707963267948966192313216916397514420985846996875529")
_PI_1 = Fraction(int(_HALF_PI * 2**32), 2**32)  # 33 bits: k * _PI_1 is exact to k < 2^20
_PI_2 = Fraction(int((_HALF_PI - _PI_1) * 2**65), 2**65)
PI_PARTS = (float(_PI_1), float(_PI_2), float(_HALF_PI - _PI_1 - _PI_2))
SIN = [(-1) ** k / factorial(2 * k + 1) for k in range(1, 9)]
COS = [(-1) ** k / factorial(2 * k) for k in range(2, 10)]

_LN_2 = Fraction("0.69314718055994530941723212145817656807550013436025525412")
_LN_2_1 = Fraction(int(_LN_2 * 2**32), 2**32)
_LN_2_PARTS = (float(_LN_2_1), float(_LN_2 - _LN_2_1))
_EXPM1 = [1 / factorial(k) for k in range(2, 15)]
_SMALLEST, _LARGEST = -708.396, 709.782712893384  # e^x is a normal number between these
_EVEN = 20.0  # tanh is 1 beyond

_WIDE = math.tan(0.5)


def _atan_coefficients(degree: int = 13) -> list[float]:
    """g in atan(t) = t + t^3 g(t^2), interpolated at Chebyshev nodes for t < tan(1/2)."""
    edge = _WIDE**2
    nodes = edge / 2 * (1 + np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)))
    powers = np.arange(40)
    values = ((-1.0) ** (powers + 1) / (2 * powers + 3)) @ nodes ** powers[:, None]
    scaled = np.polynomial.Chebyshev.fit(nodes, values, degree, domain=[0, edge])
    return [float(c) for c in scaled.convert(kind=np.polynomial.Polynomial).coef]


ATAN = _atan_coefficients()


def expanded(program: Program) -> Program:
    """`program` without the operations in `ELEMENTARY`: each is written out as arithmetic."""
    if not any(node.op in ELEMENTARY for node in program.nodes):
        return program
    graph = Graph()
    places: list[int] = []
    for node in program.nodes:
        if node.op == "input":
            places.append(graph.input(node.args[0]))
        elif node.op == "const":
            places.append(graph.const(node.args[0]))
        else:
            args = [places[arg] for arg in node.args]
            write = _FORMULAS.get(node.op)
            places.append(graph.emit(node.op, *args) if write is None else write(graph, *args))
    results = [places[result] for result in program.results]
    return graph.program(program.inputs, program.outputs, results)


def _horner(g: Graph, coefficients: Sequence[float], u: int) -> int:
    value = g.const(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = g.emit("add", g.emit("mul", value, u), g.const(coefficient))
    return value


def _less(g: Graph, r: int, k: int, parts: Sequence[float]) -> int:
    """r - k (sum of parts), part by part."""
    for part in parts:
        r = g.emit("sub", r, g.emit("mul", k, g.const(part)))
    return r


def _quarter(g: Graph, x: int) -> tuple[int, int, int, int]:
    """Sine and cosine of x - k pi/2, whether k is odd, and k modulo 4."""
    k = g.emit("round", g.emit("mul", x, g.const(2 / math.pi)))
    large = _less(g, x, k, PI_PARTS[:2])
    small = g.emit("mul", k, g.const(PI_PARTS[2]))
    r = g.emit("sub", large, small)
    u = g.emit("mul", r, r)
    series = g.emit("mul", g.emit("mul", r, u), _horner(g, SIN, u))
    s = g.emit("add", large, g.emit("sub", series, small))
    high = g.emit("mul", g.emit("mul", u, u), _horner(g, COS, u))
    c = g.emit("add", g.emit("sub", g.const(1.0), g.emit("mul", g.const(0.5), u)), high)
    turns = g.emit("floor", g.emit("mul", k, g.const(0.25)))
    quadrant = g.emit("sub", k, g.emit("mul", g.const(4.0), turns))
    half = g.emit("mul", k, g.const(0.5))
    odd = g.emit("not", g.emit("eq", half, g.emit("floor", half)))
    return s, c, odd, quadrant


def _sine(g: Graph, x: int) -> int:
    s, c, odd, quadrant = _quarter(g, x)
    size = g.emit("select", odd, c, s)
    return g.emit("select", g.emit("lt", quadrant, g.const(1.5)), size, g.emit("neg", size))


def _cosine(g: Graph, x: int) -> int:
    s, c, odd, quadrant = _quarter(g, x)
    size = g.emit("select", odd, s, c)
    middle = g.emit("abs", g.emit("sub", quadrant, g.const(1.5)))
    return g.emit("select", g.emit("lt", middle, g.const(1.0)), g.emit("neg", size), size)


def _angle(g: Graph, y: int, x: int) -> int:
    zero = g.const(0.0)
    ax, ay = g.emit("abs", x), g.emit("abs", y)
    steep, left = g.emit("lt", ax, ay), g.emit("lt", x, zero)
    low, high = g.emit("select", steep, ax, ay), g.emit("select", steep, ay, ax)
    safe = g.emit("select", g.emit("eq", high, zero), g.const(1.0), high)
    # tan(a - pi/4) = (low - high) / (low + high): one division serves both cases
    wide = g.emit("lt", g.emit("mul", g.const(_WIDE), high), low)
    above = g.emit("select", wide, g.emit("sub", low, high), low)
    below = g.emit("select", wide, g.emit("add", low, high), safe)
    # the angle is t's, counted from a multiple of pi/4, backwards if steep or left
    start = g.emit("select", steep, g.const(math.pi / 2), zero)
    start = g.emit("select", wide, g.const(math.pi / 4), start)
    start = g.emit("select", left, g.emit("sub", g.const(math.pi), start), start)
    for backwards in (steep, left):
        above = g.emit("select", backwards, g.emit("neg", above), above)
    t = g.emit("mul", above, g.emit("recip", below))
    u = g.emit("mul", t, t)
    series = g.emit("mul", g.emit("mul", t, u), _horner(g, ATAN, u))
    angle = g.emit("add", start, g.emit("add", t, series))
    return g.emit("select", g.emit("lt", y, zero), g.emit("neg", angle), angle)


def _exponent(g: Graph, x: int) -> tuple[int, int, int]:
    """k, a large part and a small one of e^x = 2^k (1 + large + small)."""
    k = g.emit("round", g.emit("mul", x, g.const(1 / math.log(2))))
    large = g.emit("sub", x, g.emit("mul", k, g.const(_LN_2_PARTS[0])))
    rest = g.emit("mul", k, g.const(_LN_2_PARTS[1]))
    r = g.emit("sub", large, rest)
    series = g.emit("mul", g.emit("mul", r, r), _horner(g, _EXPM1, r))
    return k, large, g.emit("sub", series, rest)


def _exponential(g: Graph, x: int) -> int:
    inside = g.emit("min", g.emit("max", x, g.const(_SMALLEST)), g.const(_LARGEST))
    k, large, small = _exponent(g, inside)
    half = g.emit("floor", g.emit("mul", k, g.const(0.5)))  # 2^1024 is no number, its root is
    value = g.emit("add", g.const(1.0), g.emit("add", large, small))
    for part in (half, g.emit("sub", k, half)):
        value = g.emit("mul", value, g.emit("pow2", part))
    value = g.emit("select", g.emit("lt", x, g.const(_SMALLEST)), g.const(0.0), value)
    return g.emit("select", g.emit("lt", g.const(_LARGEST), x), g.const(math.inf), value)


def _hyperbolic_tangent(g: Graph, x: int) -> int:
    one, two = g.const(1.0), g.const(2.0)
    size = g.emit("min", g.emit("abs", x), g.const(_EVEN))
    k, large, small = _exponent(g, g.emit("mul", two, size))
    power = g.emit("pow2", k)
    large = g.emit("add", g.emit("mul", power, large), g.emit("sub", power, one))
    small = g.emit("mul", power, small)
    E = g.emit("add", large, small)
    below = g.emit("add", two, E)
    # E / (below + lost) = (E - lost tanh) / below; of tanh, its bound is near enough
    lost = g.emit("add", g.emit("sub", two, below), E)
    share = g.emit("mul", g.emit("min", size, one), lost)
    above = g.emit("add", large, g.emit("sub", small, share))
    value = g.emit("mul", above, g.emit("recip", below))
    return g.emit("select", g.emit("lt", x, g.const(0.0)), g.emit("neg", value), value)


_FORMULAS = {
    "sin": _sine,
    "cos": _cosine,
    "atan2": _angle,
    "exp": _exponential,
    "tanh": _hyperbolic_tangent,
}
