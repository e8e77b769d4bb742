"""Linkages in the plane xy, out of bodies in space: hinges that are parallel are redundant."""

import equinox as eqx
import numpy as np

from triskele.multibody import GROUND, Body, Joint, accelerations, system

G = 9.81
DOWN = (0.0, -G, 0.0)
accelerated = eqx.filter_jit(accelerations)  # one for all tests: compiled once for each system


def flat(name, m, inertia, centre, at, angle):
    """A body with its frame at `at`, turned by `angle`; `inertia` is about the centre of mass."""
    (x, y), (s, c) = centre, (np.sin(angle), np.cos(angle))
    about = inertia + m * np.array([y * y, x * x, x * x + y * y])
    pose = np.array([[c, -s, 0, at[0]], [s, c, 0, at[1]], [0, 0, 1, 0]], float)
    return Body(name, (m, m * x, m * y, 0.0, *about, -m * x * y, 0.0, 0.0), pose)


def rod(name, m, start, end):
    """A uniform rod, its frame at `start`, its x axis towards `end`."""
    way = np.subtract(end, start)
    length, angle = np.hypot(*way), np.arctan2(way[1], way[0])
    return flat(name, m, m * length**2 / 12, (length / 2, 0.0), start, angle)


def below(angle):
    """The direction at `angle` from straight down."""
    return np.array([np.sin(angle), -np.cos(angle)])


def double_pendulum(masses, lengths, angles):
    """Two rods, hanging at `angles` from straight down."""
    knee = lengths[0] * below(angles[0])
    foot = knee + lengths[1] * below(angles[1])
    bodies = [rod("upper", masses[0], (0.0, 0.0), knee), rod("lower", masses[1], knee, foot)]
    joints = [
        Joint("shoulder", "revolute", GROUND, "upper"),
        Joint("knee", "revolute", "upper", "lower", point=(lengths[0], 0.0, 0.0)),
    ]
    return system("double pendulum", bodies, joints, gravity=DOWN, size=1.0)


def pendulum_accelerations(masses, lengths, angles, rates):
    """Of the two angles, from the textbook."""
    (m1, m2), (l1, l2), (a, b), (ad, bd) = masses, lengths, angles, rates
    couple = m2 * l1 * l2 / 2
    M = [
        [m1 * l1**2 / 3 + m2 * l1**2, couple * np.cos(a - b)],
        [couple * np.cos(a - b), m2 * l2**2 / 3],
    ]
    f = [
        -couple * np.sin(a - b) * bd**2 - (m1 / 2 + m2) * G * l1 * np.sin(a),
        couple * np.sin(a - b) * ad**2 - m2 / 2 * G * l2 * np.sin(b),
    ]
    return np.linalg.solve(M, f)


FOUR_BAR_MASSES = (1.0, 2.0, 1.5)


def four_bar_points(s):
    """The four joints (N, 4, 3) of the four-bar linkage, at N angles of its crank.

    Bars of 0.3, 0.8 and 0.6 m on a base of 0.7 m: the crank can turn all around.
    """
    crank, foot = 0.3 * np.array([np.cos(s), np.sin(s)]), np.array([[0.7], [0.0]]) + 0 * s
    way = foot - crank
    square = np.sum(way * way, axis=0)
    along = (square + 0.8**2 - 0.6**2) / (2 * square)
    across = np.sqrt(0.8**2 / square - along**2) * np.array([-way[1], way[0]])
    flat = np.array([0 * crank, crank, crank + along * way + across, foot])
    return np.append(flat, 0 * flat[:, :1], axis=1).transpose(2, 0, 1)


def four_bar(angle, loose=0.0):
    """Its bodies with the crank at `angle`, each put down by `loose` [m] off its place."""
    ends = four_bar_points(np.array([angle]))[0, :, :2]
    bodies = []
    for k, name in enumerate(("crank", "coupler", "rocker")):
        exact = rod(name, FOUR_BAR_MASSES[k], ends[k], ends[k + 1])
        bodies.append(exact._replace(pose=exact.pose + loose * (k + 1) * np.eye(3, 4, 3)))
    joints = [
        Joint("motor", "revolute", GROUND, "crank"),
        Joint("pin", "revolute", "crank", "coupler", point=(0.3, 0.0, 0.0)),
        Joint("wrist", "revolute", "coupler", "rocker", point=(0.8, 0.0, 0.0)),
        Joint("foot", "revolute", "rocker", GROUND, (0.6, 0.0, 0.0), (0.7, 0.0, 0.0)),
    ]
    return system("four-bar", bodies, joints, gravity=DOWN, size=1.0)
