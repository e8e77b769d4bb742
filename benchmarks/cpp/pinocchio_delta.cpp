/* A Delta in Pinocchio: a tree with closed loops, and its inverse and forward dynamics.
 *
 * The choice that is most favourable to Pinocchio: both rods of a limb are one, since they
 * stay parallel, and the platform translates.
 *
 *     motor i     hinge about y of the limb            q[3 i]
 *     rod i       universal in its arm, y then z       q[3 i + 1], q[3 i + 2]
 *     platform    three slides                         q[9 .. 11]
 *
 * The lower end of each rod stays on the platform: 9 equations. Joints are added depth first,
 * as Pinocchio's recursions need them.
 */
/* What Pinocchio's CMake target defines; without it Boost is too small for its joints. */
#define BOOST_MPL_LIMIT_LIST_SIZE 30
#define BOOST_MPL_LIMIT_VECTOR_SIZE 30
#define BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS
#define BOOST_FUSION_INVOKE_MAX_ARITY 12

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <Eigen/Dense>

#include "pinocchio/multibody.hpp"
#include "pinocchio/algorithm/constrained-dynamics.hpp"
#include "pinocchio/algorithm/jacobian.hpp"
#include "pinocchio/algorithm/rnea.hpp"

namespace
{
using namespace pinocchio;
using Eigen::Vector3d;
using Coordinates = Eigen::Matrix<double, 12, 1>;
using Loops = Eigen::Matrix<double, 9, 12>;

/* A thin rod from the origin along x. */
Inertia thin_rod(double mass, double length)
{
    const double across = mass * length * length / 12;
    return Inertia(mass, Vector3d(length / 2, 0, 0), Vector3d(0, across, across).asDiagonal());
}

struct Delta
{
    Model model;
    Data data;
    std::array<JointIndex, 3> rods;
    double d;
    std::vector<RigidConstraintModel> loops;
    std::vector<RigidConstraintData> loops_data;
    ProximalSettings settings{1e-12, 0.0, 1};

    Delta(double R, double r, double L, double d, double arm, double rod, double platform, double g)
    : d(d)
    {
        std::array<SE3, 3> limbs;
        model.gravity.linear(Vector3d(0, 0, -g));
        for (int i = 0; i < 3; i++) {
            const Eigen::AngleAxisd turn(2 * M_PI * i / 3, Vector3d::UnitZ());
            limbs[i] = SE3(turn.toRotationMatrix(), Vector3d::Zero());
            const SE3 motor = limbs[i] * SE3(Eigen::Matrix3d::Identity(), Vector3d(R, 0, 0));
            const auto name = std::to_string(i + 1);
            const auto id = model.addJoint(0, JointModelRY(), motor, "motor_" + name);
            model.appendBodyToJoint(id, thin_rod(arm, L), SE3::Identity());
            const JointModelUniversal universal(Vector3d::UnitY(), Vector3d::UnitZ());
            const SE3 elbow(Eigen::Matrix3d::Identity(), Vector3d(L, 0, 0));
            rods[i] = model.addJoint(id, universal, elbow, "rod_" + name);
            model.appendBodyToJoint(rods[i], thin_rod(rod, d), SE3::Identity());
        }
        const auto id = model.addJoint(0, JointModelTranslation(), SE3::Identity(), "platform");
        const Inertia point(platform, Vector3d::Zero(), Eigen::Matrix3d::Zero());
        model.appendBodyToJoint(id, point, SE3::Identity());
        const SE3 end(Eigen::Matrix3d::Identity(), Vector3d(d, 0, 0));
        for (int i = 0; i < 3; i++) {
            const SE3 wrist(Eigen::Matrix3d::Identity(), limbs[i].act(Vector3d(r, 0, 0)));
            loops.emplace_back(CONTACT_3D, model, rods[i], end, id, wrist, LOCAL);
            loops_data.emplace_back(loops.back());
        }
        data = Data(model);
        initConstraintDynamics(model, data, loops, loops_data);
    }

    /* Velocity of each rod's end seen from the platform, per unit of joint velocity. */
    Loops jacobian()
    {
        Loops J = Loops::Zero();
        for (int i = 0; i < 3; i++)
            loops[i].calc(model, data, loops_data[i]);
        getConstraintsJacobian(model, data, loops, loops_data, J);
        return J;
    }

    /* The same, in other axes, for one who knows that limbs do not share joints: faster. */
    Loops jacobian_by_hand()
    {
        Loops J = Loops::Zero();
        for (int i = 0; i < 3; i++) {
            const Vector3d p = data.oMi[rods[i]].act(Vector3d(d, 0, 0));
            for (int k = 3 * i; k < 3 * i + 3; k++) {
                const auto column = data.J.col(k);
                J.block<3, 1>(3 * i, k) = column.head<3>() + column.tail<3>().cross(p);
            }
            J.block<3, 3>(3 * i, 9) = -Eigen::Matrix3d::Identity();
        }
        return J;
    }

    /* Torques of the motors, with which no other joint needs one: h = S tau + J^T force. */
    Vector3d inverse(
        const Coordinates & q, const Coordinates & v, const Coordinates & a, bool by_hand)
    {
        static const std::array<int, 9> passive{1, 2, 4, 5, 7, 8, 9, 10, 11};
        static const std::array<int, 3> motors{0, 3, 6};
        const Coordinates h = rnea(model, data, q, v, a);
        computeJointJacobians(model, data, q);
        const Loops J = by_hand ? jacobian_by_hand() : jacobian();
        Eigen::Matrix<double, 9, 9> A;
        Eigen::Matrix<double, 9, 1> b;
        for (int k = 0; k < 9; k++) {
            A.row(k) = J.col(passive[k]).transpose();
            b[k] = h[passive[k]];
        }
        const Eigen::Matrix<double, 9, 1> force = A.partialPivLu().solve(b);
        Vector3d tau;
        for (int k = 0; k < 3; k++)
            tau[k] = h[motors[k]] - J.col(motors[k]).dot(force);
        return tau;
    }

    const Data::TangentVectorType & forward(
        const Coordinates & q, const Coordinates & v, const Coordinates & tau)
    {
        return constraintDynamics(model, data, q, v, tau, loops, loops_data, settings);
    }
};

/* tau_i(t) = hold_i + swing_i cos(rate_i t) at the motors, nothing elsewhere. */
Coordinates drive(const double * torque, double t)
{
    Coordinates tau = Coordinates::Zero();
    for (int i = 0; i < 3; i++)
        tau[3 * i] = torque[i] + torque[3 + i] * std::cos(torque[6 + i] * t);
    return tau;
}
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/* numbers: R, r, L, d [m], arm, both rods, platform [kg], g [m/s^2] */
EXPORT void * create(const double * numbers)
{
    const double * n = numbers;
    return new Delta(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
}

/* Torques (n, 3) at the coordinates, velocities and accelerations (n, 12) of all joints. */
EXPORT void inverse(
    void * robot, long n, const double * q, const double * v, const double * a, double * tau,
    int by_hand)
{
    using Given = Eigen::Map<const Coordinates>;
    Delta & delta = *static_cast<Delta *>(robot);
    for (long j = 0; j < n; j++)
        Eigen::Map<Vector3d>(tau + 3 * j) =
            delta.inverse(Given(q + 12 * j), Given(v + 12 * j), Given(a + 12 * j), by_hand);
}

/* Platform (steps + 1, 3) over `duration`, by Runge and Kutta of order 4 with equal steps. */
EXPORT void simulate(
    void * robot, const double * q_0, const double * torque, double duration, long steps,
    double * x)
{
    Delta & delta = *static_cast<Delta *>(robot);
    Coordinates q = Eigen::Map<const Coordinates>(q_0), v = Coordinates::Zero();
    const double dt = duration / steps;
    Eigen::Map<Vector3d>(x + 0) = q.tail<3>();
    for (long j = 0; j < steps; j++) {
        const double t = j * dt;
        const Coordinates middle = drive(torque, t + dt / 2);
        const Coordinates a_1 = delta.forward(q, v, drive(torque, t));
        const Coordinates v_2 = v + dt / 2 * a_1;
        const Coordinates a_2 = delta.forward(q + dt / 2 * v, v_2, middle);
        const Coordinates v_3 = v + dt / 2 * a_2;
        const Coordinates a_3 = delta.forward(q + dt / 2 * v_2, v_3, middle);
        const Coordinates v_4 = v + dt * a_3;
        const Coordinates a_4 = delta.forward(q + dt * v_3, v_4, drive(torque, t + dt));
        q += dt / 6 * (v + 2 * v_2 + 2 * v_3 + v_4);
        v += dt / 6 * (a_1 + 2 * a_2 + 2 * a_3 + a_4);
        Eigen::Map<Vector3d>(x + 3 * (j + 1)) = q.tail<3>();
    }
}
