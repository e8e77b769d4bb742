/* A Delta in MuJoCo: inverse dynamics by projection, and forward simulation.
 *
 * The model comes from mujoco_delta.py, with the coordinates of pinocchio_delta.cpp: limb by
 * limb the motor and two hinges of the rod, then the platform; 9 equations close the loops.
 *
 * mj_inverse returns M a + h - J^T force with forces of its own, soft loops; no joint but
 * the motors has a motor, so that the difference from S tau is in the range of J^T:
 *
 *     S tau + J^T y = qfrc_inverse                 12 equations for 3 + 9 unknowns
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mujoco/mujoco.h>

enum { NV = 12, LOOPS = 9, MOTORS = 3 };

typedef struct {
    mjModel *model;
    mjData *data;
} robot;

static const int passive[LOOPS] = {1, 2, 4, 5, 7, 8, 9, 10, 11};
static const double *driving; /* what `drive` applies: hold, swing and rate of each motor */

/* The robot of a file that Python has already read: it is known to be right. */
void *create(const char *file)
{
    robot *delta = malloc(sizeof *delta);
    char message[1000];
    delta->model = mj_loadXML(file, 0, message, sizeof message);
    delta->data = mj_makeData(delta->model);
    return delta;
}

/* y with A y = b, by elimination with pivots; A and b are destroyed, y is in b. */
static void solve(double A[LOOPS][LOOPS], double *b)
{
    for (int k = 0; k < LOOPS; k++) {
        int best = k;
        for (int i = k + 1; i < LOOPS; i++)
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        for (int j = k; j < LOOPS; j++) {
            const double entry = A[k][j];
            A[k][j] = A[best][j], A[best][j] = entry;
        }
        const double right = b[k];
        b[k] = b[best], b[best] = right;
        for (int i = k + 1; i < LOOPS; i++) {
            const double factor = A[i][k] / A[k][k];
            if (factor == 0) continue;
            for (int j = k + 1; j < LOOPS; j++) A[i][j] -= factor * A[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (int k = LOOPS - 1; k >= 0; k--) {
        for (int j = k + 1; j < LOOPS; j++) b[k] -= A[k][j] * b[j];
        b[k] /= A[k][k];
    }
}

/* Torques (n, 3) at the coordinates, velocities and accelerations (n, 12) of all joints. */
void inverse(void *given, long n, const double *q, const double *v, const double *a, double *tau)
{
    robot *delta = given;
    mjData *data = delta->data;
    for (long j = 0; j < n; j++) {
        memcpy(data->qpos, q + NV * j, NV * sizeof *q);
        memcpy(data->qvel, v + NV * j, NV * sizeof *v);
        memcpy(data->qacc, a + NV * j, NV * sizeof *a);
        mj_inverse(delta->model, data);
        const mjtNum *h = data->qfrc_inverse, *J = data->efc_J;
        double A[LOOPS][LOOPS], y[LOOPS];
        for (int i = 0; i < LOOPS; i++) {
            for (int k = 0; k < LOOPS; k++) A[i][k] = J[NV * k + passive[i]];
            y[i] = h[passive[i]];
        }
        solve(A, y);
        for (int i = 0; i < MOTORS; i++) {
            double sum = h[3 * i];
            for (int k = 0; k < LOOPS; k++) sum -= J[NV * k + 3 * i] * y[k];
            tau[3 * j + i] = sum;
        }
    }
}

/* Called by MuJoCo, also within the steps of Runge and Kutta. */
static void drive(const mjModel *model, mjData *data)
{
    (void)model;
    for (int i = 0; i < MOTORS; i++)
        data->qfrc_applied[3 * i] =
            driving[i] + driving[3 + i] * cos(driving[6 + i] * data->time);
}

/* Platform (steps + 1, 3) over `duration`; loops are pulled together within two steps. */
void simulate(void *given, const double *q_0, const double *torque, double duration, long steps,
              double *x)
{
    robot *delta = given;
    mjModel *model = delta->model;
    mjData *data = delta->data;
    model->opt.timestep = duration / steps;
    for (int i = 0; i < model->neq; i++) model->eq_solref[mjNREF * i] = 2 * duration / steps;
    mj_resetData(model, data);
    memcpy(data->qpos, q_0, NV * sizeof *q_0);
    memcpy(x, q_0 + 9, 3 * sizeof *x);
    driving = torque;
    mjcb_control = drive;
    for (long j = 1; j <= steps; j++) {
        mj_step(model, data);
        memcpy(x + 3 * j, data->qpos + 9, 3 * sizeof *x);
    }
    mjcb_control = 0;
}
