"""What a study reports: findings with verdicts and checks, figures, and the paper's own list.

Verdicts compare our value with the paper's:

reproduced        ours agrees with the paper within the digits it prints
differs           it does not, and `reason` says why
not comparable    the paper prints no number to compare with; `reason` says so
failed            the study could not be computed

A check says which independent calculation confirms our value, whatever the paper prints: another
program, a closed form, a second derivation that shares no code, or a law of physics.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from matplotlib.figure import Figure

Verdict = Literal["reproduced", "differs", "not comparable", "failed"]
Progress = Callable[[float], None]


class Check(NamedTuple):
    """An independent calculation of a number, and the test that compares both.

    >>> Check("Exudyn", "0.5 %", "tests/oracles/test_flexible_exudyn.py::test_x").independent
    True
    """

    by: str  #: program, closed form, derivation or law
    tolerance: str  #: largest difference that the test allows, with its unit
    test: str  #: file::function; empty if nothing independent confirms the number

    @property
    def independent(self) -> bool:
        """Whether a test compares the number with something other than the paper."""
        return bool(self.test)


PAPER_ALONE = Check("the paper alone", "", "")  #: compared with the paper and nothing else
UNCHECKED = Check("nothing yet", "", "")  #: neither printed nor confirmed


class Finding(NamedTuple):
    """One published quantity, or one that belongs beside them."""

    study: str
    quantity: str
    unit: str
    paper: float | None  #: None if the paper prints no number
    ours: float | None  #: None if it could not be computed
    verdict: Verdict
    check: Check
    reason: str = ""


class Exhibit(NamedTuple):
    """A table or a figure of a paper, and what of ours stands beside it."""

    label: str  #: as the paper numbers it: "Table 2", "Figure 4"
    shows: str
    rows: tuple[str, ...] = ()  #: how the quantities of our findings begin
    figure: str = ""  #: name of our figure
    why: str = ""  #: why there is neither, or what they leave out


class Study(NamedTuple):
    """The findings of one study, its figures by name with captions, and what it rests on."""

    name: str
    findings: tuple[Finding, ...]
    figures: Mapping[str, Figure]
    captions: Mapping[str, str]  #: a sentence for each figure
    robots: tuple[str, ...]  #: shipped robots that it used; their assumptions are its own
    exhibits: tuple[Exhibit, ...] = ()  #: tables and figures of the paper that belong to it
    seconds: float = 0.0  #: how long it took, if somebody measured [s]
