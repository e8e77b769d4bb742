"""What a study reports: findings, each with the paper's value, ours and a verdict, and figures.

reproduced        ours agrees with the paper within the digits it prints
differs           it does not, and `reason` says why
not comparable    the paper prints no number to compare with; `reason` says so
failed            the study could not be computed
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from matplotlib.figure import Figure

Verdict = Literal["reproduced", "differs", "not comparable", "failed"]
Progress = Callable[[float], None]


class Finding(NamedTuple):
    """One published quantity, or one that belongs beside them."""

    study: str
    quantity: str
    unit: str
    paper: float | None  #: None if the paper prints no number
    ours: float | None  #: None if it could not be computed
    verdict: Verdict
    reason: str = ""


class Study(NamedTuple):
    """The findings of one study, its figures by name with captions, and what it rests on."""

    name: str
    findings: tuple[Finding, ...]
    figures: Mapping[str, Figure]
    captions: Mapping[str, str]  #: a sentence for each figure
    robots: tuple[str, ...]  #: shipped robots that it used; their assumptions are its own
    seconds: float = 0.0  #: how long it took, if somebody measured [s]
