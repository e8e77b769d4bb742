"""Whether to trust what was identified: numbers, and the sentences they lead to.

    error on logs that were fitted and on logs held out, drive by drive
    intervals of the base parameters, and which parameters are the file's own, not the log's
    whiteness of the residuals: intervals are honest only if nothing systematic is left
    mass matrix over the workspace: a controller needs it positive definite

Autocorrelation of white noise is within 1.96 / sqrt(N) at 95 % of the lags; `whiteness` is the
share of the first 20 lags at which it is.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Series = Float[np.ndarray, "N n"]
Drives = Float[np.ndarray, " n"]
_LAGS = 20
_WHITE = 0.7  #: share of lags below which noise is not white
_WORSE = 1.15  #: error held out over error of the fit, above which the fit does not carry over
_MUCH_WORSE = 1.5  #: the same, above which it is not to be used
_UNEXPLAINED = 0.5  #: of the squared efforts, above which the model is not that of the robot
_POOR = 300.0  #: condition number above which noise is enlarged beyond use
_WIDE = 0.5  #: half interval, relative to its value, of a parameter that is not well known


class Errors(NamedTuple):
    """Root mean square of measured minus predicted efforts, drive by drive [N m, N]."""

    base: Drives
    consistent: Drives


class KnownParameter(NamedTuple):
    """One base parameter: what the log says, and what the file said."""

    formula: str
    unit: str
    value: float
    half_interval: float  #: of 95 %
    file: float

    @property
    def vague(self) -> bool:
        """Whether the file has a value, and the interval is wider than half of it."""
        size = max(abs(self.value), abs(self.file))
        return abs(self.file) > 1e-12 and self.half_interval > _WIDE * size


class Verdict(NamedTuple):
    """What was found out about an identification."""

    fitted: Errors
    held_out: Errors | None
    effort: Drives  #: root mean square of the efforts themselves
    noise: Drives  #: that the fit found
    at_rest: Drives | None  #: noise in rests of the logs
    whiteness: Drives  #: of the consistent fit, 0 to 1
    condition: float
    rank: int  #: combinations that the logs tell
    possible: int  #: that good logs would tell
    gap: float
    parameters: tuple[KnownParameter, ...]
    prior_only: tuple[str, ...]  #: parameters on which the log says nothing
    outliers: float  #: share of samples that were weighted down to less than a half
    least_inertia_base: float  #: least scaled eigenvalue of the mass matrix; > 0 is right
    least_inertia: float  #: the same for the consistent fit
    converged: bool

    @property
    def usable(self) -> bool:
        """Whether the identified robot may be used."""
        return not any(grave for grave, _ in self._findings())

    @property
    def recommendation(self) -> tuple[str, ...]:
        """What to do, the grave things first."""
        findings = sorted(self._findings(), key=lambda item: not item[0])
        first = (
            "Use the identified robot."
            if self.usable
            else "Do not use the identified robot as it is."
        )
        return (first, *(text for _, text in findings))

    def to_dict(self) -> dict:
        """All of it, as JSON has it."""

        def plain(value: object) -> object:
            if isinstance(value, np.ndarray):
                return value.tolist()
            if isinstance(value, tuple) and hasattr(value, "_asdict"):
                return {key: plain(item) for key, item in value._asdict().items()}  # pyright: ignore[reportAttributeAccessIssue]
            return [plain(item) for item in value] if isinstance(value, tuple) else value

        found = {key: plain(value) for key, value in self._asdict().items()}
        return found | {"usable": self.usable, "recommendation": list(self.recommendation)}

    def _findings(self) -> list[tuple[bool, str]]:
        """Sentences, and whether they are grave."""
        return [*self._of_logs(), *self._of_fit()]

    def _of_logs(self) -> Iterator[tuple[bool, str]]:
        if self.condition > _POOR:
            yield (
                True,
                f"The logs excite the robot poorly (condition number {self.condition:.0f}); "
                "record a motion of `triskele excite`.",
            )
        if self.rank < self.possible:
            yield (
                False,
                f"The logs tell {self.rank} of {self.possible} combinations, since some drives "
                "rest or move together; the others are the file's.",
            )
        if self.held_out is None:
            yield False, "No log was held out: give one with --hold-out to be sure."
            return
        ratio = self.held_out.consistent / np.maximum(self.fitted.consistent, 1e-12)
        if (ratio > _WORSE).any():
            k = int(ratio.argmax())
            yield (
                bool(ratio[k] > _MUCH_WORSE),
                f"Held out, drive {k + 1} errs {ratio[k]:.2f} times as much as in the fit: "
                "logs differ, or the motion was too poor.",
            )

    def _of_fit(self) -> Iterator[tuple[bool, str]]:
        errors = np.concatenate([self.fitted.consistent, self.noise])
        if not np.isfinite(errors).all():
            yield True, "The errors are not finite: the logs or the file make no sense together."
            return
        worse = self.fitted.consistent / np.maximum(self.fitted.base, 1e-12)
        if (worse > _MUCH_WORSE).any():
            k = int(worse.argmax())
            yield (
                True,
                f"Bodies that can exist leave {worse[k]:.2f} times the error of base parameters at "
                f"drive {k + 1}: the model, a mass from the scale or the file is wrong.",
            )
        if np.sum(self.fitted.consistent**2) > _UNEXPLAINED * np.sum(self.effort**2):
            yield True, "More than half of the efforts is not explained: do the logs belong to it?"
        if not self.converged:
            yield True, "The fit did not settle: begin with better numbers in the file."
        if self.least_inertia <= 0:
            yield True, "The mass matrix is not positive definite: this is our mistake."
        if self.least_inertia_base <= 0:
            yield (
                False,
                "The mass matrix of the base parameters alone is not positive definite: use the "
                "consistent fit.",
            )
        if (self.whiteness < _WHITE).any():
            names = ", ".join(str(k + 1) for k in np.flatnonzero(self.whiteness < _WHITE))
            yield (
                False,
                f"Residuals of drive {names} are not white: something is not in the model, or the "
                "log was filtered; intervals are too narrow.",
            )
        vague = sum(p.vague for p in self.parameters)
        if vague:
            text = f"{vague} of {self.rank} base parameters are known to no better than a half."
            yield False, text


def root_mean_square(residual: Series) -> Drives:
    """Of each drive."""
    return np.sqrt(np.mean(residual**2, axis=0))


def whiteness(residual: Series) -> Drives:
    """Share of the first 20 lags at which the residuals look like white noise."""
    centred = residual - residual.mean(axis=0)
    power = np.maximum(np.sum(centred**2, axis=0), 1e-300)
    lags = range(1, min(_LAGS, len(residual) // 4) + 1)
    correlation = np.array([np.sum(centred[k:] * centred[:-k], axis=0) / power for k in lags])
    return np.mean(np.abs(correlation) < 1.96 / np.sqrt(len(residual)), axis=0)
