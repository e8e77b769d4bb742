"""A viewer, and a headless Chromium that looks at it."""

import os
import shutil
import threading

import pytest
from browsing import SHOTS

from triskele.description.load import load
from triskele.kinematics.motion import circle
from triskele.viewer.view import Viewer

FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "no Chromium here; `.ci/system` installs it on Debian (apt-get install chromium)"


@pytest.fixture(scope="session")
def browser():
    """Chromium without a GPU; TRISKELE_BROWSER=required makes its absence an error."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        assert os.environ.get("TRISKELE_BROWSER") != "required", MISSING
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def viewer():
    """The flexible Delta, which can bend, and a circle to play."""
    robot = load("flexible_delta")
    motions = {"circle": lambda payload, report: circle((0.0, 0.0, -0.5), 0.08, period=1.0)}
    shown = Viewer(robot, motions, port=8090)
    clock = threading.Thread(target=shown.run, daemon=True)
    clock.start()
    yield shown
    shown.close()
    clock.join(timeout=10)
    assert not clock.is_alive()
