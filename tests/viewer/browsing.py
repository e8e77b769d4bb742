"""What tests of the viewer do with a page: wait, look, find, drag."""

import io
import time
from pathlib import Path

import numpy as np
from PIL import Image

SHOTS = Path(__file__).parents[2] / "out" / "viewer"  #: screenshots, to be looked at
PATIENCE = 120.0  #: [s] for something that compiles first
WIDE = {"width": 1400, "height": 850}


def until(condition, what, patience=PATIENCE):
    """Wait for `condition`; say `what` did not happen."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {patience:g} s"
        time.sleep(0.05)


def pixels(page, name=None):
    """The scene without panels, (rows, columns, 3)."""
    data = page.locator("canvas").first.screenshot()
    if name is not None:
        page.screenshot(path=SHOTS / f"{name}.png")
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), float)


def changed(first, second):
    """Part of the pixels that differ visibly."""
    return float((np.abs(first - second).max(axis=-1) > 24).mean())


def on_screen(viewer, page, point):
    """Where a point [m] is on the page [px]."""
    camera = next(iter(viewer.server.get_clients().values())).camera
    eye, ahead = np.array(camera.position), np.array(camera.look_at) - np.array(camera.position)
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, [0, 0, 1])
    right = right / np.linalg.norm(right)
    up = np.cross(right, ahead)
    box = page.locator("canvas").first.bounding_box()
    away = np.asarray(point) - eye
    scale = box["height"] / 2 / np.tan(camera.fov / 2) / (away @ ahead)
    return (
        box["x"] + box["width"] / 2 + scale * (away @ right),
        box["y"] + box["height"] / 2 - scale * (away @ up),
    )


def drag(page, start, end, steps=12):
    page.mouse.move(*start)
    page.mouse.down()
    for part in np.linspace(0, 1, steps + 1)[1:]:
        page.mouse.move(*(np.asarray(start) + part * (np.asarray(end) - np.asarray(start))))
        time.sleep(0.05)


def slide(page, part):
    """Put the first slider that is shown to a part of its way."""
    track = page.locator("[role=slider]:visible").first.locator("xpath=..").bounding_box()
    page.mouse.click(track["x"] + part * track["width"], track["y"] + track["height"] / 2)
