/* Inverse kinematics of a Delta, as one would write it by hand: the yardstick of `make bench`.
 *
 * The formula of Delta.inverse (src/triskele/kinematics/delta.py), a scalar loop over poses
 * (n, 3) with the atan2 of libm; angles (n, 3). A limb is cos phi, sin phi, r - R, L, d.
 */
#include <math.h>

void inverse(long n, const double *limbs, const double *poses, double *angles)
{
    for (long j = 0; j < n; j++) {
        const double x = poses[3 * j], y = poses[3 * j + 1], s_k = poses[3 * j + 2];
        for (int i = 0; i < 3; i++) {
            const double *limb = limbs + 5 * i;
            const double c = limb[0], s = limb[1], L = limb[3], d = limb[4];
            const double s_u = x * c + y * s + limb[2], s_v = y * c - x * s;
            const double square = s_u * s_u + s_k * s_k;
            const double k = (square + s_v * s_v + L * L - d * d) / (2 * L);
            const double rest = square - k * k;
            const double h = rest > 0 ? sqrt(rest) : 0;
            angles[3 * j + i] = atan2(-h * s_u - k * s_k, k * s_u - h * s_k);
        }
    }
}
