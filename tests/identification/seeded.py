"""Logs of robots with one thing wrong, and of robots without: a study of the verdict.

Efforts are made from the load of the links, the inertia of motors and a law of friction, here and
not in the code under test, so that motors may turn otherwise than joints, and friction may have a
law that no file has. `python tests/identification/seeded.py 200 200` prints the table.
"""

import re
import sys
import time
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import numpy as np
from scipy.interpolate import CubicSpline

from triskele.description.load import load
from triskele.description.schema import JointFriction, Payload, Weighed
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import TriskeleError
from triskele.identification.identify import identify
from triskele.identification.regressor import parameter_values
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.motion import fourier, resting
from triskele.kinematics.reach import slack
from triskele.numerics import tabulate

ROBOTS = ("omron_mini_delta", "abb_irb360_6_1600", "kossel_mini")
SIZES = {  # of the motion: amplitudes of the first harmonic, and where its middle is
    "omron_mini_delta": ((0.05, 0.05, 0.03), (0.0, 0.0, -0.36)),
    "abb_irb360_6_1600": ((0.18, 0.18, 0.07, 1.2), (0.0, 0.0, -1.0, 0.0)),
    "kossel_mini": ((0.04, 0.04, 0.04), None),
}
ADDED = {"omron_mini_delta": 0.25, "abb_irb360_6_1600": 2.0, "kossel_mini": 0.1}  # [kg]
NOISE = 0.015  # of the root mean square of each effort
PERIOD, RATE, HARMONICS = 4.0, 250, 8
KINDS = {
    "delay": r"^Delay",
    "gain": r"^Gain of drive {k}",
    "common gain": r"^Gain: |gain common to all drives cannot be told apart",
    "payload": r"^Payload: |payload never mentioned cannot be told apart",
    "stribeck": r"Stribeck",
    "curved friction": r"^Friction (does|differs|grows)",
    "elastic": r"^Elastic drives",
    "zero": r"^Zero of q{k}",
    "turned": r"sign",
    "held": r"rows of a log are held",
    "clipped": r"Efforts of drive {k} are clipped",
    "gear": r"^Gear ratio of drive {k}",
}


class Truth(NamedTuple):
    """A robot, its file, and how it moves."""

    robot: object  #: as it is
    file: object  #: as it is thought to be, weighed parts as they are
    motions: tuple  #: of fits, of the log with a mass added, and held out


@lru_cache(maxsize=8)
def truth(name, seed):
    """Numbers of the file are off by 10 %, masses from the scale are not."""
    random = np.random.default_rng([seed, 1])
    robot = load(name)
    if robot.friction is None:
        table = JointFriction(coulomb=(0.05, 0.06, 0.04), viscous=(0.01, 0.012, 0.011))
        from triskele.description.schema import Friction

        robot = robot.model_copy(update={"friction": Friction(drives=table)})
    parts = {}
    for part in ("arm", "rod", "carriage", "telescope_upper", "telescope_lower"):
        body = robot.body(part)
        if body is not None:
            ten = np.array(body.ten_parameters) * random.normal(1, 0.1)
            parts[part] = (body, ten)
    masses = {p: robot.body(p).mass for p in ("rod", "platform") if robot.body(p) is not None}
    file = robot.model_copy(update={"weighed": robot.weighed or Weighed(**masses)})
    return Truth(robot, with_bodies(file, parts), motions(robot, name, seed))


def with_bodies(robot, parts):
    """First moments and inertia as they are thought to be; masses as weighed."""
    from triskele.description.schema import Body

    bodies = {
        part: Body(
            mass=body.mass,
            first_moment=tuple(map(float, ten[1:4])),
            inertia_at_origin=tuple(map(float, ten[4:7])),
        )
        for part, (body, ten) in parts.items()
    }
    if isinstance(robot.bodies, dict):
        return robot.model_copy(update={"bodies": {**robot.bodies, **bodies}})
    return robot.model_copy(update={"bodies": robot.bodies.model_copy(update=bodies)})


def motions(robot, name, seed):
    """Four motions of harmonics, from rest, within reach."""
    mechanism = build(robot)
    size, middle = SIZES[name]
    middle = [float(v) for v in mechanism.home()] if middle is None else middle
    found = []
    for k in range(4):
        random = np.random.default_rng([seed, 2, k])
        rows = resting(
            *(
                random.normal(size=(2, HARMONICS, len(size)))
                * np.array(size)
                / np.arange(1, HARMONICS + 1)[:, None] ** 0.8
            )
        )
        names = mechanism.platform_coordinates
        options = {"period": PERIOD, "rate": RATE, "coordinates": names}
        law = tabulate(eqx.Partial(slack, mechanism, robot.limits, guaranteed=False))
        motion = fourier(middle, rows.sine, rows.cosine, **options)
        for smaller in 0.85 ** np.arange(20):
            motion = fourier(middle, smaller * rows.sine, smaller * rows.cosine, **options)
            if np.asarray(law(np.asarray(motion.x))).min() > 0.02:
                break
        found.append(motion)
    return tuple(found)


@lru_cache(maxsize=8)
def usual_effort(name):
    """Root mean square of each drive's efforts, along some motion."""
    robot = truth(name, 0).robot
    model, motion = rigid(robot), truth(name, 0).motions[0]
    states = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    tau = np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(*states), axis=-1)
    return np.sqrt(np.mean(tau**2, axis=0))


def noise(robot):
    """Of a robot's amplifiers, whatever it does."""
    return NOISE * usual_effort(robot.name)


class Fault(NamedTuple):
    """What is wrong: the kind, at which drive, how large, from -1 or 0 to 1."""

    kind: str
    drive: int
    size: float


def log(robot, motion, fault, seed, payload=0.0, name="log.csv"):
    """One log of a robot, with a fault or None."""
    random = np.random.default_rng(seed)
    carried = payload
    kind = "" if fault is None else fault.kind
    size, k = (0.0, 0) if fault is None else (fault.size, fault.drive)
    if kind == "payload":
        carried += (0.3 + 0.7 * abs(size)) * robot.body("platform").mass
    model = rigid(robot, Payload(mass=carried) if carried else None)
    laws, rotors = model.drive_friction, np.asarray(model.rotors, float)
    still = eqx.tree_at(
        lambda r: (r.drive_friction, r.rotors),
        model,
        ((None,) * len(laws), np.zeros(len(rotors))),
        is_leaf=lambda leaf: leaf is None,
    )
    states = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    load = np.stack(tabulate(eqx.Partial(inverse_dynamics, still))(*states), axis=-1)
    joints = joint_motion_along(model.mechanism, motion)
    q, qd, qdd = (np.asarray(part) for part in (joints.q, joints.qd, joints.qdd))
    t = np.asarray(motion.t)
    if kind == "elastic":
        f = 2 * np.pi * (8 + 20 * abs(size))
        compliance = qdd.std(axis=0) / (f**2 * load.std(axis=0))
        compliance[3:] = 0.0  # a telescope carries next to nothing
        bent = CubicSpline(t, load * compliance)
        q, qd, qdd = q + bent(t), qd + bent(t, 1), qdd + bent(t, 2)
    tau = load + rotors * qdd + friction(laws, qd, kind, size)
    if kind == "delay":
        late = 0.002 + 0.008 * abs(size)
        tau = CubicSpline(t, tau)(np.clip(t - late, 0, None))
    tau = tau + random.normal(size=tau.shape) * noise(robot)
    step = np.sign(size) * (0.05 + 0.15 * abs(size))
    if kind == "gain":
        tau[:, k] *= 1 + step
    if kind == "common gain":
        tau *= 1 + step
    if kind == "gear":
        ratio = 1 + step / 2
        q = np.where(np.arange(q.shape[1]) == k, q / ratio, q)
        tau[:, k] *= ratio
    if kind == "zero":
        unit = model.mechanism.joint_coordinates[k].unit
        off = np.radians(0.5 + 2.5 * abs(size)) if unit == "rad" else 2e-3 + 8e-3 * abs(size)
        q = q + np.sign(size) * off * (np.arange(q.shape[1]) == k)
    if kind == "turned":
        q = np.where(np.arange(q.shape[1]) == k, -q, q)
    if kind == "held":
        q, tau = held(q, tau, random, 0.05 + 0.1 * abs(size))
    if kind == "clipped":
        most = (0.6 + 0.25 * abs(size)) * np.abs(tau[:, k]).max()
        tau[:, k] = np.clip(tau[:, k], -most, most)
    columns = {"t": ("s", t)}
    for i, coordinate in enumerate(model.mechanism.joint_coordinates):
        columns[f"q{i + 1}"] = (coordinate.unit, q[:, i])
        columns[f"tau{i + 1}"] = ("N m" if coordinate.unit == "rad" else "N", tau[:, i])
    return Table(columns, name)


def friction(laws, qd, kind, size):
    """Of all drives."""
    found = []
    for law, w in zip(laws, qd.T, strict=True):
        usual = np.sqrt(np.mean(w**2))
        dry, wet = float(law.coulomb), float(law.viscous)
        effort = dry * np.tanh(w / float(law.smoothing_speed)) + wet * w
        if law.saturating is not None:
            effort += float(law.saturating) * np.tanh(w / float(law.saturating_speed))
        if kind == "stribeck":
            fading = np.exp(-((w / ((0.05 + 0.25 * abs(size)) * usual)) ** 2))
            effort += (
                (0.4 + 0.6 * abs(size)) * dry * fading * np.tanh(w / float(law.smoothing_speed))
            )
        if kind == "curved friction":
            effort += (0.3 + 0.7 * abs(size)) * (dry + wet * usual) * np.tanh(2 * w / usual)
            effort -= (0.3 + 0.7 * abs(size)) * (dry + wet * usual) * 0.7 * w / usual
        found.append(effort)
    return np.stack(found, axis=1)


def held(q, tau, random, share):
    """A bus that sticks for two to six rows, now and then."""
    q, tau, row = q.copy(), tau.copy(), 5
    while row < len(q) - 10:
        length = int(random.integers(1, 6))
        if random.uniform() < share / 3:
            q[row + 1 : row + 1 + length] = q[row]
            tau[row + 1 : row + 1 + length] = tau[row]
            row += length
        row += 1
    return q, tau


class Outcome(NamedTuple):
    """What the verdict made of one robot."""

    robot: str
    fault: Fault | None
    usable: bool
    refused: bool
    first: bool  #: the first sentence names the fault
    named: bool  #: some sentence does
    furthest: float  #: deviations of the base parameter that is worst; inf where there was no fit
    inside: tuple[bool, ...]  #: base parameters in their intervals of 95 %
    sentences: tuple[str, ...]
    seconds: float


def outcome(name, seed, fault=None, anchored=True, held_out=True):
    """One robot identified: two logs fitted, one with a mass added, one held out."""
    known = truth(name, seed)
    one, two, three, four = known.motions
    start = time.process_time()
    logs = [
        log(known.robot, m, fault, [seed, 3, i], name=f"{i}.csv") for i, m in enumerate((one, two))
    ]
    heavy = (
        [log(known.robot, three, fault, [seed, 4], ADDED[name], "heavy.csv")] if anchored else []
    )
    kept = [log(known.robot, four, fault, [seed, 5], name="kept.csv")] if held_out else []
    added = Payload(mass=ADDED[name]) if anchored else None
    try:
        found = identify(known.file, logs, kept, loaded=heavy, added=added)
    except TriskeleError as error:
        said = (str(error),)
        return Outcome(
            *(name, fault, False, True, matches(fault, said[:1]), matches(fault, said)),
            *(float("inf"), (), said, time.process_time() - start),
        )
    verdict = found.verdict
    base = found.base.base
    true = base.read @ parameter_values(rigid(known.robot), base.parameters)
    off = np.array([p.value for p in verdict.parameters]) - true
    far = np.abs(off) / np.array([p.deviation for p in verdict.parameters])
    said = verdict.recommendation[1:]
    return Outcome(
        *(name, fault, verdict.usable, verdict.refused),
        *(matches(fault, said[:1]), matches(fault, said)),
        *(float(far.max()), tuple(far < 1.96), said, time.process_time() - start),
    )


def matches(fault, sentences):
    """Whether a sentence names the fault, and its drive."""
    if fault is None:
        return False
    pattern = KINDS[fault.kind].format(k=fault.drive + 1)
    texts = [re.sub(r"^(Or, nearly as well: )", "", text) for text in sentences]
    return any(re.search(pattern, text) for text in texts)


def drawn(number):
    """The robot and the fault of this number; each kind and robot in its turn."""
    random = np.random.default_rng([number, 7])
    kinds = list(KINDS)
    name = ROBOTS[(number // len(kinds)) % len(ROBOTS)]
    drives = len(build(load(name)).joint_coordinates)
    size = float(random.uniform(0, 1) * random.choice([-1, 1]))
    return name, Fault(kinds[number % len(kinds)], int(random.integers(min(drives, 3))), size)


def report(faulty, clean, progress=lambda outcome: None):
    """The table, as lines."""
    found, good = [], []
    for i in range(faulty):
        name, fault = drawn(i)
        found.append(outcome(name, i, fault))
        progress(found[-1])
    for i in range(clean):
        good.append(outcome(ROBOTS[i % len(ROBOTS)], 1000 + i))
        progress(good[-1])
    return table(found, good)


def table(found, good):
    """Kinds, and the numbers that must be reached."""
    lines = [f"{'kind':17}{'logs':>5}{'biased':>8}{'use it':>8}{'named':>7}{'first':>7}"]
    for kind in KINDS:
        some = [o for o in found if o.fault.kind == kind]
        if some:
            biased = [o for o in some if o.furthest > 3]
            numbers = (len(some), len(biased), sum(o.usable for o in biased))
            numbers += (sum(o.named for o in some), sum(o.first for o in some))
            lines.append(
                f"{kind:17}"
                + "".join(f"{n:{w}}" for n, w in zip(numbers, (5, 8, 8, 7, 7), strict=True))
            )
    biased = [o for o in found if o.furthest > 3]
    if biased:
        kept = np.mean([not o.usable for o in biased])
        lines.append(f"biased by over 3 deviations, and not called usable: {100 * kept:.1f} %")
        lines.append(f"named, of these: {100 * np.mean([o.named for o in biased]):.1f} %")
        lines.append(f"named, of all: {100 * np.mean([o.named for o in found]):.1f} %")
    for name in ROBOTS:
        own = [o for o in good if o.robot == name]
        if own:
            inside = np.concatenate([o.inside for o in own if o.inside])
            refused, used = np.mean([o.refused for o in own]), np.mean([o.usable for o in own])
            lines.append(
                f"{name}: {len(own)} clean, refused {100 * refused:.1f} %, usable {100 * used:.1f} "
                f"%, in their intervals {100 * inside.mean():.1f} %"
            )
    if good:
        lines.append(f"clean, refused: {100 * np.mean([o.refused for o in good]):.1f} %")
    return lines


if __name__ == "__main__":
    print("\n".join(report(int(sys.argv[1]), int(sys.argv[2]))))
