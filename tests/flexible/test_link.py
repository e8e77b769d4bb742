"""Links against laws and closed forms: patches, frequencies, frames that move, rotating beams."""

from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import Legendre, leggauss
from scipy.linalg import eigh
from scipy.optimize import brentq

from triskele.description.schema import CrossSection, Material
from triskele.errors import InputError
from triskele.flexible.beam import beam
from triskele.flexible.link import (
    END,
    FAMILIES,
    condensed,
    element_places,
    link,
    moving,
    tip_tension,
)

CUBIC, QUINTIC = "linear/cubic", "cubic/quintic"
L = 0.7
LUMPS = (0.3, 0.2)
STEEL = Material(young_modulus=210e9, poisson_ratio=0.3, density=7800)
BAR = beam(CrossSection(shape="rectangle", material="", width=0.02, height=0.03), STEEL)
ROUND = beam(CrossSection(shape="tube", material="", outer_radius=0.01), STEEL)
KINDS = [(1, CUBIC, True), (2, CUBIC, True), (1, CUBIC, False), (2, CUBIC, False)]
KINDS += [(1, QUINTIC, True), (2, QUINTIC, True)]
U, PHI, V, V1, W, W1, U_1, PHI_1, V_2, W_2 = range(10)  # unknowns of a node


@lru_cache
def _compiled(elements, family, slender):
    return eqx.filter_jit(partial(link, elements=elements, family=family, slender=slender))


def linked(elements=1, family=CUBIC, slender=True, *, bar=BAR, lumps=(0.0, 0.0)):
    return _compiled(elements, family, slender)(bar, jnp.array(L), lumps=jnp.array(lumps))


def nodes(elements, family):
    """Unknowns of each node, from root to tip."""
    places, nodal = element_places(elements, family), FAMILIES[family]
    return np.concatenate([places[:, :nodal], places[-1:, nodal:]])


def unknowns(elements, family, u=0, phi=0, v=0, w=0):
    """Nodal values of polynomials of x; slopes of sections are those of the axis."""
    u, phi, v, w = (Polynomial(np.atleast_1d(part)) for part in (u, phi, v, w))
    x = np.linspace(0, L, elements + 1)
    fields = [u, phi, v, v.deriv(), w, w.deriv(), u.deriv(), phi.deriv(), v.deriv(2), w.deriv(2)]
    table = nodes(elements, family)
    d = np.zeros(table.size)
    for column in range(FAMILIES[family]):
        d[table[:, column]] = fields[column](x)
    return d


# Patches


@pytest.mark.parametrize(("elements", "family", "slender"), KINDS)
def test_rigid_motions_cost_nothing_and_weigh_what_they_should(elements, family, slender):
    """Kinetic energy of a bar with lumps that moves with v and turns with g, by hand."""
    one = linked(elements, family, slender, lumps=LUMPS)
    vx, vy, vz, gx, gy, gz = 0.3, -0.2, 0.5, 0.7, -0.4, 0.6
    d = unknowns(elements, family, u=vx, phi=gx, v=[vy, gz], w=[vz, -gy])
    force = np.asarray(one.K) @ d
    assert np.abs(force).max() < 1e-11 * np.abs(one.K).max()

    rho = float(BAR.mass)
    along = rho * L * vx**2
    across = sum(rho * L * (a * a + a * b * L + b * b * L**2 / 3) for a, b in ((vy, gz), (vz, -gy)))
    rotary = np.asarray(BAR.rotary) * L * (np.array([1, 0, 0]) if slender else 1)
    turning = rotary @ np.array([gx, gy, gz]) ** 2
    np.testing.assert_allclose(d @ np.asarray(one.spin), rotary * [gx, gy, gz], atol=1e-14)
    ends = (np.array([vx, vy, vz]), np.array([vx, vy + gz * L, vz - gy * L]))
    lumped = sum(m * (v @ v) for m, v in zip(LUMPS, ends, strict=True))
    np.testing.assert_allclose(d @ one.M @ d, along + across + turning + lumped, rtol=1e-12)

    total = rho * L + sum(LUMPS)
    first = rho * L**2 / 2 + LUMPS[1] * L
    np.testing.assert_allclose(
        d @ np.asarray(one.L0),
        [total * vx, total * vy + first * gz, total * vz - first * gy],
        rtol=1e-12,
    )
    second = rho * L**3 / 3 + LUMPS[1] * L**2
    np.testing.assert_allclose(
        d @ np.asarray(one.L1),
        [first * vx, first * vy + second * gz, first * vz - second * gy],
        rtol=1e-12,
    )


@pytest.mark.parametrize(("elements", "family", "slender"), KINDS)
@pytest.mark.parametrize(
    ("field", "coefficients", "stiffness", "unknown"),
    [
        ("u", [0, 1], "axial", U),
        ("phi", [0, 1], "torsion", PHI),
        ("v", [0, 0, 0.5], "bending_z", V1),
        ("w", [0, 0, 0.5], "bending_y", W1),
    ],
)
def test_uniform_strain_is_exact(
    elements, family, slender, field, coefficients, stiffness, unknown
):
    """Tension, twist and curvatures of 1: equal and opposite at the ends, nothing between."""
    one, k = linked(elements, family, slender), float(getattr(BAR, stiffness))
    d = unknowns(elements, family, **{field: coefficients})
    expected = np.zeros(len(d))
    expected[unknown], expected[END + unknown] = -k, k
    np.testing.assert_allclose(np.asarray(one.K) @ d, expected, atol=1e-10 * np.abs(one.K).max())
    np.testing.assert_allclose(d @ one.K @ d, k * L, rtol=1e-10)


@pytest.mark.parametrize("elements", [1, 2])
@pytest.mark.parametrize(
    ("row", "bending", "shear"), [(V, "bending_z", "shear_y"), (W, "bending_y", "shear_z")]
)
def test_a_loaded_tip_sinks_by_bending_and_shear(elements, row, bending, shear):
    """P L^3 / (3 E I) + P L / (k G A) of Timoshenko's beam, the first alone of a slender one."""
    EI, kGA = float(getattr(BAR, bending)), float(getattr(BAR, shear))
    for slender, known in ((True, L**3 / (3 * EI)), (False, L**3 / (3 * EI) + L / kGA)):
        K = np.asarray(linked(elements, CUBIC, slender).K)[END:, END:]
        d = np.linalg.solve(K, np.eye(len(K))[row])
        np.testing.assert_allclose(d[row], known, rtol=1e-9)
        np.testing.assert_allclose(d[row + 1], L**2 / (2 * EI), rtol=1e-9)


def test_what_does_not_shear_and_has_no_rotary_inertia_is_slender():
    stiff = eqx.tree_at(
        lambda b: (b.shear_y, b.shear_z, b.rotary),
        BAR,
        (BAR.shear_y * 1e12, BAR.shear_z * 1e12, BAR.rotary * jnp.array([1.0, 0.0, 0.0])),
    )
    thick, thin = linked(2, CUBIC, False, bar=stiff), linked(2, CUBIC, True)
    for name in ("M", "K", "A", "L0", "L1", "spin", "G"):
        a, b = np.asarray(getattr(thick, name)), np.asarray(getattr(thin, name))
        np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())


def test_mass_and_stiffness_of_an_element_are_those_of_the_textbooks():
    """12 E I / h^3, ..., rho A h / 420 (156, 22 h, 54, -13 h, 4 h^2, -3 h^2), in v and v'."""
    one, index = linked(), np.array([V, V1, END + V, END + V1])
    K, M = (np.asarray(part)[np.ix_(index, index)] for part in (one.K, one.M))
    rows = [[12, 6 * L, -12, 6 * L], [4 * L**2, -6 * L, 2 * L**2], [12, -6 * L], [4 * L**2]]
    known = np.zeros((4, 4))
    known[np.triu_indices(4)] = np.concatenate(rows)
    np.testing.assert_allclose(np.triu(K), float(BAR.bending_z) / L**3 * known, rtol=1e-11)
    rows = [[156, 22 * L, 54, -13 * L], [4 * L**2, 13 * L, -3 * L**2], [156, -22 * L], [4 * L**2]]
    known[np.triu_indices(4)] = np.concatenate(rows)
    np.testing.assert_allclose(np.triu(M), float(BAR.mass) * L / 420 * known, rtol=1e-11)


# Frequencies

BENT = {V: (V, V1, V_2), W: (W, W1, W_2)}
FREE, PINNED, CLAMPED = 0, 1, 2  # how many of deflection and slope an end holds
SUPPORTS = {
    "clamped-free": (CLAMPED, FREE, lambda b: np.cos(b) + 1 / np.cosh(b), 1.8751040687),
    "pinned-pinned": (PINNED, PINNED, lambda b: np.sin(b), np.pi),
    "clamped-pinned": (CLAMPED, PINNED, lambda b: np.sin(b) - np.cos(b) * np.tanh(b), 3.9266023120),
    "clamped-clamped": (CLAMPED, CLAMPED, lambda b: np.cos(b) - 1 / np.cosh(b), 4.7300407449),
    "free-free": (FREE, FREE, lambda b: np.cos(b) - 1 / np.cosh(b), 4.7300407449),
}


def roots(equation, first, count):
    """The first roots of a characteristic equation, about pi apart."""
    found = [brentq(equation, first - 0.1, first + 0.1, xtol=1e-14)]
    while len(found) < count:
        found.append(brentq(equation, found[-1] + 2.2, found[-1] + 3.9, xtol=1e-14))
    return np.array(found)


def frequencies(K, M, free):
    index = np.ix_(free, free)
    w_sq = eigh(np.asarray(K)[index], np.asarray(M)[index], eigvals_only=True)
    return np.sqrt(np.maximum(w_sq, 0.0))


def bending(elements, family, plane, root, tip, count):
    """Lowest frequencies [rad/s] in one plane, without those of rigid motion."""
    one = linked(elements, family)
    columns = [c for c in BENT[plane] if c < FAMILIES[family]]
    table = nodes(elements, family)[:, columns]
    held = [*table[0, :root], *table[-1, :tip]]
    free = np.setdiff1d(table.ravel(), held)
    rigid = max(2 - root - tip, 0)
    return frequencies(one.K, one.M, free)[rigid : rigid + count]


def orders(errors, counts):
    """Exponent of h with which each error falls, from one count of elements to the next."""
    return np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize(("family", "counts", "order"), [(CUBIC, (8, 12), 4), (QUINTIC, (4, 6), 8)])
def test_bending_frequencies_converge_to_those_of_the_beam(support, family, counts, order):
    """From above, w L^2 sqrt(rho A / E I) = b^2, errors falling as h^4 and h^8."""
    root, tip, equation, first = SUPPORTS[support]
    b = roots(equation, first, 3)
    assert b[0] == pytest.approx(first, abs=1e-9)
    for plane, stiffness in ((V, "bending_z"), (W, "bending_y")):
        speed = np.sqrt(float(getattr(BAR, stiffness)) / float(BAR.mass)) / L**2
        found = [bending(n, family, plane, root, tip, 3) / speed for n in counts]
        errors = np.array(found) / b[None, :] ** 2 - 1
        assert (errors > -1e-10).all()  # rounding
        assert errors[1].max() < {4: 1e-3, 8: 5e-6}[order]
        assert abs(orders(errors[:, 1], counts) - order) < 0.3


@pytest.mark.parametrize(("family", "counts", "order"), [(CUBIC, (8, 12), 2), (QUINTIC, (4, 6), 6)])
@pytest.mark.parametrize(
    ("columns", "stiffness", "inertia"),
    [((U, U_1), "axial", lambda b: b.mass), ((PHI, PHI_1), "torsion", lambda b: b.rotary[0])],
)
def test_axial_and_torsional_frequencies_converge(
    family, counts, order, columns, stiffness, inertia
):
    """Fixed and free: w = (k - 1/2) pi c / L, errors falling as h^2 and h^6."""
    c = np.sqrt(float(getattr(BAR, stiffness)) / float(inertia(BAR)))
    known = (np.arange(1, 4) - 0.5) * np.pi * c / L
    found = []
    for n in counts:
        one = linked(n, family)
        table = nodes(n, family)[:, [k for k in columns if k < FAMILIES[family]]]
        free = np.setdiff1d(table.ravel(), table[0, :1])
        found.append(frequencies(one.K, one.M, free)[:3])
    errors = np.array(found) / known[None, :] - 1
    assert (errors > -1e-11).all()
    assert abs(orders(errors[:, 0], counts) - order) < 0.4
    assert errors[1].max() < {2: 0.02, 6: 5e-5}[order]


def test_beams_of_timoshenko_vibrate_as_pinned_ones_do_in_closed_form():
    """Pinned, a sine of wave number k solves Timoshenko's equations:

    rho A rho I w^4 - (rho A E I k^2 + (rho A + rho I k^2) kGA) w^2 + kGA E I k^4 = 0
    """
    thick = eqx.tree_at(
        lambda b: (b.bending_z, b.rotary), BAR, (BAR.bending_z * 20, BAR.rotary * 20)
    )
    EI, S, m, j = (float(a) for a in (thick.bending_z, thick.shear_y, thick.mass, thick.rotary[2]))
    k = np.pi / L
    w_sq = np.roots([m * j, -(m * EI * k**2 + (m + j * k**2) * S), S * EI * k**4]).min()
    errors = []
    for n in (4, 8):
        one, table = linked(n, CUBIC, False, bar=thick), nodes(n, CUBIC)[:, [V, V1]]
        free = np.setdiff1d(table.ravel(), [table[0, 0], table[-1, 0]])
        errors.append(frequencies(one.K, one.M, free)[0] / np.sqrt(w_sq) - 1)
    assert 0 < errors[1] < 3e-4
    assert abs(orders(errors, (4, 8)) - 2) < 0.3  # shear is a line, so that errors fall as h^2
    slender = k**2 * np.sqrt(EI / m)
    assert np.sqrt(w_sq) / slender < 0.98


# A frame that moves


def hermite(s, h, family):
    """Shape functions of an element in u (and phi), and in v and slopes, at s = x / h."""
    if family == CUBIC:
        u = [1 - s, s]
        v = [1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3)]
        return u, [*v, 3 * s**2 - 2 * s**3, h * (s**3 - s**2)]
    u = [1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3)]
    u += [3 * s**2 - 2 * s**3, h * (s**3 - s**2)]
    start = [1 - 10 * s**3 + 15 * s**4 - 6 * s**5, h * (s - 6 * s**3 + 8 * s**4 - 3 * s**5)]
    start += [h**2 * (s**2 - 3 * s**3 + 3 * s**4 - s**5) / 2]
    end = [10 * s**3 - 15 * s**4 + 6 * s**5, h * (-4 * s**3 + 7 * s**4 - 3 * s**5)]
    return u, [*start, *end, h**2 * (s**3 - 2 * s**4 + s**5) / 2]


def points(family):
    """Gauss points of two cubic elements, or a quintic one, as rows over all unknowns.

    Unknowns are written out: root, tip, then the middle node or what the ends have besides.
    """
    if family == CUBIC:
        order, h = [[*range(6), *range(12, 18)], [*range(12, 18), *range(6, 12)]], L / 2
        cells = [[0, 6], [1, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    else:
        order, h = [[*range(6), 12, 13, 14, 15, *range(6, 12), 16, 17, 18, 19]], L
        cells = [[0, 6, 10, 16], [1, 7, 11, 17], [2, 3, 8, 12, 13, 18], [4, 5, 9, 14, 15, 19]]
    size = 18 if family == CUBIC else 20
    places, turns, x, weights = [], [], [], []
    for e, index in enumerate(order):
        for s, weight in zip(*leggauss(10), strict=True):
            s, weight = (s + 1) / 2, weight / 2 * h
            u, v = hermite(s, h, family)
            rows = np.zeros((4, size))
            for row, cell, shape in zip(rows, cells, (u, u, v, v), strict=True):
                row[np.array(index)[cell]] = shape
            places.append(rows[[0, 2, 3]])
            turns.append(rows[1])
            x.append((e + s) * h)
            weights.append(weight)
    return (jnp.array(part) for part in (places, turns, x, weights))


def turned(t):
    """R of the frame: turns about z, x and y, each in its own rhythm."""

    def about(axis, angle):
        s, c = jnp.sin(angle), jnp.cos(angle)
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        return jnp.eye(3).at[i, i].set(c).at[j, j].set(c).at[i, j].set(-s).at[j, i].set(s)

    return about(2, 1.3 * t + 0.4) @ about(0, 0.7 * t * t - 0.3) @ about(1, jnp.sin(2.0 * t))


def origin(t):
    return jnp.stack([jnp.sin(3.0 * t), 0.4 * t * t - t, jnp.cos(2.0 * t)])


def bent(start, t):
    """Unknowns that move with constant acceleration."""
    return start[0] + start[1] * t + start[2] * t * t / 2


@pytest.mark.parametrize("family", [CUBIC, QUINTIC])
def test_forces_in_a_moving_frame_are_those_of_lagrange(family):
    """d/dt dT/dd' - dT/dd - g, of the motion of all points, rotary inertia about x, and lumps."""
    N, turns, x, weights = points(family)
    rho, rotary = BAR.mass, BAR.rotary[0]
    size, g = N.shape[-1], jnp.array([0.5, -1.0, -9.81])
    ends = jnp.zeros((2, 3, size)).at[0, 0, 0].set(1.0).at[0, 1, 2].set(1.0).at[0, 2, 4].set(1.0)
    ends = ends.at[1].set(jnp.roll(ends[0], 6, axis=1))
    shapes = jnp.concatenate([N, ends])
    masses = jnp.concatenate([rho * weights, jnp.array(LUMPS)])
    along = jnp.concatenate([x, jnp.array([0.0, L])])

    def place(d, t):
        local = shapes @ d + along[:, None] * jnp.eye(3)[None, 0]
        return origin(t)[None, :] + local @ turned(t).T

    def lagrangian(d, dd, t):
        p, v = jax.jvp(place, (d, t), (dd, jnp.ones(())))
        R, Rd = jax.jvp(turned, (t,), (jnp.ones(()),))
        spin = (R.T @ Rd)[2, 1] + turns @ dd
        return (
            (masses * (v * v).sum(axis=1)).sum() / 2
            + masses @ (p @ g)
            + (rotary * weights * spin * spin).sum() / 2
        )

    start = jnp.asarray(np.random.default_rng(5).normal(size=(3, size)) * 0.1)
    t = jnp.array(0.3)

    def momentum(t):
        d, dd = jax.jvp(partial(bent, start), (t,), (jnp.ones(()),))
        return jax.grad(lagrangian, 1)(d, dd, t)

    @jax.jit
    def forces(t):
        d, dd = jax.jvp(partial(bent, start), (t,), (jnp.ones(()),))
        return jax.jvp(momentum, (t,), (jnp.ones(()),))[1] - jax.grad(lagrangian)(d, dd, t)

    @jax.jit
    def frame(t):
        def first(f):
            return lambda t: jax.jvp(f, (t,), (jnp.ones(()),))[1]

        R = turned(t)
        return (
            R.T @ first(turned)(t),
            R.T @ first(first(turned))(t),
            R.T @ (first(first(origin))(t) - g),
        )

    one = linked(2 if family == CUBIC else 1, family, lumps=LUMPS)
    M, C, K, f = moving(one, *frame(t))
    d, d1, dd = bent(start, t), start[1] + start[2] * t, start[2]
    found = M @ dd + C @ d1 + (K - one.K) @ d + f
    np.testing.assert_allclose(found, forces(t), atol=1e-9 * float(jnp.abs(found).max()))


def rotating(speed, axis):
    """W and X of a constant rotation."""
    a = speed * np.eye(3)[axis]
    W = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return jnp.array(W), jnp.array(W @ W)


def flapping_by_ritz(speed, count):
    """Dimensionless frequencies of a rotating cantilever: s^2 times Legendre's polynomials."""
    s, weights = leggauss(60)
    s, weights = (s + 1) / 2, weights / 2
    functions = [
        Polynomial([0, 0, 1]) * Legendre.basis(k, domain=[0, 1]).convert(kind=Polynomial)
        for k in range(14)
    ]
    v, v1, v2 = (np.array([f.deriv(k)(s) if k else f(s) for f in functions]) for k in range(3))
    K = v2 * weights @ v2.T + speed**2 * (v1 * (weights * (1 - s**2) / 2)) @ v1.T
    return np.sqrt(eigh(K, v * weights @ v.T, eigvals_only=True)[:count])


WRIGHT = {
    0: (3.5160, 22.0345),
    1: (3.6816, 22.1810),
    2: (4.1373, 22.6149),
    3: (4.7973, 23.3203),
    10: (11.2023, 33.6404),
}


@pytest.mark.parametrize("speed", WRIGHT)
def test_a_rotating_cantilever_flaps_as_published(speed):
    """Wright, Smith, Thresher, Wang, Journal of Applied Mechanics 49 (1982) 197; and by Ritz."""
    unit = np.sqrt(float(ROUND.bending_y) / float(ROUND.mass)) / L**2
    ritz = flapping_by_ritz(speed, 3)
    np.testing.assert_allclose(ritz[:2], WRIGHT[speed], atol=6e-5)
    for family, n, accuracy in ((CUBIC, 8, 1e-4), (QUINTIC, 6, 1e-7)):
        one = linked(n, family, bar=ROUND)
        for axis, flap, lag in ((2, W, V), (1, V, W)):
            turning = moving(one, *rotating(speed * unit, axis), jnp.zeros(3), jnp.zeros(()))
            found = []
            for plane in (flap, lag):
                columns = [c for c in BENT[plane] if c < FAMILIES[family]]
                table = nodes(n, family)[:, columns]
                free = np.setdiff1d(table.ravel(), table[0, :2])
                found.append(frequencies(turning.K, one.M, free)[:2] / unit)
            np.testing.assert_allclose(found[0], ritz[:2], rtol=accuracy)
            # in the plane of rotation, the centrifugal force turns with the beam
            np.testing.assert_allclose(found[1] ** 2, found[0] ** 2 - speed**2, rtol=1e-8)


def test_tension_is_left_out_unless_it_is_asked_for():
    one, motion = linked(), (*rotating(5.0, 2), jnp.array([2.0, 0.0, 0.0]))
    d = unknowns(1, CUBIC, w=[0, 1.0])  # a slope of 1, which weighs the mean tension
    plain, stiffened = (moving(one, *motion, P) for P in (None, jnp.array(3.0)))
    np.testing.assert_allclose(plain.K - one.K, moving(one, *motion).K - one.K)
    rho = float(BAR.mass)
    mean = 3.0 * L - 2.0 * rho * L**2 / 2 + 25.0 * rho * L**3 / 3
    np.testing.assert_allclose(d @ np.asarray(stiffened.K - plain.K) @ d, mean, rtol=1e-10)


@pytest.mark.parametrize(("elements", "family"), [(1, CUBIC), (2, CUBIC), (2, QUINTIC)])
def test_the_tip_is_pulled_by_its_lump(elements, family):
    """m g of a link that hangs, and m w^2 L of one that turns, whatever it weighs itself."""
    one = linked(elements, family, lumps=LUMPS)
    cases = (
        (jnp.zeros((3, 3)), jnp.array([-9.81, 0.0, 0.0]), LUMPS[1] * 9.81),
        (rotating(5.0, 2)[1], jnp.zeros(3), LUMPS[1] * 25 * L),
    )
    for X, c, known in cases:
        K, f = (np.asarray(part) for part in (one.K, moving(one, X * 0, X, c).f))
        free = np.setdiff1d(np.arange(len(K)), np.arange(END))
        d = np.zeros(len(K))
        d[free] = -np.linalg.solve(K[np.ix_(free, free)], f[free])
        np.testing.assert_allclose(tip_tension(one, X, c, jnp.array(d)), known, rtol=1e-9)


# Condensed links


@pytest.fixture(scope="module")
def whole():
    return linked(4, CUBIC, lumps=LUMPS)


@pytest.fixture(scope="module")
def reduced(whole):
    """By how many modes it keeps."""
    return {k: condensed(whole, k) for k in (0, 2, 6, whole.inner)}


def test_a_condensed_link_is_exact_in_statics(reduced):
    """Its ends answer as one element does, which is exact; modes do not mix with them."""
    exact = np.asarray(linked(1, CUBIC).K)
    for kept, one in reduced.items():
        K = np.asarray(one.K)
        assert one.inner == kept
        np.testing.assert_allclose(K[:12, :12], exact, atol=1e-10 * exact.max())
        assert np.abs(K[:12, 12:]).max(initial=0.0) < 1e-8 * exact.max()


def test_a_condensed_link_keeps_the_lowest_modes_of_a_link_with_held_ends(whole, reduced):
    """Masses are 1, and stiffnesses the squares of the frequencies."""
    w = frequencies(whole.K, whole.M, np.arange(12, len(whole.M)))
    for kept, one in reduced.items():
        modal, masses = (np.asarray(part)[12:, 12:] for part in (one.K, one.M))
        np.testing.assert_allclose(masses, np.eye(kept), atol=1e-9)
        np.testing.assert_allclose(modal, np.diag(w[:kept] ** 2), rtol=1e-8, atol=1e-9 * w[-1] ** 2)


def test_a_condensed_link_weighs_the_same(whole, reduced):
    rigid = [{"u": 1}, {"phi": 1}, {"v": 1}, {"w": 1}, {"v": [0, 1]}, {"w": [0, 1]}]
    D = np.stack([unknowns(4, CUBIC, **motion) for motion in rigid], axis=1)
    for kept, one in reduced.items():
        d = np.concatenate([D[:12], np.zeros((kept, 6))])
        for name, back in (("M", d), ("L0", None), ("L1", None), ("spin", None)):
            a, b = (np.asarray(getattr(k, name)) for k in (one, whole))
            a, b = (d.T @ a, D.T @ b) if back is None else (d.T @ a @ d, D.T @ b @ D)
            np.testing.assert_allclose(a, b, atol=1e-11 * np.abs(b).max())


def test_frequencies_of_a_condensed_link_come_down_to_those_of_the_whole(whole, reduced):
    """Clamped at the root; pinned, free and the rest are combinations of the same unknowns."""

    def lowest(one):
        return frequencies(one.K, one.M, np.arange(END, len(one.M)))[:6]

    found = np.stack([lowest(one) for one in reduced.values()])
    assert (np.diff(found, axis=0) < 1e-9 * found[:-1]).all()
    assert found[0, -1] / found[-1, -1] > 1.01
    np.testing.assert_allclose(found[-1], lowest(whole), rtol=1e-8)


def test_a_condensed_link_moves_as_the_whole_does(whole, reduced):
    """All terms of a moving frame, for displacements that both can make."""
    W, X, c = rotating(7.0, 1)[0], rotating(7.0, 1)[1], jnp.array([1.0, -2.0, 3.0])
    X = X + jnp.array([[0.0, -1.0, 2.0], [1.0, 0.0, -3.0], [-2.0, 3.0, 0.0]])
    one = reduced[6]
    a = np.random.default_rng(3).normal(size=(2, len(one.M)))
    d = a @ np.asarray(one.shapes).T
    small, large = (moving(k, W, X, c, jnp.array(4.0)) for k in (one, whole))
    for name in ("M", "C", "K"):
        pair = [p @ np.asarray(getattr(m, name)) @ p.T for p, m in ((a, small), (d, large))]
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-9 * np.abs(pair[1]).max())
    np.testing.assert_allclose(a @ np.asarray(small.f), d @ np.asarray(large.f), rtol=1e-9)
    np.testing.assert_allclose(one.lumps, LUMPS)


# Bad input


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"family": "cubic/quintik"}, "Elements are not 'cubic/quintik'. .*cubic/quintic"),
        ({"elements": 0}, "A link has 1 to 64 elements, not 0."),
        ({"elements": 65}, "A link has 1 to 64 elements, not 65."),
        (
            {"family": QUINTIC, "slender": False},
            "Timoshenko's elements are 'linear/cubic', not 'cubic/quintic'.",
        ),
    ],
)
def test_links_that_do_not_exist_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        link(BAR, L, **options)


@pytest.mark.parametrize("modes", [-1, 7])
def test_a_link_keeps_no_more_modes_than_it_has(modes):
    with pytest.raises(InputError, match=f"A link with 6 inner unknowns has no {modes} modes"):
        condensed(linked(2, CUBIC), modes)
