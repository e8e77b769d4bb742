"""A link of beam elements in a frame that moves: its matrices, once and for all.

The link lies along x of its frame, from 0 to l. A point of its axis is displaced by N(x) d, with
N of three rows (u, v, w), and sections turn by phi about x. Nodal values d are, node by node,

    u, phi, v, v', w, w'                               "linear/cubic"
    u, phi, v, v', w, w', u', phi', v'', w''           "cubic/quintic"

where v' and w' are slopes of sections, so that rotations are (phi, -w', v'). The frame moves with
R(t), p(t). With W = R'Rd (skew), X = R'Rdd and c = R'(pdd - g), a point of the link is accelerated,
weight included, by

    a = c + X (x e_1 + N d) + 2 W N d' + N d''                                         (1)

By virtual power, forces and moments at the nodes are

    M d'' + 2 B(W) d' + (K + B(X) + Kg) d + f                                          (2)
    M = int rho A N'N + rotary,    B(Y) = sum_ab Y_ab A_ab,   A_ab = int rho A N_a N_b'
    f = L0 c + L1 X e_1 + rotary,  L0 = int rho A N',         L1 = int rho A x N'

so that all of gyroscopic, Euler's and centrifugal forces are contractions of one array A. Tension
P stiffens: Kg = int P (v'v'' + w'w''), with P_l at the end,

    P(x) = P_l - int_x^l rho A (c_1 + X_11 s) ds                                       (3)

Kg = P_l G_0 - c_1 G_1 - X_11 G_2. `slender` beams of Euler and Bernoulli neither shear nor have
rotary inertia across; those of Timoshenko have both, with shape functions that are exact in
statics (Przemieniecki, Theory of Matrix Structural Analysis, 1968).

`condensed` keeps the ends of a link and a few modes in between (Craig and Bampton, 1968): exact in
statics, and good for all poses, because nothing of a link but its ends knows the pose.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

from triskele.errors import InputError, did_you_mean
from triskele.flexible.beam import Beam
from triskele.numerics import AnyArray

FAMILIES = {"linear/cubic": 6, "cubic/quintic": 10}  #: with the unknowns of a node
END = 6  #: unknowns of a node that a joint takes hold of
U, PHI, V, V1, W, W1 = range(END)
MOST_ELEMENTS = 64


class Link(eqx.Module):
    """Matrices of a link; unknowns are those of its root, of its tip, and `inner` ones."""

    length: Float[AnyArray, ""]  #: l [m]
    M: Float[AnyArray, "d d"]  #: mass
    K: Float[AnyArray, "d d"]  #: stiffness
    A: Float[AnyArray, "3 3 d d"]  #: int rho A N_a N_b'
    L0: Float[AnyArray, "d 3"]  #: int rho A N'
    L1: Float[AnyArray, "d 3"]  #: int rho A x N'
    spin: Float[AnyArray, "d 3"]  #: int of rotary inertia, by angular acceleration
    G: Float[AnyArray, "3 d d"]  #: G_0, G_1, G_2
    lumps: Float[AnyArray, "2"]  #: masses at root and tip [kg], in the matrices above
    shapes: Float[AnyArray, "whole d"] | None = None  #: a condensed link's unknowns before that

    @property
    def inner(self) -> int:
        """Unknowns besides those of the ends."""
        return self.M.shape[-1] - 2 * END


class MovingLink(NamedTuple):
    """Equation (2): M d'' + C d' + K d + f, with the elastic part of K apart."""

    M: Float[AnyArray, "d d"]
    C: Float[AnyArray, "d d"]
    K: Float[AnyArray, "d d"]
    f: Float[AnyArray, " d"]


def link(
    beam: Beam,
    length: Float[AnyArray, ""] | float,
    *,
    elements: int = 1,
    family: str = "linear/cubic",
    slender: bool = True,
    lumps: Float[AnyArray, "2"] | tuple[float, float] = (0.0, 0.0),
) -> Link:
    """A link of equal elements, with masses lumped at its root and tip [kg]."""
    inner_unknowns(elements, family, slender)  # says what is wrong
    nodal = FAMILIES[family]
    L = jnp.asarray(length, float)
    h = L / elements
    xi, weights = np.polynomial.legendre.leggauss(8)
    xi, dx = (xi + 1) / 2, jnp.asarray(weights / 2) * h
    N = _fields(beam, h, xi, family, slender)
    rho, rotary = beam.mass, jnp.asarray(beam.rotary).at[1:].multiply(0.0 if slender else 1.0)
    place = jnp.stack([N.u, N.v, N.w])  # (3, G, e)
    turn = jnp.stack([N.phi, -N.b, N.a])
    spins = jnp.einsum("g,k,kga,kgb->ab", dx, rotary, turn, turn)
    A = jnp.einsum("g,iga,jgb->ijab", rho * dx, place, place)
    K = _stiffness(beam, N, dx)
    x = (jnp.arange(float(elements))[:, None] + jnp.asarray(xi)[None, :]) * h  # (n, G)
    each = jnp.ones(elements)
    slopes = jnp.einsum("ga,gb->gab", N.v1, N.v1) + jnp.einsum("ga,gb->gab", N.w1, N.w1)
    ahead, beyond = rho * (L - x), rho * (L * L - x * x) / 2
    put = _Places(elements, nodal)
    return _with_lumps(
        Link(
            length=L,
            M=put.matrix(each, jnp.einsum("iiab->ab", A) + spins),
            K=put.matrix(each, K),
            A=jnp.stack(
                [jnp.stack([put.matrix(each, A[i, j]) for j in range(3)]) for i in range(3)]
            ),
            L0=put.columns(jnp.einsum("n,g,iga->nai", each, rho * dx, place)),
            L1=put.columns(jnp.einsum("ng,g,iga->nai", x, rho * dx, place)),
            spin=put.columns(jnp.einsum("n,g,k,kga->nak", each, dx, rotary, turn)),
            G=jnp.stack(
                [
                    put.matrices(jnp.einsum("ng,g,gab->nab", factor, dx, slopes))
                    for factor in (jnp.ones_like(x), ahead, beyond)
                ]
            ),
            lumps=jnp.zeros(2),
        ),
        jnp.asarray(lumps, float),
    )


def moving(
    link: Link,
    W: Float[AnyArray, "3 3"],
    X: Float[AnyArray, "3 3"],
    c: Float[AnyArray, "3"],
    tension: Float[AnyArray, ""] | None = None,
) -> MovingLink:
    """The link in a frame that moves, equation (2); without `tension` P_l [N], without Kg."""
    K = link.K + jnp.einsum("ij,ijab->ab", X, link.A)
    if tension is not None:
        factors = jnp.stack([tension, -c[0], -X[0, 0]])
        K = K + jnp.einsum("k,kab->ab", factors, link.G)
    alpha = jnp.stack([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]]) / 2
    f = link.L0 @ c + link.L1 @ X[:, 0] + link.spin @ alpha
    return MovingLink(link.M, 2 * jnp.einsum("ij,ijab->ab", W, link.A), K, f)


def tip_tension(
    link: Link, X: Float[AnyArray, "3 3"], c: Float[AnyArray, "3"], d: Float[AnyArray, " d"]
) -> Float[AnyArray, ""]:
    """P_l [N]: the pull at the tip of a link that is displaced by `d`, its lump apart."""
    row = END + U
    load = link.L0[row] @ c + link.L1[row] @ X[:, 0]
    own = link.lumps[1] * (c[0] + X[0, 0] * link.length)
    return link.K[row] @ d + load - own


def condensed(link: Link, modes: int) -> Link:
    """The link with its ends and the lowest `modes` of those between them held."""
    if not 0 <= modes <= link.inner:
        raise InputError(f"A link with {link.inner} inner unknowns has no {modes} modes to keep.")
    ends, inner = slice(None, 2 * END), slice(2 * END, None)
    follow = -jnp.linalg.solve(link.K[inner, inner], link.K[inner, ends])
    lower = jnp.linalg.cholesky(link.M[inner, inner])
    half = solve_triangular(lower, link.K[inner, inner], lower=True)
    scaled = solve_triangular(lower, half.T, lower=True)
    lowest = jnp.linalg.eigh((scaled + scaled.T) / 2)[1][:, :modes]
    shapes = solve_triangular(lower.T, lowest, lower=False)
    Psi = jnp.block([[jnp.eye(2 * END), jnp.zeros((2 * END, modes))], [follow, shapes]])

    def both(matrix: Float[AnyArray, "... d d"]) -> Float[AnyArray, "... r r"]:
        return Psi.T @ matrix @ Psi

    return Link(
        length=link.length,
        M=both(link.M),
        K=both(link.K),
        A=jnp.einsum("ap,ijab,bq->ijpq", Psi, link.A, Psi),
        L0=Psi.T @ link.L0,
        L1=Psi.T @ link.L1,
        spin=Psi.T @ link.spin,
        G=jnp.einsum("ap,kab,bq->kpq", Psi, link.G, Psi),
        lumps=link.lumps,
        shapes=Psi,
    )


def inner_unknowns(elements: int, family: str, slender: bool = True) -> int:
    """Unknowns of a link besides those of its ends; a sentence if there is no such link."""
    if family not in FAMILIES:
        raise InputError(f"Elements are not '{family}'. {did_you_mean(family, FAMILIES)}")
    if not 1 <= elements <= MOST_ELEMENTS:
        raise InputError(f"A link has 1 to {MOST_ELEMENTS} elements, not {elements}.")
    if not slender and family != "linear/cubic":
        raise InputError(f"Timoshenko's elements are 'linear/cubic', not '{family}'.")
    return (elements + 1) * FAMILIES[family] - 2 * END


# Shape functions


class _Fields(NamedTuple):
    """Displacements and rotations in an element, (G, e) each; 1 is a derivative by x."""

    u: AnyArray
    phi: AnyArray
    v: AnyArray
    w: AnyArray
    a: AnyArray  #: slope of sections in v
    b: AnyArray  #: the same in w
    u1: AnyArray
    phi1: AnyArray
    v1: AnyArray
    w1: AnyArray
    a1: AnyArray
    b1: AnyArray


def strain_fields(
    beam: Beam, h: Float[AnyArray, ""], xi: np.ndarray, family: str, slender: bool
) -> Float[AnyArray, "4 G e"]:
    """u', phi', and the curvatures in v and w, of the unknowns of an element of length h."""
    N = _fields(beam, h, xi, family, slender)
    return jnp.stack([N.u1, N.phi1, N.a1, N.b1])


def section_fields(
    beam: Beam, h: Float[AnyArray, ""], xi: np.ndarray, family: str, slender: bool
) -> Float[AnyArray, "4 G e"]:
    """u, v, w and phi of the unknowns of an element of length h."""
    N = _fields(beam, h, xi, family, slender)
    return jnp.stack([N.u, N.v, N.w, N.phi])


def element_places(elements: int, family: str) -> np.ndarray:
    """Which unknowns of a link are those of each element, (n, e)."""
    return _Places(elements, FAMILIES[family]).index


def _fields(
    beam: Beam, h: Float[AnyArray, ""], xi: np.ndarray, family: str, slender: bool
) -> _Fields:
    if family == "linear/cubic":
        u, u1, _ = hermite(1, xi, h)
        bent = [
            _bent(beam.bending_z, beam.shear_y, xi, h, slender),
            _bent(beam.bending_y, beam.shear_z, xi, h, slender),
        ]
        columns = [(U,), (PHI,), (V, V1), (W, W1)]
    else:
        u, u1, _ = hermite(2, xi, h)
        v, v1, v2 = hermite(3, xi, h)
        bent = [(v, v1, v1, v2)] * 2
        columns = [(U, END), (PHI, END + 1), (V, V1, END + 2), (W, W1, END + 3)]
    along, turned, *across = (_spread(places, FAMILIES[family]) for places in columns)
    (v, v1, a, a1), (w, w1, b, b1) = (
        tuple(part @ to for part in parts) for parts, to in zip(bent, across, strict=True)
    )
    return _Fields(u @ along, u @ turned, v, w, a, b, u1 @ along, u1 @ turned, v1, w1, a1, b1)


def hermite(k: int, xi: np.ndarray, h: Float[AnyArray, ""]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Hermite's polynomials of k values at each end, and two derivatives by x; (G, 2 k) each.

    Values are those of the function, its first derivative by x, ... at the root, then at the tip.
    """
    powers = np.arange(2 * k)
    ends = np.stack([_monomials(np.array([x]), j, powers)[0] for x in (0.0, 1.0) for j in range(k)])
    coefficients = np.linalg.inv(ends)
    units = h ** jnp.tile(jnp.arange(float(k)), 2)[None, :]
    tables = [_monomials(xi, j, powers) @ coefficients for j in range(3)]
    return tuple(jnp.asarray(table) * units / h**j for j, table in enumerate(tables))  # pyright: ignore[reportReturnType]


def _monomials(xi: np.ndarray, order: int, powers: np.ndarray) -> np.ndarray:
    """Derivatives of xi^p, (G, p)."""
    factor = np.prod([powers - j for j in range(order)], axis=0) if order else np.ones(len(powers))
    return factor * xi[:, None] ** np.maximum(powers - order, 0)


def _bent(
    bending: Float[AnyArray, ""],
    shear: Float[AnyArray, ""],
    xi: np.ndarray,
    h: Float[AnyArray, ""],
    slender: bool,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Deflection, its derivative, slope of sections and its derivative; (G, 4) each.

    With Phi = 12 E I / (k G A h^2), a load at the tip bends the beam by a cubic and shears it by
    a line; sections turn by v' less the shear.
    """
    v, v1, v2 = hermite(2, xi, h)
    if slender:
        return v, v1, v1, v2
    Phi = 12 * bending / (shear * h * h)
    one, s = np.ones_like(xi), xi
    zero = np.zeros_like(xi)
    sheared = jnp.asarray(np.stack([1 - s, (s - s * s) / 2, s, (s * s - s) / 2], axis=1))
    sheared1 = jnp.asarray(np.stack([-one, (1 - 2 * s) / 2, one, (2 * s - 1) / 2], axis=1))
    turned = jnp.asarray(np.stack([zero, 1 - s, zero, s], axis=1))
    turned1 = jnp.asarray(np.stack([zero, -one, zero, one], axis=1)) / h
    units = h ** jnp.array([0.0, 1.0, 0.0, 1.0])[None, :]
    share = 1 / (1 + Phi)
    return (
        share * (v + Phi * sheared * units),
        share * (v1 + Phi * sheared1 * units / h),
        share * (v1 + Phi * turned),
        share * (v2 + Phi * turned1),
    )


def _spread(places: tuple[int, ...], nodal: int) -> Float[AnyArray, "k e"]:
    """Values at the root, then at the tip, among the unknowns of an element."""
    rows = np.zeros((2 * len(places), 2 * nodal))
    for k, place in enumerate((*places, *(nodal + place for place in places))):
        rows[k, place] = 1.0
    return jnp.asarray(rows)


def _stiffness(beam: Beam, N: _Fields, dx: Float[AnyArray, " G"]) -> Float[AnyArray, "e e"]:
    pairs = [
        (beam.axial, N.u1),
        (beam.torsion, N.phi1),
        (beam.bending_z, N.a1),
        (beam.bending_y, N.b1),
        (beam.shear_y, N.v1 - N.a),
        (beam.shear_z, N.w1 - N.b),
    ]
    return jnp.asarray(sum(k * jnp.einsum("g,ga,gb->ab", dx, s, s) for k, s in pairs))


# Assembly


class _Places:
    """Where the unknowns of elements stand in a link: root, tip, and the rest from the root on."""

    def __init__(self, elements: int, nodal: int) -> None:
        self.size = (elements + 1) * nodal
        nodes = np.arange(self.size).reshape(elements + 1, nodal)
        order = np.concatenate([nodes[0, :END], nodes[-1, :END]])
        order = np.concatenate([order, np.setdiff1d(np.arange(self.size), order)])
        place = np.argsort(order)
        self.index = np.concatenate([place[nodes[:-1]], place[nodes[1:]]], axis=1)

    def matrix(
        self, factors: Float[AnyArray, " n"], one: Float[AnyArray, "e e"]
    ) -> Float[AnyArray, "d d"]:
        return self.matrices(factors[:, None, None] * one[None])

    def matrices(self, each: Float[AnyArray, "n e e"]) -> Float[AnyArray, "d d"]:
        rows, columns = self.index[:, :, None], self.index[:, None, :]
        return jnp.zeros((self.size, self.size)).at[rows, columns].add(each)

    def columns(self, each: Float[AnyArray, "n e 3"]) -> Float[AnyArray, "d 3"]:
        return jnp.zeros((self.size, 3)).at[self.index].add(each)


def _with_lumps(link: Link, masses: Float[AnyArray, "2"]) -> Link:
    """Masses at the root and at the tip of a link."""
    place = np.zeros((2, 3, len(link.M)))
    for end in range(2):
        for axis, unknown in enumerate((U, V, W)):
            place[end, axis, END * end + unknown] = 1.0
    rows, x = jnp.asarray(place), jnp.stack([jnp.zeros(()), link.length])
    A = jnp.einsum("m,mia,mjb->ijab", masses, rows, rows)
    return eqx.tree_at(
        lambda k: (k.M, k.A, k.L0, k.L1, k.lumps),
        link,
        (
            link.M + jnp.einsum("iiab->ab", A),
            link.A + A,
            link.L0 + jnp.einsum("m,mia->ai", masses, rows),
            link.L1 + jnp.einsum("m,m,mia->ai", masses, x, rows),
            masses,
        ),
    )
