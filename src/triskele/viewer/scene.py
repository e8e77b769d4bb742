"""The robot as nodes of a scene: one frame per body, and under it the shapes of the body.

A robot moves by its frames. Where links bend, bent tubes take the place of the straight ones.
"""

from collections.abc import Mapping

import numpy as np
import viser
import viser.transforms as vtf
from jaxtyping import Float
from viser import FrameHandle, MeshHandle, ViserServer

from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.solids import BASE, Bar, colours, looks, solids
from triskele.viewer.meshes import mesh, tube

Frames = Float[np.ndarray, "bodies 3 4"]  #: [R p] of the base and of each body
_SHADES = 40  #: of loads, between the colours below
_PULL, _PUSH, _NONE = np.array([(185, 28, 28), (29, 78, 216), (203, 213, 225)], float)
STEEL, FLEXURE = (71, 85, 105), (13, 148, 136)  #: colours of joints
_BESIDE = ("connector", "inner")  #: looks of bodies that bent links leave behind


class Scene:
    """Nodes of a robot on a server."""

    def __init__(
        self,
        server: ViserServer,
        mechanism: AbstractMechanism,
        radii: Mapping[str, float],
        joints: tuple[int, int, int] = STEEL,
    ) -> None:
        """Shapes are sent once, `joints` in a colour of their own; then only frames move."""
        self.server = server
        self.size = float(np.asarray(mechanism.size))
        self.bodies = (BASE, *mechanism.bodies)
        self.struts = strut_bodies(mechanism)  #: what loads colour
        self._colour = {body: rgb(colour) for body, colour in colours(mechanism).items()}
        self._beside = [body for body, look in looks(mechanism).items() if look in _BESIDE]
        self._frames: dict[str, FrameHandle] = {}
        self._shapes: dict[str, list[MeshHandle]] = {body: [] for body in self.bodies}
        self._radius: dict[str, float] = {}
        self._shade: dict[str, int] = {}
        self._bent: dict[str, MeshHandle] = {}
        for body in self.bodies:
            self._frames[body] = server.scene.add_frame(f"/robot/{body}", show_axes=False)
        self.solids = solids(mechanism, radii)
        for k, (body, shape, joint) in enumerate(self.solids):
            colour = joints if joint else self._colour[body]
            node = server.scene.add_mesh_simple(f"/robot/{body}/{k}", *mesh(shape), color=colour)
            if isinstance(shape, Bar) and not joint:
                self._radius.setdefault(body, shape.radius)
                self._shapes[body].append(node)

    def move(self, frames: Frames) -> None:
        """Put all bodies to `frames`."""
        turns = vtf.SO3.from_matrix(frames[:, :, :3]).wxyz
        for body, T, wxyz in zip(self.bodies, frames, turns, strict=True):
            handle = self._frames[body]
            handle.position, handle.wxyz = T[:, 3], wxyz

    def shade(self, loads: Mapping[str, float] | None) -> None:
        """Colour struts by `loads`, in parts of the most: red pulls, blue pushes; None: plain."""
        for strut, bodies in self.struts.items():
            load = None if loads is None else float(np.clip(loads.get(strut, 0.0), -1.0, 1.0))
            shade = _SHADES + 1 if load is None else round(_SHADES * load)
            if self._shade.get(strut) == shade:
                continue
            self._shade[strut] = shade
            for body in bodies:
                colour = self._colour[body] if load is None else load_colour(shade / _SHADES)
                for handle in (*self._shapes[body], *self._bent_of(body)):
                    handle.color = colour

    def bend(self, lines: Mapping[str, Float[np.ndarray, "points 3"]]) -> None:
        """Draw the links named as bent tubes along `lines` [m], in O."""
        for body, line in lines.items():
            bent = tube(line, self._radius[body])
            if body in self._bent:
                self._bent[body].vertices = bent.vertices.astype(np.float32)
                self._bent[body].visible = True
            else:
                self._bent[body] = self.server.scene.add_mesh_simple(
                    f"/bent/{body}", *bent, color=self._shapes[body][0].color
                )
        self._hide([*lines, *self._beside], True)

    def straighten(self) -> None:
        """Show the rigid robot."""
        for handle in self._bent.values():
            handle.visible = False
        self._hide(self.bodies, False)

    def _hide(self, bodies: tuple[str, ...] | list[str], hidden: bool) -> None:
        for body in bodies:
            if self._frames[body].visible is hidden:
                self._frames[body].visible = not hidden

    def _bent_of(self, body: str) -> list[MeshHandle]:
        return [self._bent[body]] if body in self._bent else []


def strut_bodies(mechanism: AbstractMechanism) -> dict[str, tuple[str, ...]]:
    """The bodies of each strut by the first of them; two if one slides in the other."""
    joints = mechanism.joints()
    ends = {joint.name: {joint.parent, joint.child} for joint in joints}
    slides = [{joint.parent, joint.child} for joint in joints if joint.kind == "prismatic"]
    found = {}
    for body, _, lower in mechanism.struts:
        other = (far for far in ends[lower] if {body, far} in slides)
        found[body] = (body, *other)
    return found


def rgb(colour: str) -> tuple[int, int, int]:
    """#rrggbb as numbers."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


def load_colour(load: float) -> tuple[int, int, int]:
    """Of a load from -1, blue, over 0, grey, to 1, red."""
    end = _PULL if load > 0 else _PUSH
    red, green, blue = (int(part) for part in np.rint(_NONE + abs(load) * (end - _NONE)))
    return red, green, blue


def light(server: viser.ViserServer) -> None:
    """Light from all sides, and z up."""
    server.scene.set_up_direction("+z")
    server.scene.configure_default_lights(enabled=True, cast_shadow=False)
