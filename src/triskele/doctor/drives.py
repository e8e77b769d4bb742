"""Rules on motors, gears, friction and control: each number against the loop that it belongs to.

Seen from the motor shaft, a rotor of inertia J with peak torque M accelerates at M / J. A velocity
loop with the gain k_P [A s/rad] and the torque constant k_t has the bandwidth

    w_v = k_P k_t / J,    J at least that of rotor and arm                              (1)

A position loop around it with the gain k_V [1/s] needs k_V < w_v, and k_V T < 1 with the sampling
time T.
"""

import math
from collections.abc import Iterator

import numpy as np

from triskele.description.schema import Motor
from triskele.doctor.case import Case
from triskele.laws.drives import Drive


def drive_remarks(case: Case) -> Iterator[str]:
    """Drive by drive, then the control that all of them share."""
    for drive in case.drives:
        if drive.motor is not None:
            for rule in (torques, currents, rotor, coupling, gear_and_speed, strength):
                yield from rule(drive.place, drive.motor, drive, case)
        yield from friction(drive, case)
        yield from rates(drive)
    for rule in (loops, periods, encoders):
        yield from rule(case)


def torques(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """The continuous torque of a motor is below its peak torque, and not far below."""
    peak, steady = motor.peak_torque, motor.continuous_torque
    if peak is None or steady is None:
        return
    if steady > peak:
        yield (
            f"{place}.continuous_torque: {steady:g} N m is above the peak_torque of {peak:g} N m. "
            "Are they exchanged?"
        )
    elif steady < peak / 30:
        yield f"{place}.continuous_torque: {steady:g} N m, a {peak / steady:.0f}th of peak_torque."


def currents(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """Torque constant times current is the peak torque, more or less."""
    if motor.torque_constant and motor.current_limit and motor.peak_torque:
        most = motor.torque_constant * motor.current_limit
        if not motor.peak_torque / 5 <= most <= 20 * motor.peak_torque:
            yield (
                f"{place}: torque_constant times current_limit is {most:.3g} N m, the peak_torque "
                f"{motor.peak_torque:g} N m."
            )


def rotor(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """A motor accelerates its own rotor at 1e3 to 1e6 rad/s^2, more or less."""
    J = motor.rotor_inertia
    if J and motor.peak_torque and not 200 <= motor.peak_torque / J <= 5e6:
        yield (
            f"{place}: {motor.peak_torque:g} N m accelerate a rotor of {J:g} kg m^2 at "
            f"{motor.peak_torque / J:.2g} rad/s^2; usual is 1e3 to 1e6. Which unit is wrong?"
        )
    scale = case.moving_mass * (1.0 if drive.sliding else case.size**2)
    if scale and drive.inertia > 2000 * scale:
        yield (
            f"{place}: rotor and gear count {drive.inertia:.2g} "
            f"{'kg' if drive.sliding else 'kg m^2'} at the joint, "
            f"{drive.inertia / scale:.0f} times all that it moves."
        )
    own = motor.load_inertia
    if J and own and not 1e-5 <= own / J <= 1e5:
        yield f"{place}: rotor_inertia and load_inertia differ by over a hundred thousand times."


def coupling(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """A coupling swings at 1 Hz to 8 kHz, damped by less than twice its critical damping."""
    k, c, own = motor.coupling_stiffness, motor.coupling_damping, motor.load_inertia
    back = motor.coupling_stiffness_reverse
    if k is None:
        if c:
            yield f"{place}.coupling_damping: has no effect without coupling_stiffness beside it."
        return
    if back is not None and not k / 20 <= back <= 20 * k:
        yield f"{place}.coupling_stiffness_reverse: {back:g} N m/rad beside {k:g} N m/rad forwards."
    J = own or motor.rotor_inertia
    if J is None:
        return
    w = math.sqrt(k / J)
    if not 5 <= w <= 5e4:
        yield f"{place}.coupling_stiffness: {J:g} kg m^2 would swing on it at {w / 6.283:.2g} Hz."
    if c > 4 * math.sqrt(k * J):
        yield (
            f"{place}.coupling_damping: {c / (2 * math.sqrt(k * J)):.3g} times critical damping; "
            "usual is 0.01 to 0.1."
        )


def gear_and_speed(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """The motor turns as fast as the joint may, and not a hundred times faster."""
    own, allowed = drive.motor_speed, drive.speed
    unit = "m/s" if drive.sliding else "rad/s"
    if own is not None and allowed is not None and not 0.02 <= allowed / own <= 1.2:
        less = "never comes to" if allowed > own else "could do far more than"
        yield (
            f"{place}: at its peak_speed the joint moves at {own:.3g} {unit} and {less} the "
            f"joint_speed of {allowed:.3g} {unit}. Is the gear ratio right?"
        )
    if motor.coulomb and motor.peak_torque and motor.coulomb > motor.peak_torque / 2:
        yield f"{place}.coulomb: {motor.coulomb:g} N m brake a motor of {motor.peak_torque:g} N m."
    gain = None if case.robot.control is None else case.robot.control.velocity_gain
    if gain and motor.torque_constant and motor.damping > 20 * gain * motor.torque_constant:
        yield f"{place}.damping: over twenty times velocity_gain times torque_constant."
    viscous = motor.damping * (motor.peak_speed or 0.0)
    if motor.peak_torque and viscous > 2 * motor.peak_torque:
        yield f"{place}.damping: takes {viscous:.3g} N m at peak_speed, over twice peak_torque."


def strength(place: str, motor: Motor, drive: Drive, case: Case) -> Iterator[str]:
    """The effort of a drive is of the order of the weight that it moves."""
    scale = case.weight * (1.0 if drive.sliding else case.size)
    own, unit = drive.peak_effort, "N" if drive.sliding else "N m"
    if own is None or not scale or drive.coordinate.drive != case.drives[0].coordinate.drive:
        return
    if own > 500 * scale:
        yield (
            f"{place}: {own:.3g} {unit} at the joint, to move {case.moving_mass:.3g} kg on "
            f"limbs of {case.size:.3g} m. Is the gear ratio right, and peak_torque at the "
            "shaft?"
        )
    elif own < 0.004 * scale:
        yield (
            f"{place}: {own:.3g} {unit} at the joint move hardly {case.moving_mass:.3g} kg on "
            f"limbs of {case.size:.3g} m."
        )
    elif drive.acceleration is not None and drive.inertia * drive.acceleration > 2 * own:
        yield (
            f"limits.joint_acceleration: {drive.name} needs "
            f"{drive.inertia * drive.acceleration:.3g} {unit} for rotor and gear alone; the motor "
            f"has {own:.3g} {unit}."
        )


def friction(drive: Drive, case: Case) -> Iterator[str]:
    """Friction leaves the motor something to move with."""
    law = drive.whole_friction
    if law is None:
        return
    unit = "N" if drive.sliding else "N m"
    key = f"friction of {drive.name}"
    dry = float(np.asarray(law.coulomb))
    fast = drive.speed or drive.motor_speed
    wet = float(np.asarray(law.viscous)) * (fast or 0.0)
    own = drive.peak_effort
    if own is not None:
        if dry > 0.6 * own:
            yield f"{key}: coulomb takes {dry:.3g} of the {own:.3g} {unit} that the motor has."
        if wet > 1.5 * own:
            yield (
                f"{key}: viscous takes {wet:.3g} {unit} at full speed; the motor has "
                f"{own:.3g} {unit}."
            )
        return
    scale = case.weight * (1.0 if drive.sliding else case.size)
    for word, value in (("coulomb", dry), ("viscous, at full speed,", wet)):
        if scale and value > 30 * scale:
            yield (
                f"{key}: {word} takes {value:.3g} {unit}, more than thirty times what "
                f"{case.moving_mass:.3g} kg weigh on limbs of {case.size:.3g} m."
            )
    smoothing = getattr(law, "smoothing_speed", None)
    if fast and smoothing is not None and float(np.asarray(smoothing)) > 0.3 * fast:
        yield f"{key}: smoothing_speed is a good part of the joint's speed of {fast:.3g}."


def rates(drive: Drive) -> Iterator[str]:
    """Speed, acceleration and jerk of a joint belong to the same machine: times of 1 ms to 10 s."""
    v, a, j = drive.speed, drive.acceleration, drive.jerk
    if v and a and not 1e-3 <= v / a <= 5:
        yield (
            f"limits: {drive.name} comes to its joint_speed in {v / a:.2g} s at "
            "joint_acceleration; usual is 0.01 to 1 s. Is a unit wrong?"
        )
    if a and j and not 3e-4 <= a / j <= 2:
        yield (
            f"limits: {drive.name} comes to its joint_acceleration in {a / j:.2g} s at joint_jerk; "
            "usual is 0.005 to 0.5 s. Is a unit wrong?"
        )
    own, rate = drive.peak_effort, drive.effort_rate
    if own and rate and not 0.5 <= rate / own <= 1e5:
        yield f"limits.torque_rate: {drive.name} has its peak effort after {own / rate:.2g} s."


def loops(case: Case) -> Iterator[str]:
    """A position loop is slower than the velocity loop in it, and both slower than sampling."""
    control = case.robot.control
    motor = case.drives[0].motor if case.drives else None
    if control is None:
        return
    k_V, k_P, k_I, T = (
        control.position_gain,
        control.velocity_gain,
        control.integral_gain,
        control.position_period,
    )
    if k_V and T and k_V * T > 0.7:
        yield (
            f"control: position_gain times position_period is {k_V * T:.2g}; a sampled loop is "
            "unstable above 2 and useful below 0.5."
        )
    if k_P and k_I and k_V and not k_V / 1000 < k_I / k_P:
        yield f"control.integral_gain: resets in {k_P / k_I:.2g} s, far slower than all else."
    w_v = None if motor is None else _velocity_bandwidth(motor, k_P, _arm_inertia(case))
    if w_v is None:
        return
    if k_V and k_V > w_v:
        yield (
            f"control: the position loop, {k_V:.3g} 1/s, is faster than the velocity loop in it, "
            f"{w_v:.3g} 1/s at most. Is velocity_gain at the motor, in A s/rad?"
        )
    if w_v > 3e4:
        yield f"control.velocity_gain: makes a velocity loop of {w_v:.2g} 1/s; usual is 300."
    if k_I and k_P and k_I / k_P > w_v:
        yield f"control.integral_gain: {k_I / k_P:.3g} 1/s over velocity_gain, above its loop."
    if control.velocity_period and w_v * control.velocity_period > 2:
        yield "control.velocity_period: too slow for the velocity loop, which would be unstable."


def _arm_inertia(case: Case) -> float:
    """That of an arm about the axis of its motor [kg m^2]; zero if no drive turns one."""
    arms = [solid for solid in case.solids if solid.rotor and solid.key == "bodies.arm"]
    return float(arms[0].ten[5]) if arms and not case.drives[0].sliding else 0.0


def _velocity_bandwidth(motor: Motor, gain: float | None, arm: float) -> float | None:
    """(1) with rotor and arm alone [1/s]: an upper bound; None if something is not stated."""
    J = (motor.rotor_inertia or 0.0) + (motor.load_inertia or 0.0)
    if motor.reflected_inertia and motor.gear_ratio:
        J += motor.reflected_inertia / motor.gear_ratio**2
    if motor.gear_ratio:
        J += arm / motor.gear_ratio**2
    if not gain or not motor.torque_constant or not J:
        return None
    return gain * motor.torque_constant / J


def periods(case: Case) -> Iterator[str]:
    """The inner loop and the encoders are not sampled more slowly than the outer loop."""
    control, encoders = case.robot.control, case.robot.encoders
    outer = None if control is None else control.position_period
    if control is None or outer is None:
        return
    if control.velocity_period is not None and control.velocity_period > outer:
        yield "control.velocity_period: longer than position_period, that of the outer loop."
    own = None if encoders is None else encoders.sampling_period
    if own is not None and not outer / 100 <= own <= 20 * outer:
        yield f"encoders.sampling_period: {own:g} s beside a position_period of {outer:g} s."


def encoders(case: Case) -> Iterator[str]:
    """An encoder counts more than fifty lines and fewer than atoms."""
    found = case.robot.encoders
    for key in ("motor_bits", "passive_bits"):
        bits = None if found is None else getattr(found, key)
        if bits is not None and not 6 <= bits <= 40:
            yield (
                f"encoders.{key}: {bits:g} bit count {2**bits:.3g} steps a turn; usual is 10 to "
                "26. Is it a number of lines?"
            )
