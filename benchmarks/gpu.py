"""Laws on a GPU, data on the device: `python -m benchmarks.gpu [--n 10000000] [--json]`.

Every kernel is compared with NumPy first, operation by operation, and with machine code to the
last bit; a difference above TOLERANCE of the largest value ends the program with 1. What is timed
is a later call of `torque_function(robot)`, `CudaSimulation` and `simulate_many`, from the call to
the results, wall time. Motions start beside a path, open loop, with the torques of that path.

Without a GPU there is nothing to measure: one sentence, exit 0. A GPU without NVRTC: exit 2.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console
from rich.table import Column, Table

from triskele.description.load import load
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.handle import torque_function
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.many import simulate_many
from triskele.dynamics.robot import rigid
from triskele.programs import cuda, device, native
from triskele.programs.cuda import CudaKernel, CudaSimulation
from triskele.programs.device import DeviceArray, DeviceError
from triskele.programs.interpret import interpreted
from triskele.programs.program import Program
from triskele.programs.simplify import simplified
from triskele.programs.trace import trace

ROBOTS = ("omron_mini_delta", "omron_mini_delta_platens", "abb_irb360_6_1600", "d3s_800",
          "flexible_delta", "compliant_3prs")  # fmt: skip
TIMED = ("abb_irb360_6_1600", "omron_mini_delta")
SIMULATED = "omron_mini_delta"
LAWS = {"inverse": inverse_dynamics, "forward": forward_dynamics}
TOLERANCE = 1e-12  #: of the largest value
STEPS = (100, 200)  #: of a simulated second
_CHECKED = 20_000  # states
_COMPARED = 100  # motions
_DRIFT = 1e-9  #: of simulated motions, of the largest value: differences grow along the motion
_SWING, _PHASE = np.array([0.03, 0.02, 0.015]), np.arange(3.0)  # [m], [rad]
_ROUND = 4 * np.pi  # [rad/s]
_BESIDE = 2e-4  # [m], [N m]

Numbers = np.ndarray


class Law(NamedTuple):
    """A law of one robot."""

    program: Program  #: its inputs are the numbers of the robot, and 3 n numbers
    numbers: tuple[float, ...]
    home: Numbers  #: platform coordinates [m, rad]

    def burned(self) -> Program:
        """The program with the robot's numbers as constants."""
        return simplified(self.program, dict(enumerate(self.numbers)))

    def states(self, n: int) -> tuple[Numbers, ...]:
        """Arguments of the law about home, each (n, m)."""
        rng = np.random.default_rng(n)
        reach = 0.1 * np.abs(self.home).max()
        x, xd, third = (w * rng.uniform(-1, 1, (n, len(self.home))) for w in (reach, 1.0, 10.0))
        return self.home + x, xd, third


class Check(NamedTuple):
    """A kernel against NumPy."""

    kernel: str
    worst: float  #: difference, of the largest value
    equal: float | None  #: share of the numbers that equal those of machine code, to the last bit
    registers: int
    spilled: int  #: bytes of a thread outside its registers
    compilation: float  #: tracing and simplifying apart [s]


class Rate(NamedTuple):
    """States per second."""

    kernel: str
    states: float


class Motions(NamedTuple):
    """A second of many motions."""

    call: str
    motions: int
    steps: int
    seconds: float
    step_error: float  #: largest, against half the step [m]


def law(name: str, which: str) -> Law:
    """A law of a shipped robot."""
    robot = rigid(load(name))
    leaves, tree = jax.tree.flatten(robot)
    zero = (0.0,) * len(robot.rotors)
    program = trace(
        lambda leaves, *state: LAWS[which](jax.tree.unflatten(tree, leaves), *state),
        (leaves, zero, zero, zero),
    )
    numbers = tuple(float(v) for leaf in leaves for v in np.ravel(np.asarray(leaf)))
    return Law(program, numbers, np.array([float(x) for x in robot.mechanism.home()]))


def wall_time(call: Callable[[], object], rounds: int) -> float:
    """Wall time of a call [s], median; others may use the processor, no one else the device."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def numpy_outputs(program: Program, arrays: tuple[Numbers, ...]) -> Numbers:
    """The outputs (N, k) of the oracle."""
    columns = [column for array in arrays for column in np.atleast_2d(array).T]
    return np.stack(interpreted(program, columns), axis=-1)


def checks() -> list[Check]:
    """Every law of every robot: numbers as constants, and as inputs that are the same for all."""
    found = []
    for name in ROBOTS:
        for which in LAWS:
            general = law(name, which)
            state = general.states(_CHECKED)
            fixed = general.burned()
            given = np.array(general.numbers)
            found.append(_check(f"{name}, {which}", fixed, state, 0))
            same = (given, *state)
            found.append(_check(f"{name}, {which}, numbers as inputs", general.program, same,
                                len(given)))  # fmt: skip
    return found


def _check(name: str, program: Program, arrays: tuple[Numbers, ...], uniform: int) -> Check:
    kernel, start = CudaKernel(program, range(uniform)), time.perf_counter()
    facts = kernel.kernel()
    compilation = time.perf_counter() - start
    found, expected = kernel.of_numpy(*arrays), numpy_outputs(program, arrays)
    worst = np.abs(found - expected).max() / np.abs(expected).max()
    if not worst <= TOLERANCE:
        raise ArithmeticError(f"{name}: off by {worst:.1e} of the largest value.")
    equal = None
    if native.available():
        machine = np.empty_like(found)
        code = native.Native(lambda: program, range(uniform))
        code.run(native.Table.of(arrays), native.Table.of([machine]), len(found))
        equal = float((machine == found).mean())
    return Check(name, float(worst), equal, facts.registers, facts.spilled, compilation)


def rates(n: int, rounds: int) -> list[Rate]:
    """Torques of `n` states: constants and numbers as inputs, JAX arrays, other forms of code."""
    found = []
    for name in TIMED:
        general = law(name, "inverse")
        state, fixed, given = general.states(n), general.burned(), np.array(general.numbers)
        there = [DeviceArray.of(part) for part in state]
        out = DeviceArray((n, len(general.home)), device.gpu())

        def timed(
            what: str, kernel: CudaKernel, *arrays: DeviceArray, name: str = name,
            out: DeviceArray = out,
        ) -> None:  # fmt: skip
            kernel(*arrays, out=out)
            seconds = wall_time(lambda: kernel(*arrays, out=out), rounds)
            found.append(Rate(f"{name}, {what}", n / seconds))

        torques = torque_function(rigid(load(name)))
        timed("torque_function(robot).gpu", torques.gpu, *there)
        same = CudaKernel(general.program, range(len(given)))
        timed("numbers as inputs", same, DeviceArray.of(given), *there)
        for what, kernel in _others(fixed):
            timed(what, kernel, *there)
        if jax.default_backend() == "gpu":
            arrays = [jax.numpy.asarray(part) for part in state]
            jax.block_until_ready(torques(*arrays))
            seconds = wall_time(lambda f=torques, a=arrays: jax.block_until_ready(f(*a)), rounds)
            found.append(Rate(f"{name}, torque_function(robot) of JAX arrays", n / seconds))
    return found


def _others(program: Program) -> list[tuple[str, CudaKernel]]:
    """The kernel in blocks of other sizes, and with its constants in memory."""
    usual, found = cuda._THREADS, []
    for threads in (32, 128, 256):
        kernel = CudaKernel(program)
        cuda._THREADS = threads
        try:
            kernel.kernel()
        finally:
            cuda._THREADS = usual
        found.append((f"{threads} threads a block", kernel))
    kernel = CudaKernel(program)
    kernel._compiled._source = lambda: _constants_in_memory(cuda.cuda_source(program))
    found.append(("constants in memory", kernel))
    return found


def _constants_in_memory(source: str) -> str:
    """The source with an array of constants: an operation reads one where it needs it."""
    places: dict[str, int] = {}

    def place(match: re.Match) -> str:
        text = match[0]
        if text in ("0.0", "0.5", "1.0", "2.0", "4.0"):
            return text
        return f"kept[{places.setdefault(text, len(places))}]"

    head, kernel = source.split('extern "C"', 1)
    kernel = re.sub(r"(?<![\w.])\d+(\.\d+)?e[-+]\d+|(?<![\w.])\d+\.\d+", place, kernel)
    values = ", ".join(places)
    return f'{head}__constant__ double kept[] = {{{values}}};\nextern "C"{kernel}'


def motions(n: int, rounds: int) -> list[Motions]:
    """`n` motions of a second, compared with those of NumPy."""
    inverse, forward = law(SIMULATED, "inverse"), law(SIMULATED, "forward").burned()
    simulation, m = CudaSimulation(forward), len(inverse.home)
    rng, rows = np.random.default_rng(0), STEPS[0] + 1
    table = numpy_outputs(inverse.burned(), _path(inverse.home, np.linspace(0, 1, rows)[:, None]))
    start, speed, _ = _path(inverse.home, np.zeros((1, 1)))
    x = start + _BESIDE * rng.uniform(-1, 1, (n, m))
    tau = _BESIDE * rng.uniform(-1, 1, (n, m))
    few = (x[:_COMPARED], np.broadcast_to(speed, (_COMPARED, m)), tau[:_COMPARED])
    efforts = DeviceArray.of(table)
    there = [DeviceArray.of(part) for part in (x, speed[0], tau)]
    out = (DeviceArray((n, m), device.gpu()), DeviceArray((n, m), device.gpu()))

    def run(steps: int) -> None:
        simulation(*there, duration=1.0, steps=steps, table=efforts, interval=1 / (rows - 1),
                   out=out)  # fmt: skip

    expected, found, halved = _runge_kutta(forward, few, table, STEPS[0]), [], None
    for steps in sorted((*STEPS, 2 * max(STEPS)), reverse=True):
        run(steps)
        end = out[0].numpy()
        if steps == STEPS[0]:
            worst = np.abs(end[:_COMPARED] - expected).max() / np.abs(expected).max()
            if not worst <= _DRIFT:
                raise ArithmeticError(f"Motions are off by {worst:.1e} of the largest value.")
        if halved is not None:
            seconds = wall_time(lambda steps=steps: run(steps), rounds)
            error = float(np.abs(end - halved).max())
            found.append(Motions("CudaSimulation", n, steps, seconds, error))
        halved = end
    if jax.default_backend() == "gpu":
        given = [jax.numpy.asarray(part) for part in (x, speed[0], table)]
        model, results = rigid(load(SIMULATED)), []
        for steps in STEPS:

            def second(steps: int = steps) -> None:
                run = simulate_many(model, *given, duration=1.0, step=1 / steps)
                jax.block_until_ready(run.x)
                results.append(run.error)

            second()
            seconds = wall_time(second, rounds)
            found.append(Motions("simulate_many", n, steps, seconds, results[-1]))
    return sorted(found, key=lambda row: (row.call, row.steps))


def _path(home: Numbers, t: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """x, xd and xdd of two rounds a second."""
    turn = _ROUND * t + _PHASE
    x = home + _SWING * (np.cos(turn) - np.cos(_PHASE))
    return x, -_ROUND * _SWING * np.sin(turn), -(_ROUND**2) * _SWING * np.cos(turn)


def _runge_kutta(
    forward: Program, state: tuple[Numbers, ...], table: Numbers, steps: int
) -> Numbers:
    """x after a second, as `simulate` computes it, in NumPy."""
    x, v, tau = state
    h, times = 1 / steps, np.linspace(0, 1, len(table))

    def xdd(x: Numbers, v: Numbers, t: float) -> Numbers:
        added = np.array([np.interp(t, times, column) for column in table.T])
        return numpy_outputs(forward, (x, v, tau + added))

    for k in range(steps):
        t = k * h
        v1, a1 = v, xdd(x, v, t)
        v2 = v + h / 2 * a1
        a2 = xdd(x + h / 2 * v1, v2, t + h / 2)
        v3 = v + h / 2 * a2
        a3 = xdd(x + h / 2 * v2, v3, t + h / 2)
        v4 = v + h * a3
        a4 = xdd(x + h * v3, v4, t + h)
        x = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return x


def main(arguments: list[str] | None = None) -> int:
    """Check, measure, print; the status to exit with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000, help="number of states")
    parser.add_argument("--motions", type=int, default=1_000_000, help="number of motions")
    parser.add_argument("--rounds", type=int, default=5, help="calls of which the median is taken")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        where = device.gpu()
    except DeviceError as error:
        print(f"Nothing was measured. {error}")
        return 0
    if not device.available():
        print(f"Nothing was measured. {device.missing()}")
        return 2
    try:
        checked = checks()
        rated = rates(options.n, options.rounds)
        moved = motions(options.motions, options.rounds)
    except ArithmeticError as error:
        print(error)
        return 1
    if options.json:
        kinds = {"checks": checked, "rates": rated, "motions": moved}
        rows = {kind: [row._asdict() for row in rows] for kind, rows in kinds.items()}
        print(json.dumps({"device": where.name, "n": options.n, **rows}))
    else:
        _show(where.name, options.n, checked, rated, moved)
    return 0


def _show(
    where: str, n: int, checked: list[Check], rated: list[Rate], moved: list[Motions]
) -> None:
    console = Console(width=max(Console().width, 120))
    titles = ("off by", "equal to machine code", "registers", "spilled [B]", "compilation [s]")
    title = f"Kernels against NumPy, {where}"
    table = Table(Column("kernel", no_wrap=True), *titles, title=title)
    for row in checked:
        equal = "-" if row.equal is None else f"{row.equal:.2%}"
        table.add_row(row.kernel, f"{row.worst:.1e}", equal, str(row.registers),
                      str(row.spilled), f"{row.compilation:.2f}")  # fmt: skip
    console.print(table)
    table = Table(
        Column("kernel", no_wrap=True), "G states/s", title=f"Torques of {n:.0e} states, {where}"
    )
    for rate in rated:
        table.add_row(rate.kernel, f"{rate.states / 1e9:.2f}")
    console.print(table)
    table = Table("call", "motions", "steps", "time [s]", "step error [m]",
                  title=f"A simulated second of {SIMULATED}, {where}")  # fmt: skip
    for row in moved:
        table.add_row(row.call, f"{row.motions:.0e}", str(row.steps), f"{row.seconds:.3f}",
                      f"{row.step_error:.1e}")  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
