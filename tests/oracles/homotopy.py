"""All poses of a platform on six struts of given lengths, by following paths of complex solutions.

A pose is a pair of quaternions z = (e, g), up to a factor, with p = 2 g e* / |e|^2 and the rotation
of e. Seven quadratic forms vanish on it, the condition of Study and one for each strut,

    e . g = 0
    (|a|^2 + |b|^2 - l^2) |e|^2 + 4 |g|^2 + 4 b . vec(e* g) - 4 a . vec(g e*) - 2 a . (e b e*) = 0

from foot a to ball b (Husty 1996). In general 40 complex z with e != 0 solve them (Ronga and Vust,
Lazard, Raghavan). They are found once, for a random complex platform, from the 2^7 solutions
of z_k^2 = z_0^2, and then followed to any platform of interest. Nothing is shared with the package.
"""

from functools import cache

import numpy as np

SOLUTIONS = 40
_LEAST = 1e-9  # step
_NO_POSE = 0.1  # share of e in z, a unit vector; of real poses, |p| below 2 m, it is above 0.7


def _product(p, q):
    """The product of two quaternions (w, x, y, z)."""
    a, b = p[0], q[0]
    v, w = np.array(p[1:]), np.array(q[1:])
    return np.concatenate([[a * b - v @ w], a * w + b * v + np.cross(v, w)])


_UNITS = np.eye(4)
_TIMES = np.array([[_product(p, q) for q in _UNITS] for p in _UNITS])  # i, j, k
_CONJUGATE = np.diag([1.0, -1.0, -1.0, -1.0])


def forms(a, b, square):
    """The seven matrices (..., 7, 8, 8) of feet and balls (..., 6, 3) and squared lengths."""
    lead = square.shape[:-1]
    Q = np.zeros((*lead, 7, 8, 8), complex)
    Q[..., 0, :4, 4:] = np.eye(4)
    size = (a * a).sum(-1) + (b * b).sum(-1) - square
    Q[..., 1:, :4, :4] += size[..., None, None] * np.eye(4)
    Q[..., 1:, 4:, 4:] += 4 * np.eye(4)
    inner = np.einsum("ia,ajk->ijk", _CONJUGATE, _TIMES)[..., 1:]  # vec(e* g)
    outer = np.einsum("jb,ibk->jik", _CONJUGATE, _TIMES)[..., 1:]  # vec(g e*), e first
    Q[..., 1:, :4, 4:] += 4 * np.einsum("ijk,...k->...ij", inner, b)
    Q[..., 1:, :4, 4:] -= 4 * np.einsum("ijk,...k->...ij", outer, a)
    # e b e*: (e b) e*
    turned = np.einsum("imk,knl,jn->ijml", _TIMES[:, 1:], _TIMES, _CONJUGATE)[..., 1:]
    Q[..., 1:, :4, :4] -= 2 * np.einsum("ijml,...m,...l->...ij", turned, b, a)
    return (Q + np.swapaxes(Q, -1, -2)) / 2


def _random(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def _followed(parts, z, steps=2000):
    """Solutions at t = 1 of forms C_0 + t C_1 + t^2 C_2 from those at t = 0, and which came there.

    Euler's step and Newton's method, with a step of its own for each path. Each z is kept a unit
    vector, and moves at right angles to itself: no path runs to infinity.
    """
    t, h, ended = np.zeros(len(z)), np.full(len(z), 0.01), np.zeros(len(z), bool)
    z = z / np.linalg.norm(z, axis=1)[:, None]
    for _ in range(steps):
        live = np.flatnonzero((t < 1) & ~ended)
        if not len(live):
            break
        step = np.minimum(h[live], 1 - t[live])
        new, ok = _advanced(parts[:, live], z[live], t[live], step)
        z[live[ok]], t[live[ok]] = new[ok], t[live[ok]] + step[ok]
        h[live] = np.where(ok, np.minimum(2 * step, 0.05), step / 4)
        ended[live] = h[live] < _LEAST
    return z, t >= 1


def _advanced(C, z, t, step):
    """The next points, and whether Newton's method has found them near by."""
    u = t[:, None, None, None]
    H, A = _values(C[0] + u * (C[1] + u * C[2]), z, z.conj())
    rate = _values(C[1] + 2 * u * C[2], z, z.conj())[0]
    rate[:, -1] = 0
    new, u = z - _solved(A, rate) * step[:, None], u + step[:, None, None, None]
    Q, change = C[0] + u * (C[1] + u * C[2]), new
    for _ in range(3):
        H, A = _values(Q, new, z.conj())
        change = _solved(A, H)
        new = new - change
    size = np.linalg.norm(new, axis=1)
    ok = (np.linalg.norm(new - z, axis=1) < 0.1) & (np.linalg.norm(change, axis=1) < 1e-10)
    return new / size[:, None], ok


def _values(Q, z, normal):
    """Values of the forms and of normal . z - 1, and their Jacobian."""
    rows = (Q @ z[:, None, :, None])[..., 0]
    values = np.einsum("nqi,ni->nq", rows, z)
    on = np.einsum("ni,ni->n", normal, z) - 1
    A = np.concatenate([2 * rows, normal[:, None, :]], axis=1)
    return np.concatenate([values, on[:, None]], axis=1), A


def _solved(A, b):
    try:
        return np.linalg.solve(A, b[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.stack([np.linalg.lstsq(a, c, rcond=None)[0] for a, c in zip(A, b, strict=True)])


@cache
def _generic():
    """A random complex platform, and its 40 solutions."""
    rng = np.random.default_rng(3)
    a, b, square = _random(rng, 6, 3), _random(rng, 6, 3), _random(rng, 6)
    target, gamma = forms(a, b, square), np.exp(2j)
    start = np.zeros((7, 8, 8), complex)
    for k in range(7):
        start[k, 0, 0], start[k, k + 1, k + 1] = -1, 1
    signs = np.array(np.meshgrid(*[[1, -1]] * 7)).reshape(7, -1).T
    z = np.concatenate([np.ones((128, 1)), signs], axis=1).astype(complex)
    parts = np.stack([gamma * start, target - gamma * start, np.zeros_like(target)])
    z, whole = _followed(np.repeat(parts[:, None], 128, axis=1), z)
    # The others run to e = 0, which is no pose.
    found = _different(z[whole & (np.linalg.norm(z[:, :4], axis=1) > 1e-4)])
    assert len(found) == SOLUTIONS, f"{len(found)} solutions of a random platform"
    return a, b, square, found


def _different(z):
    """Each solution once."""
    found = []
    for item in z:
        unit = item / np.linalg.norm(item)
        if all(abs(abs(np.vdot(unit, other)) - 1) > 1e-10 for other in found):
            found.append(unit)
    return np.array(found)


def poses(a, b, lengths):
    """All real poses (position, rotation matrix) for each row of feet, balls and six lengths."""
    *first, z = _generic()
    last = (np.asarray(a), np.asarray(b), np.square(lengths))
    # Linear in t are feet, balls and squared lengths, quadratic are the forms.
    Q = [
        forms(*((1 - t) * start + t * end for start, end in zip(first, last, strict=True)))
        for t in (0.0, 0.5, 1.0)
    ]
    parts = np.stack([Q[0], 4 * Q[1] - Q[2] - 3 * Q[0], 2 * (Q[0] + Q[2] - 2 * Q[1])])
    count = len(lengths)
    z, whole = _followed(np.repeat(parts, SOLUTIONS, axis=1), np.tile(z, (count, 1)))
    # Paths to complex poses far away, and to e = 0 for platforms of symmetric shape, may not end.
    share = np.linalg.norm(z[:, :4], axis=1)
    assert (share[~whole] < _NO_POSE).all(), "a path to a pose has no end"
    found = [[] for _ in lengths]
    for k in np.flatnonzero(whole & (share > _NO_POSE)):
        turned = z[k] / z[k, np.abs(z[k, :4]).argmax()]
        if np.abs(turned.imag).max() < 1e-6 * np.abs(turned).max():
            found[k // SOLUTIONS].append(_pose(turned.real))
    return found


def _pose(z):
    e, g = z[:4], z[4:]
    square = e @ e
    p = 2 * np.einsum("i,j,ijk->k", g, _CONJUGATE @ e, _TIMES)[1:] / square
    R = (
        np.stack(
            [
                np.einsum(
                    "i,j,ijk->k", np.einsum("i,j,ijk->k", e, unit, _TIMES), _CONJUGATE @ e, _TIMES
                )
                for unit in np.eye(4)[1:]
            ],
            axis=1,
        )[1:]
        / square
    )
    return p, R
