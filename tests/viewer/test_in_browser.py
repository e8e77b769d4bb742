"""The viewer in a real browser: it loads, is dragged, plays, bends, and says what it does.

Screenshots are kept in out/viewer.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from browsing import PATIENCE, SHOTS, WIDE, changed, drag, on_screen, pixels, slide, until

pytestmark = pytest.mark.long  # two minutes, of which the software renderer takes most


@pytest.fixture(scope="module")
def page(browser, viewer):
    """The page, loaded; errors in its console fail the test that uses it last."""
    errors = []
    opened = browser.new_page(viewport=WIDE)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    outside = []
    opened.on("request", lambda asked: outside.append(asked.url))
    opened.goto(viewer.address)
    until(lambda: len(viewer.server.get_clients()) == 1, "a client connects")
    opened.get_by_role("tab", name="pose").wait_for(timeout=1000 * PATIENCE)
    note = opened.locator(".mantine-Notification-root button").first  # on slow drawing
    if opened.get_by_text("Software WebGL").count():
        note.click()
    yield opened
    own = (viewer.address, viewer.address.replace("http", "ws"), "data:", "blob:")
    opened.close()
    assert errors == []
    assert [url for url in outside if not url.startswith(own)] == []


def test_the_robot_is_drawn_and_its_numbers_are_shown(page, viewer):
    scene = pixels(page, "loaded")
    assert scene.std() > 5  # not blank
    blue = (scene[..., 2] > scene[..., 0] + 60).mean()
    orange = (scene[..., 0] > scene[..., 2] + 60).mean()
    assert blue > 2e-4 and orange > 2e-4  # arms, rods
    assert page.get_by_text("margin of type 2").is_visible()
    assert page.get_by_text("Flexible Delta of Kuo").first.is_visible()


def test_the_handle_drags_the_tool_and_the_border_stops_it_with_a_reason(page, viewer):
    stage = viewer.stage
    before, start = pixels(page), stage.x.copy()
    size = 0.22 * stage.scene.size
    grip = start + np.array([0.7 * size, 0, 0])
    hand = on_screen(viewer, page, grip)
    drag(page, hand, on_screen(viewer, page, grip + np.array([0.12, 0, 0])))
    until(lambda: stage.x[0] > start[0] + 0.05, "the tool follows", 20)
    assert np.abs(stage.x[1:] - start[1:]).max() < 1e-3  # along the arrow alone
    page.mouse.up()
    time.sleep(1)
    assert changed(before, pixels(page, "dragged")) > 1e-3
    grip = stage.x + np.array([0.7 * size, 0, 0])
    drag(
        page,
        on_screen(viewer, page, grip),
        on_screen(viewer, page, grip + np.array([1.5, 0, 0])),
        30,
    )
    until(lambda: stage.reason, "the border is felt", 20)
    time.sleep(2)
    page.screenshot(path=SHOTS / "border.png")
    assert stage.border.room(stage.x) > 0
    assert "would" in stage.reason  # a limit at the border; farther out a leg cannot reach
    assert page.get_by_text("The tool stops here").is_visible()
    page.mouse.up()


def test_a_number_that_is_typed_moves_the_tool(page, viewer):
    page.get_by_role("tab", name="pose").click()
    field = page.get_by_label("x [mm]")
    field.fill("")
    field.press_sequentially("50", delay=150)
    time.sleep(0.5)
    for tell in viewer.stage.moved:  # a read-out that comes late
        viewer.stage.ask(tell)
    time.sleep(0.5)
    assert field.input_value() == "50"
    page.get_by_role("button", name="go there").click()
    until(lambda: abs(viewer.stage.x[0] - 0.05) < 1e-6, "the tool goes there", 20)


def test_the_workspace_is_a_surface(page, viewer):
    before = pixels(page)
    page.get_by_role("checkbox", name="workspace").click()
    page.get_by_text("Workspace:").wait_for(timeout=1000 * PATIENCE)
    time.sleep(2)
    assert changed(before, pixels(page, "workspace")) > 0.05
    page.get_by_role("checkbox", name="workspace").click()
    time.sleep(1)
    assert changed(before, pixels(page)) < 0.01


def test_a_motion_plays_with_loads_and_a_slider_seeks(page, viewer):
    page.get_by_role("tab", name="motion").click()
    page.get_by_role("button", name="compute").click()
    play = page.get_by_role("button", name="play")
    play.wait_for()
    until(play.is_enabled, "the motion is computed")
    until(lambda: page.get_by_text("torque [N m]").count() == 1, "plots are drawn", 20)
    first = pixels(page)
    play.click()
    until(lambda: viewer.stage.act is viewer.motion, "it plays", 20)
    places = set()
    for _ in range(30):
        places.add(tuple(viewer.stage.x.round(4)))
        time.sleep(0.05)
    assert len(places) > 8
    assert changed(first, pixels(page, "playing")) > 1e-3
    page.get_by_role("button", name="pause").click()
    until(lambda: viewer.stage.act is None, "it stops", 20)
    assert page.get_by_text("most used now").is_visible()
    slide(page, 0.25)
    until(lambda: np.allclose(viewer.stage.x, [0, 0.08, -0.5], atol=0.01), "it seeks", 20)
    second = pixels(page)
    slide(page, 0.75)
    until(lambda: np.allclose(viewer.stage.x, [0, -0.08, -0.5], atol=0.01), "it seeks again", 20)
    time.sleep(0.5)
    assert changed(second, pixels(page, "sought")) > 1e-3


def test_a_mode_shape_is_animated(page, viewer):
    page.get_by_role("tab", name="modes").click()
    page.get_by_role("button", name="compute here").click()
    animate = page.get_by_role("button", name="animate")
    until(animate.is_enabled, "modes are computed")
    still = pixels(page)
    animate.click()
    until(lambda: viewer.stage.act is viewer.modes, "it swings", 20)
    most = 0.0
    for k in range(8):
        most = max(most, changed(still, pixels(page, "mode" if k == 3 else None)))
        time.sleep(0.1)
    assert most > 1e-3
    page.get_by_role("button", name="stop").click()
    until(lambda: viewer.stage.act is None, "it stops", 20)


def test_links_bend_along_a_motion(page, viewer):
    page.get_by_role("tab", name="motion").click()
    page.get_by_role("button", name="bend the links along it").click()
    until(lambda: page.get_by_text("exaggeration").is_visible(), "bending is computed")
    page.get_by_role("button", name="play").click()
    until(lambda: viewer.stage.act is viewer.motion, "it plays", 20)
    time.sleep(1)
    pixels(page, "bent")
    lines = viewer.stage.scene._bent
    assert set(lines) == {f"{part}_{i}" for part in ("arm", "rod") for i in (1, 2, 3)}
    page.get_by_role("button", name="pause").click()
    until(lambda: viewer.stage.act is None, "it stops", 20)


def grown(browser, seconds):
    """MB by which a viewer grows while a browser shows what it plays.

    It is a process of its own: in this one, memory that other tests have freed comes and goes.
    """
    command = [sys.executable, str(Path(__file__).with_name("playing.py")), "8092"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as server:
        page = browser.new_page(viewport=WIDE)
        page.goto(server.stdout.readline().strip())
        page.get_by_role("tab", name="motion").click()
        page.get_by_text("most used now").wait_for(timeout=1000 * PATIENCE)
        time.sleep(15)  # to warm up
        before = resident(server.pid)
        time.sleep(seconds)
        after = resident(server.pid)
        places = {place(server) for _ in range(20)}
        page.close()
        server.stdin.close()
    assert server.returncode == 0
    assert len(places) > 3  # it plays
    return after - before


def place(server):
    """Where the tool is, a moment later."""
    time.sleep(0.05)
    server.stdin.write("\n")
    server.stdin.flush()
    return server.stdout.readline()


def resident(process):
    """Memory of a process [MB]."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


def test_a_minute_of_playing_keeps_the_memory(browser):
    assert grown(browser, 60) < 5


@pytest.mark.slow
def test_ten_minutes_of_playing_keep_the_memory(browser):
    assert grown(browser, 600) < 5
