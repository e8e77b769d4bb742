"""Modes, responses and bent robots as tables and arrays, units in the header."""

import io
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from triskele.description.files import write_whole
from triskele.description.tables import Table
from triskele.flexible.curves import curves, link_names
from triskele.flexible.response import Response, body_poses_along
from triskele.kinematics.mechanism import AbstractMechanism

_AXES = "xyz"


def response_table(response: Response) -> Table:
    """Columns t, x, y, z of the rigid motion, deviations dx ... rz, torques, stresses, middles.

    Middles are displacements of links at half length, `middles.Middles`.
    """
    motion = response.motion
    columns: dict[str, tuple[str, np.ndarray]] = {"t": ("s", response.t)}
    for (name, unit), values in zip(motion.coordinates, np.asarray(motion.x).T, strict=True):
        columns[name] = (unit, values)
    for k, axis in enumerate(_AXES):
        columns[f"d{axis}"] = ("m", response.position[:, k])
    for k, axis in enumerate(_AXES):
        columns[f"r{axis}"] = ("rad", response.rotation[:, k])
    for k in range(3):
        columns[f"tau{k + 1}"] = ("N m", response.torque[:, k])
    found = response.strains()
    for k, name in enumerate(found.names):
        columns[f"{name}_stress"] = ("Pa", found.stress[:, k])
    half = response.middles()
    for k, name in enumerate(half.names):
        for axis, part in zip("uvw", half.displacement[:, k].T, strict=True):
            columns[f"{name}_mid_{axis}"] = ("m", part)
        columns[f"{name}_mid_twist"] = ("rad", half.twist[:, k])
    return Table(columns, "response")


def frequencies_table(
    mechanism: AbstractMechanism,
    x: np.ndarray,
    frequencies: np.ndarray,
    t: np.ndarray | None = None,
) -> Table:
    """Columns x, y, z and f1, f2, ... [Hz], one row per pose; t first along a motion."""
    columns = {} if t is None else {"t": ("s", t)}
    for k, (name, unit) in enumerate(mechanism.platform_coordinates):
        columns[name] = (unit, x[:, k])
    for k in range(frequencies.shape[1]):
        columns[f"f{k + 1}"] = ("Hz", frequencies[:, k] / (2 * np.pi))
    return Table(columns, "frequencies")


def write_animation(
    response: Response, path: Path, *, rate: float = 50.0, enlarged: float = 1.0
) -> Path:
    """The bent robot in pictures, `rate` per second, as arrays in an .npz file.

    t [s], links (their names), points (pictures, links, points, 3) [m], platform (pictures, 3)
    [m] and rotation (pictures, 3) [rad], both with deviations `enlarged`.
    """
    t = response.t
    count = max(2, round((t[-1] - t[0]) * rate) + 1)
    wanted = np.linspace(t[0], t[-1], count)
    chosen = np.unique(np.rint(np.interp(wanted, t, np.arange(len(t)))).astype(int))
    robot = response.robot
    poses = body_poses_along(robot.mechanism, response.motion)
    picked = jax.tree.map(lambda leaf: jnp.asarray(leaf[chosen]), poses)
    points = curves(robot, picked, jnp.asarray(response.y[chosen]), enlarged)
    x = np.asarray(response.motion.x)[chosen, :3]
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        t=t[chosen],
        links=np.array(link_names(robot)),
        points=np.asarray(points),
        platform=x + enlarged * response.position[chosen],
        rotation=enlarged * response.rotation[chosen],
        enlarged=np.array(enlarged),
    )
    return write_whole(path, stream.getvalue())
