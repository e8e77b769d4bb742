"""What exported C of one robot is compared with, for tests of one and of all robots."""

import numpy as np
from compiling import SANITIZED, Compiled

from triskele.description.load import load
from triskele.export.code import Exported
from triskele.export.golden import EXACT, States, scales
from triskele.kinematics.build import build
from triskele.programs.elementary import expanded
from triskele.programs.interpret import interpreted

MONITORED = 1e-2  #: margins for the monitor: xdd of given qdd grows with their third power
CHUNK = 50_000  #: states compared at once
GARBAGE = [0.0, -0.0, 1e-300, 1e-30, 1e6, -1e6, 1.0000001e6, 1e30, 1e300, np.inf, -np.inf, np.nan]


def compared(written: Exported, name: str, states: int, effort: str) -> dict[str, float]:
    """The largest error of each function inside; all else is asserted."""
    robot, folder = load(name), written.folder
    functions = [function for function, _ in written.functions]
    code = Compiled(folder, name, functions, options=(effort,))
    code.accepted_by("clang", "selftest.c")
    careful = Compiled(folder, name, functions, options=(effort, *SANITIZED))
    random, found = States(build(robot), seed=7), {}
    clear = States(build(robot), seed=8, least=MONITORED)
    for function in functions:
        chosen = clear if function.name == "monitor" else random
        found[function.name] = max(
            inside(function, chosen.inputs(function, min(states, CHUNK)), code)
            for _ in range(-(-states // CHUNK))
        )
        beyond(function, random, careful)
        nonsense(function, random.inputs(function, 300), careful)
    return found


def inside(function, rows: np.ndarray, code: Compiled) -> float:
    """The largest error at these states, as a part of the largest value of each output."""
    wanted = function.at(rows)
    status, values = code.of(function.name, rows)
    assert not status.any()
    count = wanted.shape[1]
    error = float((np.abs(values[:, :count] - wanted) / scales(function, wanted)).max())
    if error > EXACT:
        rounding(function, rows, values[:, :count], wanted)
    return error


def rounding(function, rows: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> None:
    """Next to a singularity: the code is no farther from the truth than the library is.

    Truth is the same program in 80 bits.
    """
    program = expanded(function.program)
    truth = np.stack(interpreted(program, rows.T, np.longdouble), axis=-1)
    sizes = scales(function, wanted)
    own, ours = (float((np.abs(part - truth) / sizes).max()) for part in (wanted, values))
    assert ours <= max(EXACT, 10 * own), f"{function.name}: {ours:.1e}, the library {own:.1e}"


def beyond(function, random: States, code: Compiled) -> None:
    """At and out of reach: finite, and the status is the sign of the library's margins."""
    far = random.beyond(function, 200)
    near, n = random.inputs(function, 200), len(function.inputs[0].ports)
    part = np.geomspace(1e-6, 1, 200)[:, None]
    far = np.concatenate([far, np.hstack([near[:, :n] + part * (far - near)[:, :n], near[:, n:]])])
    far = far[(np.abs(far) < 1e6).all(axis=1)]
    status, values = code.of(function.name, far)
    assert np.isfinite(values).all()
    margins = function.at(far)[:, -len(function.outputs[-1].ports) :]
    sure = np.abs(margins.min(axis=1)) > 1e-9
    searched = len(function.program) > 400 and function.inputs[0].name == "q"
    if not searched:  # Newton's method may end elsewhere with other rounding
        assert (status[sure] == (margins.min(axis=1) < 0)[sure]).all(), function.name


def nonsense(function, rows: np.ndarray, code: Compiled) -> None:
    """Whatever goes in, numbers come out."""
    random = np.random.default_rng(3)
    wild = rows.copy()
    chosen = random.random(wild.shape) < 0.3
    wild[chosen] = random.choice(GARBAGE, chosen.sum())
    wild[-1] = 0.0
    status, values = code.of(function.name, wild)
    assert np.isfinite(values).all()
    bad = ~(np.abs(wild) <= 1e6).all(axis=1)
    assert ((status == 2) == bad).all()
    count = sum(len(group.ports) for group in function.outputs[:-1])
    assert not values[bad, :count].any()
