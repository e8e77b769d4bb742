"""Units at the border: files and tables say theirs, everything inside is SI.

A unit is a product of named units with integer powers, read from left to right:

    mm    kg m^2    N m s/rad    deg/s^2    rad/m    1/s    %

A slash divides by the one unit that follows it. The angle is kept as a dimension of its
own, so that a stiffness in N m/rad is not mistaken for a torque in N m.
Factors are exact fractions (times a power of pi), so that "1106 mm" is 1.106, not
1.1060000000000001.
"""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from triskele.errors import UnitError, did_you_mean, shortened

BASE = ("m", "kg", "s", "A", "K", "rad")
Dimension = tuple[int, ...]  #: power of each of BASE


class Unit(NamedTuple):
    """A unit as a multiple of SI: value_si = value * ratio * pi**pi_power."""

    ratio: Fraction
    pi_power: int
    dimension: Dimension


def _unit(ratio: str | int, pi_power: int = 0, **powers: int) -> Unit:
    return Unit(Fraction(ratio), pi_power, tuple(powers.get(base, 0) for base in BASE))


_PREFIXES = {"n": "1e-9", "u": "1e-6", "m": "1e-3", "c": "1e-2", "k": "1e3"}
_PREFIXES |= {"M": "1e6", "G": "1e9"}
_PREFIXED = {
    "m": _unit(1, m=1),
    "s": _unit(1, s=1),
    "g": _unit("1e-3", kg=1),
    "A": _unit(1, A=1),
    "rad": _unit(1, rad=1),
    "Hz": _unit(1, s=-1),
    "N": _unit(1, kg=1, m=1, s=-2),
    "Pa": _unit(1, kg=1, m=-1, s=-2),
    "J": _unit(1, kg=1, m=2, s=-2),
    "W": _unit(1, kg=1, m=2, s=-3),
    "V": _unit(1, kg=1, m=2, s=-3, A=-1),
    "bar": _unit("1e5", kg=1, m=-1, s=-2),
}
_NAMED = {
    "1": _unit(1),
    "%": _unit("1e-2"),
    "K": _unit(1, K=1),
    "deg": Unit(Fraction(1, 180), 1, _unit(1, rad=1).dimension),
    "rev": Unit(Fraction(2), 1, _unit(1, rad=1).dimension),
    "rpm": Unit(Fraction(2, 60), 1, _unit(1, rad=1, s=-1).dimension),
    "min": _unit(60, s=1),
    "h": _unit(3600, s=1),
    "t": _unit(1000, kg=1),
    "in": _unit("0.0254", m=1),
}


def _known_units() -> dict[str, Unit]:
    known = {
        prefix + name: Unit(Fraction(factor) * unit.ratio, 0, unit.dimension)
        for name, unit in _PREFIXED.items()
        for prefix, factor in _PREFIXES.items()
    }
    return known | _PREFIXED | _NAMED


_KNOWN = _known_units()
_FACTOR = re.compile(r"([A-Za-zµ]+|%|1)(?:\^(-?[1-9]))?")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*(.*?)\s*")


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """The unit that `text` writes, such as `N m s/rad`; the empty text is 1."""
    ratio, pi_power, powers = Fraction(1), 0, [0] * len(BASE)
    sign = 1
    for token in re.findall(r"[*·/]|[^\s*·/]+", text):
        if token in "*·/":
            sign = -1 if token == "/" else 1
            continue
        match = _FACTOR.fullmatch(token.replace("²", "^2").replace("³", "^3"))
        name = match[1].replace("µ", "u") if match else token
        if match is None or name not in _KNOWN:
            raise UnitError(
                f"unit '{shortened(text)}': '{shortened(token)}' is not a unit. {_hint(name)}"
            )
        unit, power = _KNOWN[name], sign * int(match[2] or 1)
        ratio *= unit.ratio**power
        pi_power += unit.pi_power * power
        powers = [a + power * b for a, b in zip(powers, unit.dimension, strict=True)]
        sign = 1
    return Unit(ratio, pi_power, tuple(powers))


def _hint(name: str) -> str:
    return did_you_mean(name, [*_PREFIXED, *_NAMED, "mm", "kg", "MPa", "GPa", "ms"])


def to_si(value: float | str, unit: str, expected: str) -> float:
    """`value` [`unit`] in the SI unit `expected`; an error if the dimensions differ.

    >>> to_si(1106, "mm", "m")
    1.106
    """
    given, wanted = parse_unit(unit), parse_unit(expected)
    if given.dimension != wanted.dimension:
        raise UnitError(
            f"'{shortened(unit)}' is not a unit of this quantity, which is measured in "
            f"{expected or 'plain numbers'}."
        )
    pi = math.pi ** (given.pi_power - wanted.pi_power)
    try:
        number = float(value)
        if number == 0 or not math.isfinite(number):
            return number  # never a fraction: 1e-999999999 would have as many digits
        return float(Fraction(str(value)) * given.ratio / wanted.ratio) * pi
    except OverflowError:
        return math.inf


def read_quantity(text: str, expected: str) -> float:
    """The number that `text` writes with its unit, in the SI unit `expected`.

    >>> read_quantity("370 mm", "m")
    0.37
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        example = f"0.5 {expected}".strip()
        raise UnitError(f"'{shortened(text)}' is not a number with a unit, such as '{example}'.")
    if not match[2] and any(parse_unit(expected).dimension):
        shown = shortened(text)
        raise UnitError(f"'{shown}' has no unit; write, for example, '{shown} {expected}'.")
    return to_si(match[1], match[2], expected)


def factor(unit: str) -> float:
    """How many SI units one `unit` is, for arrays: `array * factor("mm")` is in m."""
    parsed = parse_unit(unit)
    return float(parsed.ratio) * math.pi**parsed.pi_power


def display(unit: str) -> tuple[float, str]:
    """Factor and name of the unit in which people read what is kept in `unit`.

    >>> display("m"), display("N")
    ((1000.0, 'mm'), (1.0, 'N'))
    """
    return {"m": (1e3, "mm"), "rad": (180 / math.pi, "deg")}.get(unit, (1.0, unit))


def same_dimension(units: Sequence[str]) -> bool:
    """Whether all `units` measure the same thing."""
    return len({parse_unit(unit).dimension for unit in units}) <= 1
