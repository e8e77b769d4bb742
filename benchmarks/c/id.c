/* Inverse dynamics of a Delta, as one would write it by hand: the yardstick of `make bench`.
 *
 * From x, xd, xdd of the platform to the torques of the motors, in closed form and without
 * trigonometry. Letters are those of src/triskele/kinematics/delta.py; with p = x + (r - R) u
 * the wrist seen from the motor, s = p - L a the rod, K = L p.a, H = L s.a', C = L cos q and
 * S = L sin q, s.s = d^2 and its derivatives read
 *
 *     K    = (p.p + L^2 - d^2) / 2,    K^2 + H^2 = L^2 (p_u^2 + p_k^2)
 *     H qd = s.xd
 *     H qdd = s.xdd + xd.xd + 2 (S xd_u + C xd_k) qd + K qd^2
 *
 * An elbow accelerates with b = L (a' qdd - a qd^2); a thin rod is exactly three masses, at
 * its elbow (bb), at its wrist (xx) and between both (bx). All weights, as an acceleration
 * -g, are g k. Then, by virtual work,
 *
 *     f     = m_p (xdd + g k) + sum_i m_xx (xdd + g k) + m_bx (b_i + g k)
 *     tau_i = O qdd + mc g a'.k + L a'.(m_bb (b + g k) + m_bx (xdd + g k)) + H_i y_i
 *
 * with sum_i y_i s_i = f.
 */
#include <math.h>

/* One robot; limbs are alike, but for their azimuth. */
typedef struct {
    double c[3], s[3];       /* cosine and sine of the azimuth */
    double reach, L, d;      /* r - R, arm, rod [m] */
    double O, mc;            /* inertia and first moment of an arm about its motor */
    double m_bb, m_bx, m_xx; /* masses of all rods of a limb [kg] */
    double m_p, g;           /* platform [kg], gravity [m/s^2] */
} robot;

/* The platform: position, velocity and acceleration, with their products. */
typedef struct {
    double x, y, z, xd, yd, zd, xdd, ydd, zdd, at_at, at_v, v_v, at_a;
} motion;

/* What a limb adds: s, acceleration of the elbow outwards and up, tau - H y, and H. */
typedef struct {
    double s[3], b_u, b_k, tau, H;
} limb;

static inline __attribute__((always_inline)) limb one_limb(const robot *m, int i, const motion *p)
{
    const double c = m->c[i], s = m->s[i], L = m->L;
    const double x_u = p->x * c + p->y * s, v_u = p->xd * c + p->yd * s;
    const double a_u = p->xdd * c + p->ydd * s, p_u = x_u + m->reach;
    const double K = 0.5 * (p->at_at + (m->reach * m->reach + L * L - m->d * m->d)) + m->reach * x_u;
    const double square = p_u * p_u + p->z * p->z;
    const double H = sqrt(L * L * square - K * K), part = 1 / square;
    const double C = (K * p_u - H * p->z) * part, S = -(H * p_u + K * p->z) * part;
    const double out = m->reach - C; /* s = x + out u + S k */

    const double share = 1 / H;
    const double qd = (p->at_v + out * v_u + S * p->zd) * share;
    const double qdd = (p->at_a + out * a_u + S * p->zdd + p->v_v
                        + (2 * (S * v_u + C * p->zd) + K * qd) * qd) * share;
    const double square_qd = qd * qd;
    limb result;
    result.s[0] = p->x + out * c, result.s[1] = p->y + out * s, result.s[2] = p->z + S;
    result.b_u = -(S * qdd + C * square_qd), result.b_k = S * square_qd - C * qdd;
    result.tau = (m->O + L * L * m->m_bb) * qdd - m->m_bx * S * a_u
                 - C * ((m->mc / L + m->m_bb + m->m_bx) * m->g + m->m_bx * p->zdd);
    result.H = H;
    return result;
}

/* f.(a x b) */
static inline __attribute__((always_inline)) double triple(
    const double *f, const double *a, const double *b)
{
    return f[0] * (a[1] * b[2] - a[2] * b[1]) + f[1] * (a[2] * b[0] - a[0] * b[2])
           + f[2] * (a[0] * b[1] - a[1] * b[0]);
}

static inline __attribute__((always_inline)) void torques(
    const robot *m, double x, double y, double z, double xd, double yd, double zd,
    double xdd, double ydd, double zdd, double *tau_1, double *tau_2, double *tau_3)
{
    const motion p = {x, y, z, xd, yd, zd, xdd, ydd, zdd, x * x + y * y + z * z,
                      x * xd + y * yd + z * zd, xd * xd + yd * yd + zd * zd,
                      x * xdd + y * ydd + z * zdd};
    const limb a = one_limb(m, 0, &p), b = one_limb(m, 1, &p), c = one_limb(m, 2, &p);
    const double mass = m->m_p + 3 * m->m_xx, weight = (mass + 3 * m->m_bx) * m->g;
    const double f[3] = {
        mass * xdd + m->m_bx * (a.b_u * m->c[0] + b.b_u * m->c[1] + c.b_u * m->c[2]),
        mass * ydd + m->m_bx * (a.b_u * m->s[0] + b.b_u * m->s[1] + c.b_u * m->s[2]),
        mass * zdd + m->m_bx * (a.b_k + b.b_k + c.b_k) + weight};
    const double part = 1 / triple(a.s, b.s, c.s);
    *tau_1 = a.tau + a.H * triple(f, b.s, c.s) * part;
    *tau_2 = b.tau + b.H * triple(f, c.s, a.s) * part;
    *tau_3 = c.tau + c.H * triple(f, a.s, b.s) * part;
}

/* One column per component, (3, n): the compiler makes it SIMD. */
void columns(long n, const robot *given, const double *restrict x, const double *restrict xd,
             const double *restrict xdd, double *restrict tau)
{
    const robot m = *given;
    for (long j = 0; j < n; j++)
        torques(&m, x[j], x[n + j], x[2 * n + j], xd[j], xd[n + j], xd[2 * n + j],
                xdd[j], xdd[n + j], xdd[2 * n + j], tau + j, tau + n + j, tau + 2 * n + j);
}

/* One row per state, (n, 3), state by state. */
void rows(long n, const robot *given, const double *x, const double *xd, const double *xdd,
          double *tau)
{
    const robot m = *given;
    for (long j = 0; j < 3 * n; j += 3)
        torques(&m, x[j], x[j + 1], x[j + 2], xd[j], xd[j + 1], xd[j + 2],
                xdd[j], xdd[j + 1], xdd[j + 2], tau + j, tau + j + 1, tau + j + 2);
}
