"""The panel of a pose: coordinates to read and to type, margins, and the workspace around it."""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float
from viser import GuiEvent, GuiInputHandle, MeshHandle

from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.surface import surface
from triskele.kinematics.workspace import workspace
from triskele.numerics import Scalar, Scalars, tabulate
from triskele.units import display
from triskele.viewer.panels import Messages, html_table, value_text
from triskele.viewer.stage import Pose, Stage

_RESOLUTION = 49  #: of the workspace
_BLUE = (14, 116, 144)


class Reading(NamedTuple):
    """What a pose panel shows of one pose."""

    q: Float[np.ndarray, " n"]
    type1: float  #: least margin of the legs
    type2: float


def reading(mechanism: AbstractMechanism, x: Pose) -> Reading:
    """Joint coordinates and margins to singularities at the pose `x`."""
    found = tabulate(eqx.Partial(_state, mechanism))(x[None])
    q, legs, type2 = (np.array(part) for part in found)
    first = legs[: len(mechanism.working_mode), 0].min()
    return Reading(q[:, 0], float(first), float(type2[0]))


def _state(mechanism: AbstractMechanism, x: Scalars) -> tuple[Scalars, Scalars, Scalar]:
    """Joints and margins; a kernel for `numerics.tabulate`."""
    q = mechanism.inverse(x).components
    margins = singularity_margins(mechanism, q, x)
    return q, margins.type1, margins.type2


class PosePanel:
    """Reads the pose of a stage, and moves it."""

    def __init__(self, stage: Stage, messages: Messages) -> None:
        """Built where the current container of the server is."""
        self._stage, self._messages = stage, messages
        self._surface: MeshHandle | None = None
        self._left: Pose | None = None  #: where the tool was when a number was typed
        gui = stage.server.gui
        gui.add_markdown("Drag the handle at the tool, or type where it should go.")
        self._typed: list[GuiInputHandle[float]] = []
        for name, unit in stage.mechanism.platform_coordinates:
            word = display(unit)[1]
            step = 0.1 if unit == "m" else 0.05
            field = gui.add_number(f"{name} [{word}]", 0.0, step=step)
            field.on_update(self._keep)
            self._typed.append(field)
        gui.add_button("go there").on_click(lambda _: self._go_typed())
        gui.add_button("home").on_click(lambda _: self._go(stage.home))
        self._table = gui.add_html("")
        self._reason = gui.add_markdown("")
        self._shown = gui.add_checkbox("workspace", False)
        self._shown.on_update(lambda _: messages.aside(self._toggle))
        self._volume = gui.add_markdown("")
        stage.moved.append(self._read)

    def _go(self, x: Pose) -> None:
        def move() -> None:
            self._left = None
            self._stage.stop()
            self._stage.go(x)

        self._stage.ask(move)

    def _keep(self, event: GuiEvent) -> None:
        """Leave what a hand types as it is, until the tool moves."""
        if event.client_id is not None:
            self._left = self._stage.x

    def _go_typed(self) -> None:
        """To what is typed."""
        coordinates = self._stage.mechanism.platform_coordinates
        pairs = zip(self._typed, coordinates, strict=True)
        self._go(np.array([field.value / display(c.unit)[0] for field, c in pairs]))

    def _read(self) -> None:
        """Write all numbers."""
        stage = self._stage
        mechanism, x = stage.mechanism, stage.x
        found = reading(mechanism, x)
        if self._left is None or not np.array_equal(x, self._left):
            self._left = None
            for field, c, value in zip(self._typed, mechanism.platform_coordinates, x, strict=True):
                field.value = round(display(c.unit)[0] * float(value), 2) + 0.0
        joints = zip(mechanism.joint_coordinates, found.q, strict=True)
        self._table.content = html_table(
            [
                *((c.name, value_text(c, float(value))) for c, value in joints),
                ("margin of type 1", f"{found.type1:.3f}", "0: leg stretched"),
                ("margin of type 2", f"{found.type2:.3f}", "0: platform loose"),
            ]
        )
        self._reason.content = f"**The tool stops here: {stage.reason}.**" if stage.reason else ""

    def _toggle(self) -> None:
        """Show the workspace, computed once, or hide it."""
        if self._surface is not None:
            self._surface.visible = self._shown.value
            return
        if not self._shown.value:
            return
        stage = self._stage
        coordinates = stage.mechanism.platform_coordinates
        if sum(c.unit == "m" for c in coordinates) != 3:
            moves = ", ".join(c.name for c in coordinates)
            self._messages.say(f"**It moves in {moves}: its workspace is no region in space.**")
            return
        with self._messages.working("computing the workspace", self._shown):
            told = self._messages.progress("computing the workspace")
            space = workspace(
                stage.mechanism, stage.robot.limits, resolution=_RESOLUTION, progress=told
            )
            digits = f"{space.volume:.4g} ± {space.uncertainty:.1g} {space.unit}"
            self._volume.content = f"Workspace: {digits}"
            found = surface(space)
            self._surface = stage.server.scene.add_mesh_simple(
                "/workspace",
                *found,
                color=_BLUE,
                opacity=0.25,
                side="double",
                visible=self._shown.value,
            )
