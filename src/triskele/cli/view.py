"""The command `view`: the robot in a browser."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import RobotName, built, whole
from triskele.cli.output import note, note_assumptions
from triskele.cli.shapes import MOTIONS, Asked, checked, made, shaped
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.kinematics.motion import Motion
    from triskele.planning.replay import Replay
    from triskele.viewer.motion_panel import Makers

_PICK = "pick-and-place"
_OFFERED = (_PICK, "rating-cycle", "circle", "sine", "fourier")
_FASTEST = f"{_PICK}, as fast as limits allow"
_CELLS = 120  #: of a plan to look at
_RATE = 1000.0  #: of its samples [Hz]


@shaped
def view(
    robot: RobotName,
    motion: Annotated[
        str | None,
        typer.Option(help="To play: a kind as in `triskele motion`, or a table such as a plan's."),
    ] = None,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    payload: Annotated[str | None, typer.Option(help="Payload of the robot file, by name.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to serve at; 0.0.0.0 lets others look.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The next free one is taken.", parser=whole, metavar="<int>")
    ] = 8080,
    open: Annotated[bool, typer.Option("--open", help="Open a browser.")] = False,
) -> None:
    """The robot in a browser: drag it, play motions, see loads, modes and its workspace.

    Example: triskele view abb_irb360_6_1600
    """
    if options and motion is None:
        raise InputError(f"--{next(iter(options))} shapes a motion; name one with --motion.")
    if not 1 <= port <= 65535:
        raise InputError(f"--port is {port}; it must be from 1 to 65535.")
    described, mechanism = built(robot)
    if payload is not None and payload not in described.payloads:
        known = did_you_mean(payload, described.payloads)
        raise UnknownName(f"--payload: {described.name} has no '{payload}'. {known}")
    asked = Asked(described, mechanism, options)
    motions = offered(asked, motion)
    from triskele.viewer.serving import is_local
    from triskele.viewer.view import Viewer

    viewer = Viewer(described, motions, payload=payload, host=host, port=port)
    try:
        note_assumptions(described.assumptions(), robot)
        if not is_local(host):
            note(
                f"--host {host}: whoever reaches this machine can look, drag and play; no password."
            )
        typer.echo(f"{described.title} is shown at {viewer.address}; Ctrl-C ends it.")
        if open:
            typer.launch(viewer.address)
        if motion is not None:
            viewer.load_motion()
        viewer.run()
    except KeyboardInterrupt:
        note("ended")
        if viewer.busy:
            _leave()
    finally:
        viewer.close()


def _leave() -> None:
    """End the process at once: compiled code does not survive that Python ends around it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def offered(asked: Asked, motion: str | None) -> "Makers":
    """What a viewer can play: the motion asked for first, then all kinds that the robot can."""
    found: dict[str, Callable] = {}
    if motion is not None:
        first = made(asked, motion)  # now, so that a mistake is said in the shell
        note_beyond(asked, first)
        found[f"{motion}, as asked"] = lambda payload, report: first
    plain = asked._replace(options={})
    able = [kind for kind in _OFFERED if not MOTIONS[kind].lacking(plain)]
    for kind in able:
        found[kind] = lambda payload, report, kind=kind: made(plain, kind)
    if _PICK in able:
        found[_FASTEST] = lambda payload, report: _fastest(plain, payload, report)
    return found


def note_beyond(asked: Asked, motion: "Motion") -> None:
    """Say where a motion is beyond the limits; refuse one that the legs cannot follow."""
    beyond = checked(asked, motion)
    if beyond is not None:
        note(f"beyond the limits of the robot file: {beyond}")


def _fastest(asked: Asked, payload: str | None, report: Callable[[float], None]) -> "Replay":
    from triskele.cli.shapes import route
    from triskele.planning.plan import plan
    from triskele.planning.replay import replay

    path = route(asked, _PICK)
    found = plan(asked.robot, path, payload, cells=_CELLS, progress=report)
    return replay(found, rate=_RATE)
