"""Whether to trust what was identified: numbers, and the sentences they lead to.

    error on logs that were fitted and on logs held out, drive by drive
    intervals of the base parameters, and which parameters are the file's own, not the log's
    faults of the model or of logs, by name; whiteness of what is left over
    agreement of fitted and held-out logs on the base parameters
    anchors: a gain common to all drives, or a payload never mentioned, equal heavier bodies
    mass matrix over the workspace: a controller needs it positive definite

There are three answers. "Do not use": something is wrong. "Do not rely on it yet": nothing is
known to be wrong, but something that would bias it is not excluded. "Use": neither.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.identification.consistent import Anchored
from triskele.identification.examination import BIASED, Finding
from triskele.identification.noise import Weights
from triskele.identification.wording import named

Series = Float[np.ndarray, "N n"]
Drives = Float[np.ndarray, " n"]
Gravity = Literal["wrong", "open", "remark"]
_SYSTEMATIC = 1e-6  #: chance of white noise, below which something is left over
_EFFECTIVE = 0.7  #: share of independent samples, below which it is much
_CHANCE = 1e-6  #: that two logs differ so by noise
_ANCHORED = 0.04  #: deviation of a common gain, above which it is open
_WEIGHED = 0.03  #: deviation of a mass on the flange, of what moves there, above which it is open
_OFF = 4.0  #: deviations of an anchored number that are no chance
_WORSE = 1.15  #: error held out over error of the fit, above which the fit does not carry over
_MUCH_WORSE = 1.5  #: the same, above which it is not to be used
_UNEXPLAINED = 0.5  #: of the squared efforts, above which the model is not that of the robot
_POOR = 300.0  #: condition number above which noise is enlarged beyond use
_FEW = 1e-3  #: share of rows that may be faulty
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
    half_interval: float | None  #: of 95 %; None if it is withdrawn
    file: float
    deviation: float  #: by noise alone, if the model is right

    @property
    def vague(self) -> bool:
        """Whether the interval is wider than half of the value, here or in the file."""
        size = max(abs(self.value), abs(self.file))
        return self.half_interval is None or self.half_interval > _WIDE * size

    @property
    def plus_minus(self) -> str:
        """The half interval as it is printed."""
        return "withdrawn" if self.half_interval is None else f"{self.half_interval:.2g}"


class Agreement(NamedTuple):
    """Base parameters of the logs held out against those of the logs fitted."""

    chance: float  #: that noise makes them differ so
    furthest: float  #: deviations of the one that differs most
    formula: str


class Verdict(NamedTuple):
    """What was found out about an identification."""

    fitted: Errors
    held_out: Errors | None
    effort: Drives  #: root mean square of the efforts themselves
    noise: Drives  #: that the fit found
    at_rest: Drives | None  #: noise in rests of the logs
    weights: Weights | None  #: by which of both the rows count; None: by residuals
    white: Drives  #: chance that white noise is as correlated as the residuals
    effective: Drives  #: share of the samples that count as independent
    faults: tuple[Finding, ...]  #: the one that explains most, and those that nearly do
    agreement: Agreement | None  #: of fitted and held-out logs
    gain: Anchored  #: of all efforts, beyond 1
    payload: Anchored  #: on the flange, never mentioned [kg]
    carried: float  #: what moves at the flange, as a mass there [kg]
    held_rows: float  #: share of rows that repeat others, in the worst log
    clipped: Drives  #: share of rows with efforts at an extreme
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
        return all(gravity == "remark" for gravity, _ in self._findings())

    @property
    def refused(self) -> bool:
        """Whether something is known to be wrong."""
        return any(gravity == "wrong" for gravity, _ in self._findings())

    @property
    def recommendation(self) -> tuple[str, ...]:
        """What to do, the grave things first."""
        order: tuple[Gravity, ...] = ("wrong", "open", "remark")
        findings = sorted(self._findings(), key=lambda item: order.index(item[0]))
        first = "Do not rely on the identified robot yet."
        if self.usable:
            first = "Use the identified robot."
        elif self.refused:
            first = "Do not use the identified robot as it is."
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

    def _findings(self) -> Iterator[tuple[Gravity, str]]:
        """Sentences, and how grave they are."""
        yield from self._of_rows()
        yield from self._of_model()
        yield from self._of_logs()
        yield from self._of_anchors()
        yield from self._of_fit()
        yield from self._of_weights()

    def _of_rows(self) -> Iterator[tuple[Gravity, str]]:
        if self.held_rows > _FEW:
            yield (
                "wrong",
                f"{100 * self.held_rows:.2g} % of the rows of a log are held: they repeat the row "
                "before while the robot moves. They were left out; mend the bus, and record again.",
            )
        for k in np.flatnonzero(self.clipped > _FEW):
            yield (
                "wrong",
                f"Efforts of drive {k + 1} are clipped in {100 * self.clipped[k]:.2g} % of the "
                "rows: they stand at their extreme. They were left out; record a slower motion.",
            )

    def _of_model(self) -> Iterator[tuple[Gravity, str]]:
        for k, fault in enumerate(self.faults):
            share, worst = 100 * fault.share, self.parameters[fault.worst].formula
            biased = f"; {worst} is off by {fault.moved:.2g} of its deviations"
            text = f"it explains {share:.2g} % of what the fit leaves over"
            first = k == 0
            text += biased if first and fault.moved > BIASED else ""
            yield "wrong", f"{'' if first else 'Or, nearly as well: '}{named(fault)} ({text}.)"
        if self.faults:
            yield "remark", "Intervals are withdrawn: they hold for a model without such faults."
        correlated = (self.white < _SYSTEMATIC) & (self.effective < _EFFECTIVE)
        if correlated.any():
            names = ", ".join(str(k + 1) for k in np.flatnonzero(correlated))
            share = 100 * self.effective[correlated].min()
            yield (
                "wrong" if not self.faults else "remark",
                f"Residuals of drive {names} are not white: {share:.0f} % of the samples count as "
                "independent. Something is not in the model, or the log was filtered.",
            )
        elif (self.white < _SYSTEMATIC).any():
            yield "remark", "Residuals are not quite white; intervals allow for it."
        a = self.agreement
        if a is not None and a.chance < _CHANCE:
            yield (
                "wrong" if not self.faults else "remark",
                f"Fitted and held-out logs contradict each other: {a.formula} differs by "
                f"{a.furthest:.2g} deviations. The model is wrong, or the robot changed.",
            )

    def _of_logs(self) -> Iterator[tuple[Gravity, str]]:
        if self.condition > _POOR:
            yield (
                "open" if self.faults else "wrong",
                f"The logs excite the robot poorly (condition number {self.condition:.0f}); "
                "record a motion of `triskele excite`.",
            )
        if self.rank < self.possible:
            yield (
                "remark",
                f"The logs tell {self.rank} of {self.possible} combinations, since some drives "
                "rest or move together; the others are the file's.",
            )
        if self.held_out is None:
            yield "open", "No log was held out: give one with --hold-out, to judge by."
            return
        ratio = self.held_out.consistent / np.maximum(self.fitted.consistent, 1e-12)
        if (ratio > _WORSE).any():
            k = int(ratio.argmax())
            yield (
                "wrong" if ratio[k] > _MUCH_WORSE else "open",
                f"Held out, drive {k + 1} errs {ratio[k]:.2f} times as much as in the fit: "
                "logs differ, or the motion was too poor.",
            )

    def _of_anchors(self) -> Iterator[tuple[Gravity, str]]:
        """A gain of all drives, and a payload: what only a known mass excludes."""
        remedy = "--loaded and --added, a log with a known mass added"
        gain, spread = self.gain
        if spread > _ANCHORED:
            yield (
                "open",
                f"A gain common to all drives cannot be told apart from heavier bodies (+- "
                f"{200 * spread:.2g} %): give {remedy}, or weigh parts and state [weighed].",
            )
        elif abs(gain) > max(_OFF * spread, 0.01):
            # One linear step from bodies that bent to the fault: a size, not an interval.
            yield (
                "wrong",
                f"Gain: efforts of all drives are about {1 / max(1 - gain, 0.1):.2g} times what "
                "the known masses ask for; a torque constant is wrong, or a mass is.",
            )
        mass, spread = self.payload
        if spread > _WEIGHED * self.carried:
            yield (
                "open",
                "A payload never mentioned cannot be told apart from a heavier platform (+- "
                f"{2 * spread:.2g} kg): state --payload, or weigh the platform and its rods and "
                "state [weighed].",
            )
        elif abs(mass) > _OFF * spread and abs(mass) > 0.01 * self.carried:
            more = "more" if mass > 0 else "less"
            yield (
                "wrong",
                f"Payload: the flange carries about {abs(mass):.2g} kg {more} than stated, if "
                "parts weigh what the file says; state --payload.",
            )

    def _of_fit(self) -> Iterator[tuple[Gravity, str]]:
        errors = np.concatenate([self.fitted.consistent, self.noise])
        if not np.isfinite(errors).all():
            yield "wrong", "The errors are not finite: log and file make no sense together."
            return
        worse = self.fitted.consistent / np.maximum(self.fitted.base, 1e-12)
        if (worse > _MUCH_WORSE).any():
            k = int(worse.argmax())
            yield (
                "wrong",
                f"Bodies that can exist leave {worse[k]:.2f} times the error of base parameters at "
                f"drive {k + 1}: the model, a mass from the scale or the file is wrong.",
            )
        if np.sum(self.fitted.consistent**2) > _UNEXPLAINED * np.sum(self.effort**2):
            yield (
                "wrong",
                "More than half of the efforts is not explained: do the logs belong to it?",
            )
        if not self.converged:
            yield "wrong", "The fit did not settle: begin with better numbers in the file."
        if self.least_inertia <= 0:
            yield "wrong", "The mass matrix is not positive definite: this is our mistake."
        if self.least_inertia_base <= 0:
            yield (
                "remark",
                "The mass matrix of the base parameters alone is not positive definite: use the "
                "consistent fit.",
            )
        vague = sum(p.vague for p in self.parameters)
        if vague and not self.faults:
            text = f"{vague} of {self.rank} base parameters are known to no better than a half."
            yield "remark", text

    def _of_weights(self) -> Iterator[tuple[Gravity, str]]:
        """Which drives count by their noise at rest, and how much more there is in the others."""
        if self.weights is None:
            return
        same, ratio = self.weights.by_rest, self.weights.ratio
        if same.any():
            names = ", ".join(str(k + 1) for k in np.flatnonzero(same))
            one = "" if same.sum() == 1 else "s"
            yield "remark", f"Rows of drive{one} {names} are weighted by the noise at rest."
        for k in np.flatnonzero(~same):
            more = ratio[k] > 1
            what = "what is beyond it comes with the motion, or is not in the model"
            less = "efforts at rest hunt, or were measured otherwise"
            yield (
                "remark",
                f"Residuals of drive {k + 1} are {ratio[k]:.2g} times its noise at rest: "
                f"{what if more else less}; its rows are weighted by the residuals.",
            )


def root_mean_square(residual: Series) -> Drives:
    """Of each drive."""
    return np.sqrt(np.mean(residual**2, axis=0))
