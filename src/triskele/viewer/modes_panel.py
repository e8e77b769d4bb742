"""The panel of natural modes: computed where the tool is, and animated."""

import numpy as np

from triskele.kinematics.solids import body_frames
from triskele.viewer.panels import Messages
from triskele.viewer.stage import Stage
from triskele.viewer.swinging import Swing, swings

_SLOW = 1.2  #: period in which a mode is shown [s]
_LIVELY = 0.06  #: swing at first, in sizes of the robot


class ModesPanel:
    """Animates a mode on a stage."""

    def __init__(self, stage: Stage, messages: Messages) -> None:
        """Built where the current container of the server is."""
        self._stage, self._messages = stage, messages
        self._found: list[Swing] = []
        self._phase = 0.0
        gui, size = stage.server.gui, 1e3 * stage.scene.size
        gui.add_markdown("Natural modes with the tool where it is, shown slowly.")
        self._compute = gui.add_button("compute here")
        self._compute.on_click(lambda _: messages.aside(self.load))
        names: list[str] = ["none yet"]
        self._mode = gui.add_dropdown("mode", names, disabled=True)
        self._swing = gui.add_slider(
            "swing [mm]", 0.0, round(0.3 * size, 1), round(size / 1000, 3), round(_LIVELY * size, 1)
        )
        self._play = gui.add_button("animate", disabled=True)
        self._play.on_click(lambda _: stage.ask(self._toggle))
        self._text = gui.add_markdown("")
        self._mode.on_update(lambda _: self._describe())
        stage.stopped.append(self._paused)

    def load(self) -> None:
        """Compute the modes at the pose shown."""
        with self._messages.working("computing modes", self._compute):
            stage = self._stage
            found = swings(stage.robot, stage.mechanism, stage.x)
            stage.ask(lambda: self._present(found))

    def _present(self, found: list[Swing]) -> None:
        if self._stage.act is self:
            self._stage.stop()
            self._stage.show(self._stage.x)
        self._found = found
        self._mode.options = tuple(
            f"{k}: {swing.frequency:.4g} Hz, {swing.name}" for k, swing in enumerate(found, 1)
        )
        self._mode.value = self._mode.options[0]
        self._mode.disabled = self._play.disabled = False
        self._describe()

    def _chosen(self) -> Swing:
        return self._found[self._mode.options.index(self._mode.value)]

    def _describe(self) -> None:
        if self._found and self._mode.value in self._mode.options:
            swing = self._chosen()
            self._text.content = f"{swing.frequency:.5g} Hz, {swing.name}; enlarged to be seen."

    def _toggle(self) -> None:
        if self._stage.act is self:
            self._stage.stop()
            self._stage.show(self._chosen().x)
        else:
            self._stage.stop()
            self._stage.reason = ""
            self._stage.show(self._chosen().x)
            self._stage.act, self._phase = self, 0.0
            self._play.label = "stop"

    def _paused(self) -> None:
        self._play.label = "animate"

    def tick(self, passed: float) -> None:
        """Go on by `passed` seconds."""
        self._phase += 2 * np.pi * passed / _SLOW
        swing, far = self._chosen(), 1e-3 * float(self._swing.value) * np.sin(self._phase)
        if swing.bending is not None:
            self._stage.show_bent(swing.x, swing.frames[0], swing.bending, 0, far)
            return
        x = swing.x + far * swing.along
        self._stage.scene.move(body_frames(self._stage.mechanism, x[None])[0])
