"""Sentences of a verdict on what is wrong, and what would tell."""

from collections.abc import Callable, Mapping, Sequence

from triskele.identification.examination import Finding


def named(finding: Finding) -> str:
    """What is wrong, how large it is, and what to do."""
    return _SENTENCES[finding.kind](finding)


def _size(finding: Finding, digits: int = 3, more: float = 0.0) -> str:
    """The value, counted from -`more`, and twice its deviation."""
    return f"{more + finding.values[0]:.{digits}g} +- {2 * finding.deviations[0]:.1g}"


def _drive(finding: Finding) -> str:
    return str(finding.drives[0] + 1)


def _listed(values: Sequence[float], digits: int = 3) -> str:
    return ", ".join(f"{value:.{digits}g}" for value in values)


def _delay(f: Finding) -> str:
    late = "late" if f.values[0] > 0 else "early"
    size = f"{abs(1e3 * f.values[0]):.3g} +- {2e3 * f.deviations[0]:.1g} ms"
    return (
        f"Delay: efforts are {late} by {size} against the angles; shift them, or record both with "
        "one clock."
    )


def _gain(f: Finding) -> str:
    return (
        f"Gain of drive {_drive(f)}: its efforts are {_size(f, more=1.0)} times what the "
        "others ask for; its torque constant or scale is wrong."
    )


def _common(f: Finding) -> str:
    return (
        f"Gain: efforts of all drives are {_size(f, more=1.0)} times what the mass added "
        "asks for; a torque constant or the scale of the log is wrong, or that mass."
    )


def _gear(f: Finding) -> str:
    return (
        f"Gear ratio of drive {_drive(f)}: its joint turns {_size(f, 4, more=1.0)} times as "
        "far as the log has it, and its efforts are smaller by that."
    )


def _zero(f: Finding) -> str:
    return (
        f"Zero of q{_drive(f)}: its encoder reads too much by {_size(f)} (rad or m); set the zero "
        "anew, or correct the log."
    )


def _constant(f: Finding) -> str:
    return (
        f"Efforts have a constant part of {_listed(f.values)} (N m or N): torques at zero current, "
        "or friction that differs from one direction to the other."
    )


def _stribeck(f: Finding) -> str:
    return (
        f"Friction rises at low speed (Stribeck), by {_listed(f.values)} (N m or N), fading at "
        f"{_listed(f.scale)} (rad/s or m/s): state stribeck and stribeck_speed under [friction], "
        "and fit again."
    )


def _curved(f: Finding) -> str:
    return (
        "Friction does not grow with speed as Coulomb's and viscous do, by about "
        f"{_listed(f.values)} (N m or N) at the usual speed: state saturating and "
        "saturating_speed under [friction], or fit slow and fast motions apart."
    )


def _uneven(f: Finding) -> str:
    return (
        f"Friction differs between the two directions, by {_listed(f.values)} (N m or N) at the "
        "usual speed: no law of the file has that."
    )


def _load(f: Finding) -> str:
    return (
        f"Friction grows with the load, by {_listed([100 * v for v in f.values])} % of it: no law "
        "of the file has that; gears do."
    )


def _elastic(f: Finding) -> str:
    sure = [k for k, (v, s) in enumerate(zip(f.values, f.deviations, strict=True)) if v > 4 * s]
    found = [f"{k + 1}: {1 / f.values[k]:.3g}" for k in sure]
    stiffness = f" (stiffness of drive {', '.join(found)} N m/rad or N/m)" if found else ""
    return (
        f"Elastic drives{stiffness}: angles are those of motors, and joints do not follow them; "
        "record slower motions, or angles of the joints."
    )


def _mass(f: Finding) -> str:
    more = "more" if f.values[0] > 0 else "less"
    size = f"{abs(f.values[0]):.3g} +- {2 * f.deviations[0]:.1g} kg"
    return f"Payload: in {f.log} the flange carries {size} {more} than in the other logs."


def _unnamed(_: Finding) -> str:
    return (
        "Something else is not in the model, depending on angles, speeds or accelerations of the "
        "drives."
    )


_SENTENCES: Mapping[str, Callable[[Finding], str]] = {
    "delay": _delay,
    "gain": _gain,
    "common": _common,
    "gear": _gear,
    "zero": _zero,
    "constant": _constant,
    "stribeck": _stribeck,
    "curved": _curved,
    "uneven": _uneven,
    "load": _load,
    "elastic": _elastic,
    "mass": _mass,
    "unnamed": _unnamed,
}
