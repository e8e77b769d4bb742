"""Pinocchio builds each Delta as a tree from its lengths, and closes the loops itself.

Arms are revolute in the base, rods spherical in their arms, the platform translates. Motor
angles and the turns of the rods in their arms are ours. Pinocchio then finds where everything
is, and, from its own Jacobians, how fast it moves when one motor runs at unit speed and

    the lower ball of each rod stays on the platform                          3 rows per rod
    z of the rod stays perpendicular to y of the arm (a universal elbow)      1 row per rod
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from configurations import Numbers, Ours, robot

from triskele.description import catalogue
from triskele.description.load import load
from triskele.kinematics.delta import Delta

# Any: compiled, without types that a checker could read.
pin: Any = pytest.importorskip("pinocchio", reason="no Pinocchio here; `make validate` gets it")

pytestmark = pytest.mark.oracle

DELTAS = tuple(name for name in catalogue.names() if load(name).kind == "delta")
TOLERANCE = 1e-9  # m; m/s and rad/s per unit of motor speed


class Rod(NamedTuple):
    name: str
    arm: str
    tip: str  #: frame at its lower ball
    wrist: str  #: frame on the platform, where that ball belongs


class Tree(NamedTuple):
    model: Any  #: pin.Model
    rods: tuple[Rod, ...]


def build_tree(delta: Delta, *, longer: float = 0.0) -> Tree:
    """The tree; the first rod is `longer` [m] than in `delta`."""
    model, rods = pin.Model(), []
    platform = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "platform")
    spacing = 0.0 if delta.rod_spacing is None else float(delta.rod_spacing)
    ends = {"": 0.0} if delta.rod_spacing is None else {"a": -spacing / 2, "b": spacing / 2}
    lengths = (delta.base_radius, delta.platform_radius, delta.arm_length, delta.rod_length)
    for i in range(3):
        R, r, L, d = (float(length[i]) for length in lengths)
        turn = pin.utils.rotate("z", float(delta.azimuth[i]))
        motor = pin.SE3(turn, turn @ np.array([R, 0, 0]))
        arm = model.addJoint(0, pin.JointModelRY(), motor, f"arm_{i + 1}")
        for end, shift in ends.items():
            name = f"rod_{i + 1}{end}"
            elbow = pin.SE3(np.eye(3), np.array([L, shift, 0]))
            rod = model.addJoint(arm, pin.JointModelSpherical(), elbow, name)
            tip = np.array([d if rods else d + longer, 0, 0])
            add_frame(model, f"tip_{name}", rod, tip)
            add_frame(model, f"wrist_{name}", platform, turn @ np.array([r, shift, 0]))
            rods.append(Rod(name, f"arm_{i + 1}", f"tip_{name}", f"wrist_{name}"))
    return Tree(model, tuple(rods))


def add_frame(model: Any, name: str, joint: int, place: Numbers) -> None:
    model.addFrame(pin.Frame(name, joint, 0, pin.SE3(np.eye(3), place), pin.FrameType.OP_FRAME))


def coordinates(tree: Tree, ours: Ours) -> Numbers:
    """Pinocchio's q: our motor angles, the rods as they are turned in their arms, our x."""
    model = tree.model
    q = pin.neutral(model)
    values = {f"arm_{i + 1}": ours.q[i : i + 1] for i in range(3)} | {"platform": ours.x[:3]}
    for rod in tree.rods:
        turned = ours.frames[rod.arm][:, :3].T @ ours.frames[rod.name][:, :3]
        values[rod.name] = pin.Quaternion(turned).coeffs()
    for name, value in values.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value
    return q


def positions_off(tree: Tree, ours: Ours) -> tuple[float, float]:
    """Largest differences of frames [m, -], and of lower balls from their wrists [m]."""
    model, data = tree.model, tree.model.createData()
    pin.framesForwardKinematics(model, data, coordinates(tree, ours))
    frames = [
        data.oMi[model.getJointId(name)].homogeneous[:3] - ours.frames[name]
        for name in bodies(tree)
    ]
    gaps = [
        data.oMf[model.getFrameId(rod.tip)].translation
        - data.oMf[model.getFrameId(rod.wrist)].translation
        for rod in tree.rods
    ]
    return float(np.abs(frames).max()), float(np.abs(gaps).max())


def joint_velocities(tree: Tree, q: Numbers) -> tuple[Numbers, float]:
    """Pinocchio's joint velocities (nv, 3) per unit of motor speed, and what does not fit."""
    model, data = tree.model, tree.model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)

    def frame(name: str) -> Numbers:
        return pin.getFrameJacobian(
            model, data, model.getFrameId(name), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )

    def joint(name: str) -> tuple[Numbers, Numbers]:
        number = model.getJointId(name)
        J = pin.getJointJacobian(model, data, number, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        return J, data.oMi[number].rotation

    rows = []
    for rod in tree.rods:
        (J_arm, R_arm), (J_rod, R_rod) = joint(rod.arm), joint(rod.name)
        rows.append(frame(rod.tip)[:3] - frame(rod.wrist)[:3])
        rows.append(np.cross(R_arm[:, 1], R_rod[:, 2])[None] @ (J_rod[3:] - J_arm[3:]))
    motors = [model.joints[model.getJointId(f"arm_{i}")].idx_v for i in (1, 2, 3)]
    system = np.concatenate([np.eye(model.nv)[motors], *rows])
    given = np.eye(len(system), 3)
    velocities = np.asarray(np.linalg.lstsq(system, given, rcond=None)[0], float)
    return velocities, float(np.abs(system @ velocities - given).max())


def velocities_off(tree: Tree, ours: Ours) -> dict[str, float]:
    """Largest difference of the twist of each body, and of the equations for them."""
    model, data, q = tree.model, tree.model.createData(), coordinates(tree, ours)
    velocities, misfit = joint_velocities(tree, q)
    differences = {"equations": misfit}
    for name in bodies(tree):
        found = []
        for motor in range(3):
            pin.forwardKinematics(model, data, q, velocities[:, motor])
            frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            found.append(pin.getVelocity(model, data, model.getJointId(name), frame).vector)
        expected = ours.twists[name]
        still = np.abs(expected[:, 3:]).max(initial=0.0)  # motor 4 turns the flange alone
        differences[name] = float(max(np.abs(np.transpose(found) - expected[:, :3]).max(), still))
    return differences


def bodies(tree: Tree) -> tuple[str, ...]:
    """Names that joints of the tree and our bodies share; a joint's frame is its body's."""
    return tuple(tree.model.names)[1:]


def delta_robot(name: str) -> tuple[Delta, tuple[Ours, ...]]:
    mechanism, answers = robot(name)
    assert isinstance(mechanism, Delta)
    return mechanism, answers


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_finds_the_balls_of_our_rods_on_the_platform(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta)
    frames, gaps = np.max([positions_off(tree, ours) for ours in answers], axis=0)
    print(f"\n{name}: frames differ by {frames:.1e}, balls are off by {gaps:.1e} m")
    assert max(frames, gaps) < TOLERANCE, f"frames: {frames:.1e}, balls: {gaps:.1e} m"


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_moves_arms_rods_and_platform_as_we_do(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta)
    found = [velocities_off(tree, ours) for ours in answers]
    worst = {part: max(off[part] for off in found) for part in found[0]}
    part = max(worst, key=lambda key: worst[key])
    message = f"platform: {worst['platform']:.1e}; largest, {part}: {worst[part]:.1e}"
    print(f"\n{name}: velocities differ by (m/s, rad/s per unit of motor speed) {message}")
    assert worst[part] < TOLERANCE, message


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_notices_a_rod_that_is_a_millimetre_longer(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta, longer=1e-3)
    assert max(positions_off(tree, answers[1])) > 1e-4
    off = velocities_off(tree, answers[1])
    assert max(off.values()) > 1e-5, f"velocities: {off}"
