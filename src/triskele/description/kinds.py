"""The kinds of robot files: what `kind = "..."` may say, and the format behind each.

Other packages add kinds: `triskele.register` (`kinematics/build.py`) puts them here. A module that
calls it is found by its entry point in the group "triskele.kinds", and is imported when a file
is read whose kind is not known yet.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Literal, get_args, get_origin

from triskele.description.limbs import LimbsRobot
from triskele.description.mechanism import Mechanism
from triskele.description.schema import AbstractRobot, DeltaRobot, PrsRobot
from triskele.errors import DescriptionError

Format = type[AbstractRobot] | type[Mechanism]
ENTRY_POINTS = "triskele.kinds"

_OURS: dict[str, Format] = {
    "delta": DeltaRobot,
    "3prs": PrsRobot,
    "limbs": LimbsRobot,
    "mechanism": Mechanism,
}
_ADDED: dict[str, type[AbstractRobot]] = {}


def known_kinds() -> dict[str, Format]:
    """All kinds: ours, and those of other packages."""
    _import_others()
    return {**_OURS, **_ADDED}


def format_of(kind: object) -> Format | None:
    """The format of files of that kind; other packages are asked only if it is not ours."""
    if not isinstance(kind, str):
        return None
    if kind not in _OURS and kind not in _ADDED:
        _import_others()
    return _OURS.get(kind) or _ADDED.get(kind)


def add_kind(file_format: type[AbstractRobot]) -> str:
    """Make the kind of that format known, and say which it is."""
    annotation = file_format.model_fields["kind"].annotation
    words = get_args(annotation) if get_origin(annotation) is Literal else ()
    if len(words) != 1 or not isinstance(words[0], str):
        raise DescriptionError(
            f"{file_format.__name__}.kind: a robot format names its kind, such as "
            f'kind: Literal["scara"], not {annotation}.'
        )
    (kind,) = words
    if kind in _OURS:
        raise DescriptionError(f"'{kind}' is a kind of triskele itself; choose another word.")
    _ADDED[kind] = file_format
    return kind


@cache
def _import_others() -> None:
    """Import the modules of all entry points, once; they call `triskele.register`."""
    for point in entry_points(group=ENTRY_POINTS):
        try:
            import_module(point.module)
        except Exception as error:
            raise DescriptionError(
                f"The robots of '{point.name}' ({point.module}) cannot be had: "
                f"{type(error).__name__}: {error}."
            ) from error
