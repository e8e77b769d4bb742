"""The viewer: a server, one robot on it, panels, and the clock that draws."""

import contextlib
import io
import socket
import threading
import time

from viser import ViserServer

from triskele.description.schema import Robot
from triskele.errors import InputError
from triskele.kinematics.build import build
from triskele.viewer.modes_panel import ModesPanel
from triskele.viewer.motion_panel import Makers, MotionPanel
from triskele.viewer.panels import Messages
from triskele.viewer.pose_panel import PosePanel
from triskele.viewer.serving import LOOPBACK, guarded
from triskele.viewer.stage import Stage

_PICTURES = 30.0  #: per second


class Viewer:
    """A robot in the browser, until it is closed.

    `motions` are functions of a payload's name and of a progress, by the names to be offered.
    """

    def __init__(
        self,
        robot: Robot,
        motions: Makers,
        *,
        payload: str | None = None,
        host: str = LOOPBACK,
        port: int = 8080,
    ) -> None:
        """Serve at once; nothing is drawn before `run`."""
        _check_address(host, port)
        try:
            with guarded(host), contextlib.redirect_stdout(io.StringIO()):  # a banner
                self.server = ViserServer(host=host, port=port, label=robot.title, verbose=False)
        except OSError as error:
            raise InputError(f"Nothing can be served at {host}, port {port}: {error}.") from None
        self._closed = threading.Event()
        self.messages = Messages(self.server)
        try:
            self._furnish(robot, motions, payload)
        except BaseException:
            self.close()
            raise

    def _furnish(self, robot: Robot, motions: Makers, payload: str | None) -> None:
        gui = self.server.gui
        gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        self.stage = Stage(self.server, robot, build(robot))
        tabs = gui.add_tab_group()
        with tabs.add_tab("pose"):
            self.pose = PosePanel(self.stage, self.messages)
        with tabs.add_tab("motion"):
            self.motion = MotionPanel(self.stage, self.messages, motions, payload)
        with tabs.add_tab("modes"):
            self.modes = ModesPanel(self.stage, self.messages)
        gui.main_panel.dock_left()

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        host = self.server.get_host()
        name = "localhost" if host in ("0.0.0.0", LOOPBACK) else host
        return f"http://{name}:{self.server.get_port()}"

    def load_motion(self) -> None:
        """Begin to compute the motion that is chosen."""
        self.messages.aside(self.motion.load)

    @property
    def busy(self) -> bool:
        """Whether something is being computed; it cannot be interrupted."""
        return self.messages.busy

    def run(self) -> None:
        """Draw until closed."""
        last = time.monotonic()
        while not self._closed.wait(max(0.0, last + 1 / _PICTURES - time.monotonic())):
            now = time.monotonic()
            self._tick(now - last)
            last = now

    def _tick(self, passed: float) -> None:
        with self.messages.caught(), self.server.atomic():
            self.stage.tick(passed)
            return
        self.stage.act = None  # what fails once would fail at every picture

    def close(self) -> None:
        """Stop drawing and serving."""
        self._closed.set()
        self.messages.end()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


def _check_address(host: str, port: int) -> None:
    """Raise a sentence unless a server can be bound to `host`; the port may be taken."""
    try:
        with socket.create_server((host, 0)):
            return
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"Nothing can be served at {host}, port {port}: {why}.") from None
