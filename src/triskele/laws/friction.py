"""Friction of a joint as a smooth function of its speed.

    f(w) = (C + S exp(-(w / w_S)^2)) tanh(w / w_0) + v w + A tanh(w / w_A)             (1)

with Coulomb friction C, Stribeck's additional friction S at low speed, viscous friction v,
and a saturating term A, which is viscous at first and constant later. tanh replaces the
jump of Coulomb friction at rest; w_0 is small. f opposes the motion, so a drive must
supply +f: the power f(w) w is what the joint turns into heat, never negative.
"""

import equinox as eqx
import numpy as np

from triskele.description.schema import JointFriction, SlideFriction
from triskele.numerics import Scalar, exp, tanh


class FrictionLaw(eqx.Module):
    """The constants of (1), for a turning [N m, rad/s] or a sliding [N, m/s] joint."""

    coulomb: Scalar  #: C
    viscous: Scalar  #: v
    smoothing_speed: Scalar  #: w_0
    stribeck: Scalar | None = None  #: S
    stribeck_speed: Scalar | None = None  #: w_S
    saturating: Scalar | None = None  #: A
    saturating_speed: Scalar | None = None  #: w_A

    @property
    def slope(self) -> float:
        """Viscous friction about rest [N m s/rad or N s/m]: all of (1) but what is dry."""
        if self.saturating is None or self.saturating_speed is None:
            return float(self.viscous)
        return float(self.viscous + self.saturating / self.saturating_speed)

    def effort(self, speed: Scalar) -> Scalar:
        """f of (1) [N m or N], along the speed."""
        dry = self.coulomb
        if self.stribeck is not None and self.stribeck_speed is not None:
            ratio = speed / self.stribeck_speed
            dry = dry + self.stribeck * exp(-ratio * ratio)
        effort = dry * tanh(speed / self.smoothing_speed) + self.viscous * speed
        if self.saturating is not None and self.saturating_speed is not None:
            effort = effort + self.saturating * tanh(speed / self.saturating_speed)
        return effort


def friction_law(section: JointFriction | SlideFriction, drive: int = 0) -> FrictionLaw:
    """The law that a section of a robot file states for its drive number `drive`, from 0."""

    def of_drive(values: tuple[float, ...] | float) -> np.ndarray:
        many = values if isinstance(values, tuple) else (values,)
        return np.asarray(many[drive if len(many) > 1 else 0], float)

    terms = {}
    for term in ("stribeck", "saturating"):
        if getattr(section, term, 0.0):
            terms[term] = np.asarray(getattr(section, term), float)
            terms[f"{term}_speed"] = np.asarray(getattr(section, f"{term}_speed"), float)
    return FrictionLaw(
        coulomb=of_drive(section.coulomb),
        viscous=of_drive(section.viscous),
        smoothing_speed=np.asarray(section.smoothing_speed, float),
        **terms,
    )
