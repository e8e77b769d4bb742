"""The panel of motions: choose or plan one, play it, see what it takes."""

import time
from collections.abc import Callable, Mapping

import numpy as np
from viser import GuiEvent

from triskele.errors import OutOfReach
from triskele.flexible.robot import bending
from triskele.kinematics.cycles import check_motion
from triskele.kinematics.motion import Motion
from triskele.planning.replay import Replay
from triskele.viewer.panels import Messages
from triskele.viewer.played import Played, bent, play
from triskele.viewer.plots import Plot, plots_of
from triskele.viewer.scene import load_colour
from triskele.viewer.stage import Stage

_PERIOD = 0.15  #: between two updates of plots and texts [s]
_NOTHING = "nothing"
_SEEN = 0.15  #: of the robot's size, to which bending is enlarged at first
Progress = Callable[[float], None]
Makers = Mapping[str, Callable[[str | None, Progress], Motion | Replay]]
#: by name; of a payload


class MotionPanel:
    """Plays a motion on a stage."""

    def __init__(
        self, stage: Stage, messages: Messages, makers: Makers, payload: str | None
    ) -> None:
        """Built where the current container of the server is; plots have a panel of their own."""
        self._stage, self._messages, self._makers = stage, messages, makers
        self._shown: Played | None = None
        self._carried: str | None = None  #: the payload with which it was computed
        self._plots: list[Plot] = []
        self._time, self._next = 0.0, 0.0
        gui = stage.server.gui
        names, loads = tuple(makers), (_NOTHING, *stage.robot.payloads)
        self._kind = gui.add_dropdown("motion", names)
        first = payload if payload in loads else _NOTHING
        self._load = gui.add_dropdown("payload", loads, initial_value=first)
        self._compute = gui.add_button("compute")
        self._compute.on_click(lambda _: messages.aside(self.load))
        self._play = gui.add_button("play", disabled=True)
        self._play.on_click(lambda _: stage.ask(self._toggle))
        self._slider = gui.add_slider("time [s]", 0.0, 1.0, 0.001, 0.0, disabled=True)
        self._slider.on_update(self._seek)
        self._speed = gui.add_slider("speed", 0.05, 10.0, 0.05, 1.0)
        self._enlarged = gui.add_slider("exaggeration", 1.0, 200.0, 1.0, 20.0, visible=False)
        self._bend = gui.add_button("bend the links along it", visible=False)
        self._bend.on_click(lambda _: messages.aside(self._bend_links))
        self._text = gui.add_markdown("")
        self._legend = gui.add_html("", visible=False)
        panel = gui.add_panel()
        self._beside = panel.add_tab("what it takes")
        with self._beside:
            self._hint = gui.add_markdown("Torques and loads of a motion, once it is computed.")
        panel.dock_right()
        panel.set_width(390)
        stage.stopped.append(self._paused)

    # What is played

    def load(self) -> None:
        """Compute the motion that is chosen, and show its start."""
        name = str(self._kind.value)
        payload = None if self._load.value == _NOTHING else str(self._load.value)
        beyond = ""
        with self._messages.working(f"computing {name}", self._compute):
            stage = self._stage
            made = self._makers[name](payload, self._messages.progress(f"computing {name}"))
            self._messages.say("*computing torques and loads ...*")
            shown = play(stage.robot, stage.mechanism, made, payload, name)
            beyond = self._beyond(shown)
            stage.ask(lambda: self._present(shown, payload))
        if beyond:
            self._messages.say(f"**Beyond the limits of the robot file: {beyond}**")

    def _beyond(self, shown: Played) -> str:
        """Where the motion leaves what the file allows."""
        try:
            check_motion(self._stage.mechanism, self._stage.robot.limits, shown.motion)
        except OutOfReach as error:
            return str(error)
        return ""

    def _present(self, shown: Played, payload: str | None) -> None:
        stage = self._stage
        stage.stop()
        self._shown, self._carried, self._time = shown, payload, 0.0
        self._slider.max, self._slider.value = round(shown.duration, 3), 0.0
        self._slider.disabled = self._play.disabled = False
        bends = bending(stage.robot) is not None
        self._bend.visible, self._enlarged.visible = bends, False
        for plot in self._plots:
            plot.handle.remove()
        with self._beside:
            self._plots = plots_of(stage.server, stage.robot, stage.mechanism, shown)
        self._hint.content = f"*{shown.title}, {shown.duration:.3g} s.* {shown.why_not}"
        most = shown.strongest(stage.robot)
        self._legend.visible = shown.tensions(0) is not None
        self._legend.content = _legend(most, stage.robot.limits.rod_force is not None)
        self._draw(now=True)

    def _bend_links(self) -> None:
        """Compute how links bend along the motion."""
        shown = self._shown
        if shown is None:
            return
        with self._messages.working("computing how the links bend", self._bend):
            told = self._messages.progress("computing how the links bend")
            found = bent(self._stage.robot, shown, self._carried, told)
            self._stage.ask(lambda: self._show_bent(shown, found))

    def _show_bent(self, straight: Played, found: Played) -> None:
        """Take the bending over, unless another motion is shown by now."""
        if self._shown is not straight or found.bending is None:
            return
        self._shown = found
        most = max(float(np.abs(found.bending.moved).max()), 1e-9)
        fits = float(np.clip(_SEEN * self._stage.scene.size / most, 1.0, 200.0))
        self._enlarged.value = round(fits)
        self._enlarged.visible, self._bend.visible = True, False
        self._draw(now=True)

    # Playing

    def tick(self, passed: float) -> None:
        """Go on by `passed` seconds of the clock, and begin again at the end."""
        if self._shown is None:
            return
        self._time = (self._time + passed * float(self._speed.value)) % self._shown.duration
        self._draw()

    def _toggle(self) -> None:
        if self._stage.act is self:
            self._stage.act = None
            self._paused()
        elif self._shown is not None:
            self._stage.stop()
            self._stage.reason = ""
            self._stage.act = self
            self._play.label = "pause"

    def _paused(self) -> None:
        self._play.label = "play"

    def _seek(self, event: GuiEvent) -> None:
        """To where the slider was put, unless it was this panel that did."""
        if event.client_id is None or self._shown is None:
            return
        self._time = float(self._slider.value)
        if self._stage.act is not self:
            self._stage.ask(self._stand)

    def _stand(self) -> None:
        """Show the time, and end what else plays."""
        self._stage.stop()
        self._stage.reason = ""
        self._draw(now=True)

    def _draw(self, now: bool = False) -> None:
        """The picture of the time; plots and texts less often."""
        shown, stage = self._shown, self._stage
        if shown is None:
            return
        k = shown.at(self._time)
        tensions = shown.tensions(k)
        if tensions is not None:
            most = shown.strongest(stage.robot)
            stage.scene.shade({name: force / most for name, force in tensions.items()})
        if shown.bending is None:
            stage.show(shown.x[k], shown.frames[k])
        else:
            enlarged = float(self._enlarged.value)
            stage.show_bent(shown.x[k], shown.frames[k], shown.bending, k, enlarged)
        if now or time.monotonic() > self._next:
            self._next = time.monotonic() + _PERIOD
            self._write(k)

    def _write(self, k: int) -> None:
        shown = self._shown
        assert shown is not None
        self._slider.value = round(float(shown.t[k]), 3)
        for plot in self._plots:
            plot.mark(float(shown.t[k]))
        found = shown.binding(k)
        text = ""
        if found is not None:
            limit, use = found
            text = f"most used now: **{limit.label}**, {100 * use:.0f} %"
        if shown.demands is not None and shown.demands.limits:
            worst = shown.demands.limits[0]
            most = f"{100 * worst.use:.0f} % at {worst.time:.3f} s"
            text += f"\n\nof all: **{worst.limit.label}**, {most}"
        self._text.content = text


def _legend(most: float, limit: bool) -> str:
    """Colours of rods and struts, with numbers."""
    stops = ", ".join(f"rgb{load_colour(part / 4)}" for part in range(-4, 5))
    word = "limit of the file" if limit else "most along the motion"
    return (
        "<div style='font-size:0.8em; margin:0 1em 0.5em 1em'>tension [N]"
        f"<div style='height:0.7em; background:linear-gradient(to right, {stops})'></div>"
        f"<div style='display:flex; justify-content:space-between'><span>-{most:.5g}</span>"
        f"<span>0</span><span>{most:.5g}, {word}</span></div></div>"
    )
