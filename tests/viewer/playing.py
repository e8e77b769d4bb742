"""A viewer as a process of its own, which plays a motion ten times as fast from its first page on.

`python tests/viewer/playing.py PORT` prints its address, then moves, once per line that it reads.
"""

import sys
import threading
import time

from triskele.description.load import load
from triskele.kinematics.motion import circle
from triskele.viewer.view import Viewer


def serve(port: int) -> None:
    """Serve until standard input ends; a line asks for the pose now."""
    motions = {"circle": lambda payload, report: circle((0.0, 0.0, -0.5), 0.08, period=1.0)}
    viewer = Viewer(load("flexible_delta"), motions, port=port)
    threading.Thread(target=viewer.run, daemon=True).start()
    viewer.motion.load()
    while not viewer.motion._plots:
        time.sleep(0.05)
    viewer.motion._speed.value = 10.0
    viewer.stage.ask(viewer.motion._toggle)
    print(viewer.address, flush=True)
    for _ in sys.stdin:
        print(*viewer.stage.x.round(4), flush=True)
    viewer.close()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
