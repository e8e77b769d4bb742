"""Every law of every shipped robot as a program: the same numbers as JAX and XLA compute.

A program is written by calling the law with symbols, with derivatives of its own. JAX traces and
differentiates the same law by itself, and XLA runs it: both are compared, to 1e-12 of the largest
value of each output.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import CASES, ROBOTS, ROWS, function_of, numbers_of, program_of_law
from running import FORMS, run_natively

from triskele.numerics import _in_chunks, batch, tabulate
from triskele.programs import native
from triskele.programs.elementary import expanded
from triskele.programs.interpret import interpreted
from triskele.programs.program import type_of

EXACT = 1e-12
NOISE = 1e-16  # of the largest value of all outputs: what is zero but for rounding
QUICK_ROBOTS = ("abb_irb360_6_1600", "compliant_3prs")  # a telescope, friction; springs, Newton
SHORT = {"inverse", "forward", "closure", "body_poses", "passive", "singularity_margins", "slack"}
MIDDLE = {"inverse_dynamics", "energy", "rod_loads", "grip", "regressor of arms", "lumped"}
DEEP = {"forward_dynamics", "joint directions", "loads of torques", "path_efforts", "joint motion"}


BROAD = {"body_poses", "body motion", "frames of solids", "absolute coordinates", "loads of bodies"}
BROAD |= {"loads of torques", "joint directions", "regressor", "regressor of arms"}
BROAD |= {"regressor with balls", "state of the viewer", "path_loads"}  # of many outputs


def never(robot, law):
    """No case."""
    return False


def every(cases, *, long=never, slow=never):
    """Cases, some of which are left to `make validate-quick`, and some to `make validate`."""
    found = []
    for case in cases:
        marks = [pytest.mark.long] if long(*case) or slow(*case) else []
        marks += [pytest.mark.slow] if slow(*case) else []
        found.append(pytest.param(*case, marks=marks, id="-".join(case)))
    return found


def only(*laws):
    """All cases but these laws of the robots that have one of everything."""
    return lambda robot, law: robot not in QUICK_ROBOTS or law not in set().union(*laws)


def compiles_slowly(robot, law):
    """Whether XLA takes long, of a robot that is much like another, or of the longest laws."""
    return robot != "omron_mini_delta" or law not in SHORT | MIDDLE | DEEP


def columns_of(robot, law):
    """Inputs of the program: numbers of the robot, and columns of the states."""
    function, rows = function_of(robot, law)
    return [*numbers_of(function), *(column for array in rows for column in array.T)]


def check(found, exact, program):
    """Each output agrees with the exact one to EXACT of its largest value."""
    found, exact = ([np.asarray(column) * 1.0 for column in side] for side in (found, exact))
    largest = max(np.abs(column).max() for column in exact)
    assert len(found) == len(exact) == len(program.outputs)
    assert np.isfinite(largest)
    for port, ours, theirs in zip(program.outputs, found, exact, strict=True):
        most = EXACT * np.abs(theirs).max() + NOISE * largest
        off = np.abs(ours - theirs).max()
        assert off <= most, f"{port}: off by {off:.1e} of {np.abs(theirs).max():.1e}"


def natively(program, columns, form):
    """Outputs of machine code in which the robot's numbers are the same for all rows."""
    uniform = sum(np.ndim(column) == 0 for column in columns)
    return run_natively(program, columns, form, uniform=range(uniform))


@pytest.mark.parametrize("robot, law", every(CASES, long=only(SHORT, MIDDLE, DEEP)))
def test_machine_code_agrees_with_numpy(robot, law):
    program, _ = program_of_law(robot, law)
    columns = columns_of(robot, law)
    plain = interpreted(expanded(program), columns)
    check(natively(program, columns, native.QUICK), plain, program)


@pytest.mark.parametrize("robot, law", every(CASES, long=only(SHORT, {"inverse_dynamics"})))
def test_laws_agree_with_what_jax_traces_and_differentiates(robot, law):
    program, zeros = program_of_law(robot, law)
    by_jax, same = program_of_law(robot, law, by_jax=True)
    assert jax.tree.structure(zeros) == jax.tree.structure(same)
    assert [np.shape(leaf) for leaf in jax.tree.leaves(zeros)] == [
        np.shape(leaf) for leaf in jax.tree.leaves(same)
    ]
    assert program.inputs == by_jax.inputs
    assert program.outputs == by_jax.outputs
    columns = columns_of(robot, law)
    check(interpreted(program, columns), interpreted(by_jax, columns), program)


SOME = [("omron_mini_delta", law) for law in ("inverse", "forward", "body_poses", "passive")]
SOME += [("omron_mini_delta", "slack"), ("omron_mini_delta", "inverse_dynamics")]
SOME += [("compliant_3prs", law) for law in ("inverse", "passive", "slack")]


def check_with_xla(robot, law):
    function, rows = function_of(robot, law)
    program, _ = program_of_law(robot, law)
    leaves = jax.tree.leaves(_in_chunks(function, tuple(map(jnp.asarray, rows))))
    exact = [column for leaf in leaves for column in np.reshape(leaf, (ROWS, -1)).T]
    columns = columns_of(robot, law)
    check(interpreted(program, columns), exact, program)
    check(natively(program, columns, native.QUICK), exact, program)
    kinds = [type_of(program.nodes[place]) == "truth" for place in program.results]
    assert kinds == [column.dtype == np.bool_ for column in exact]


@pytest.mark.parametrize("robot, law", every(SOME))
def test_laws_agree_with_xla(robot, law):
    check_with_xla(robot, law)


@pytest.mark.long
@pytest.mark.parametrize(
    "robot, law", every([case for case in CASES if case not in SOME], slow=compiles_slowly)
)
def test_all_laws_agree_with_xla(robot, law):
    check_with_xla(robot, law)


@pytest.mark.parametrize(
    "robot, law",
    every(CASES, long=lambda *case: case not in SOME, slow=lambda robot, law: law in BROAD),
)
def test_forms_of_machine_code_agree_to_the_last_bit(robot, law):
    program, _ = program_of_law(robot, law)
    columns = columns_of(robot, law)
    quick, *others = (natively(program, columns, form) for form in FORMS)
    for other in others:
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(quick, other, strict=True))


# Through the door that everyone uses


@pytest.mark.parametrize("robot, law", every(SOME))
def test_tables_hold_what_the_law_returns(robot, law):
    function, rows = function_of(robot, law)
    program, zeros = program_of_law(robot, law)
    found = tabulate(function)(*rows)
    assert jax.tree.structure(found) == jax.tree.structure(zeros)
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(found))
    plain = interpreted(program, columns_of(robot, law))
    check([c for leaf in jax.tree.leaves(found) for c in leaf.reshape(ROWS, -1).T], plain, program)


@pytest.mark.parametrize("robot", QUICK_ROBOTS)
def test_robots_out_of_reach_have_the_same_margins_and_values_as_in_xla(robot):
    function, (x,) = function_of(robot, "inverse")
    program, _ = program_of_law(robot, "inverse")
    far = x * np.linspace(1, 8, ROWS)[:, None]
    leaves = jax.tree.leaves(_in_chunks(function, (jnp.asarray(far),)))
    assert min(np.asarray(leaf).min() for leaf in leaves[-3:]) < 0
    columns = [*numbers_of(function), *far.T]
    exact = [np.asarray(leaf) for leaf in leaves]
    check(interpreted(program, columns), exact, program)
    check(natively(program, columns, native.QUICK), exact, program)


def test_states_that_are_not_numbers_give_what_is_not_a_number_in_their_row_alone():
    function, rows = function_of("omron_mini_delta", "inverse_dynamics")
    clean = np.stack(tabulate(function)(*rows), axis=-1)
    rows = [row.copy() for row in rows]
    rows[0][3, 1] = rows[2][7, 0] = np.nan
    found = np.stack(tabulate(function)(*rows), axis=-1)
    bad = np.isin(np.arange(ROWS), (3, 7))
    assert np.isnan(found[bad]).all()
    assert np.array_equal(found[~bad], clean[~bad])


def test_robots_of_one_kind_share_a_program_and_others_do_not():
    one, other = (program_of_law(name, "inverse_dynamics")[0] for name in ROBOTS[-2:])
    again = program_of_law("flexible_delta", "inverse_dynamics")[0]
    assert one != other
    assert program_of_law("omron_mini_delta_platens", "inverse_dynamics")[0] == again


def test_jax_arrays_in_give_the_same_numbers_as_jax_arrays():
    function, rows = function_of("omron_mini_delta", "inverse")
    plain, found = batch(function)(*rows), batch(function)(*map(jnp.asarray, rows))
    for ours, theirs in zip(jax.tree.leaves(plain), jax.tree.leaves(found), strict=True):
        assert isinstance(theirs, jax.Array)
        assert np.array_equal(ours, theirs)
