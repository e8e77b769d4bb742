"""The studies by name: which paper each is of. Plain data, so that listing them is quick."""

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """A study, and where it is written down; its module has `run(progress)`."""

    module: str
    title: str
    paper: str
    takes: float = 0.0  #: about how long [s], so that the longest can begin
    hasty: bool = True  #: whether its code runs for less time than optimising it takes


class Numbering(NamedTuple):
    """How many tables and figures a paper has, and how they were counted."""

    tables: int
    figures: int
    source: str
    others: tuple[str, ...] = ()  #: labels outside both sequences

    def labels(self) -> tuple[str, ...]:
        """Labels of all tables and figures.

        >>> Numbering(1, 2, "captions").labels()
        ('Table 1', 'Figure 1', 'Figure 2')
        """
        tables = [f"Table {k + 1}" for k in range(self.tables)]
        figures = [f"Figure {k + 1}" for k in range(self.figures)]
        return (*tables, *figures, *self.others)


_KUO = "Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible links, 2016"
_ELSHAMI = (
    "M. Elshami, M. Shehata, Q. Bai, X. Zhao, Multibody dynamics modeling of Delta robot with "
    "experimental validation"
)
_GNAD = (
    "D. Gnad, H. Gattringer, A. Mueller, W. Hoebarth, R. Riepl, L. Messner, Identification of "
    "physically consistent dynamics parameter of the ABB IRB 360-6/1600 delta robot, Robotics and "
    "Autonomous Systems"
)
_BENGOA = "P. Bengoa et al., Sensors 17 (2017) 1934"
_RUIZ = "Ruiz et al., Robotics 11 (2022) 4"


def _entry(
    name: str, title: str, paper: str, takes: float, hasty: bool = True
) -> tuple[str, Entry]:
    return name, Entry(f"triskele.studies.{name}", title, paper, takes, hasty)


STUDIES: Mapping[str, Entry] = dict(
    [
        _entry("rigid_delta", "Rigid Delta with Lagrange multipliers", _KUO, 8.0),
        _entry("flexible_delta", "Delta with flexible links", _KUO, 70.0),
        _entry(
            "d3s800", "Delta robot as a multibody system with Lagrange multipliers", _ELSHAMI, 30.0
        ),
        _entry(
            "irb360_planning", "Time-optimal motion of a Delta robot under joint loads", _GNAD, 70.0
        ),
        _entry(
            "irb360_identification",
            "Physically consistent identification of the ABB IRB 360-6/1600 (synthetic logs)",
            _GNAD,
            100.0,
        ),
        _entry("virtual_sensor", "A virtual sensor for a Delta with flexible links", _BENGOA, 60.0),
        _entry("compliant_3prs", "Compliant 3PRS as a mechatronic system", _RUIZ, 110.0, False),
    ]
)  #: in the order in which they are shown

NUMBERINGS: Mapping[str, Numbering] = {
    _BENGOA: Numbering(2, 13, "captions of Tables 1 and 2 and Figures 1 to 13"),
    _ELSHAMI: Numbering(2, 6, "captions of Tables 1 and 2 and Figs. 1 to 6"),
    _GNAD: Numbering(4, 17, "captions of Tables 1 to 4 and Figs. 1 to 17"),
    _KUO: Numbering(3, 16, "captions of Tables 1 to 3 and Figs. 1 to 16"),
    _RUIZ: Numbering(1, 9, "captions of Table 1, Figures 1 to 9 and A1", ("Figure A1",)),
}  #: by paper
