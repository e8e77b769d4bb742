/* Any tree with closed loops in Pinocchio, and the torques of its motors.
 *
 * h = M a + b is what its recursive Newton-Euler algorithm asks of all coordinates. With J v = 0
 * for the loops, motors give tau and loops give `force`, so that nothing else needs to push:
 *
 *     h = S^T tau + J^T force                                                          (1)
 *
 * The rows of (1) that are no motor's are as many as the rows of J: one LU finds `force`. Rows
 * of J hold the columns of the joints that carry the ends of a loop, and zeros.
 */
/* What Pinocchio's CMake target defines; without it Boost is too small for its joints. */
#define BOOST_MPL_LIMIT_LIST_SIZE 30
#define BOOST_MPL_LIMIT_VECTOR_SIZE 30
#define BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS
#define BOOST_FUSION_INVOKE_MAX_ARITY 12

#include <string>
#include <vector>

#include <Eigen/Dense>

#include "pinocchio/multibody.hpp"
#include "pinocchio/algorithm/jacobian.hpp"
#include "pinocchio/algorithm/rnea.hpp"

namespace
{
using namespace pinocchio;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

/* A rotation by rows, then a point. */
SE3 placement(const double * n)
{
    using Rows = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    return SE3(Eigen::Map<const Rows>(n), Vector3d(n[9], n[10], n[11]));
}

/* Mass, centre of mass, and inertia about it by rows. */
Inertia body(const double * n)
{
    const Eigen::Matrix3d about = Eigen::Map<const Eigen::Matrix3d>(n + 4);
    return Inertia(n[0], Vector3d(n[1], n[2], n[3]), about);
}

JointModel joint(long kind)
{
    switch (kind) {
    case 0: return JointModelRX();
    case 1: return JointModelRY();
    case 2: return JointModelRZ();
    case 3: return JointModelPZ();
    case 4: return JointModelUniversal(Vector3d::UnitY(), Vector3d::UnitZ());
    default: return JointModelFreeFlyer();
    }
}

/* A frame on a body, and the coordinates that move it. */
struct End
{
    JointIndex joint;
    SE3 place;
    std::vector<Eigen::Index> columns;
};

/* Two frames: their origins meet, or y of the first stays perpendicular to z of the second. */
struct Loop
{
    bool meet;
    End first, second;
};

struct Tree
{
    Model model;
    Data data;
    std::vector<Loop> loops;
    std::vector<Eigen::Index> motors, passive;
    MatrixXd J, A;
    VectorXd b, force;
    Eigen::PartialPivLU<MatrixXd> lu;

    End end(JointIndex joint, const SE3 & place) const
    {
        End found{joint, place, {}};
        for (const auto k : model.supports[joint])
            for (int i = 0; k > 0 && i < model.joints[k].nv(); i++)
                found.columns.push_back(model.joints[k].idx_v() + i);
        return found;
    }

    void prepare(const double * rotors)
    {
        std::vector<bool> driven(model.nv, false);
        for (std::size_t k = 0; k < motors.size(); k++) {
            driven[motors[k]] = true;
            model.armature[motors[k]] = rotors[k];
        }
        for (int k = 0; k < model.nv; k++)
            if (!driven[k])
                passive.push_back(k);
        int rows = 0;
        for (const auto & loop : loops)
            rows += loop.meet ? 3 : 1;
        J = MatrixXd::Zero(rows, model.nv);
        A.resize(passive.size(), rows);
        b.resize(passive.size());
        force.resize(rows);
        data = Data(model);
    }

    void jacobian()
    {
        int row = 0;
        for (const auto & loop : loops) {
            const SE3 first = data.oMi[loop.first.joint] * loop.first.place;
            const SE3 second = data.oMi[loop.second.joint] * loop.second.place;
            const int rows = loop.meet ? 3 : 1;
            J.middleRows(row, rows).setZero();
            const Vector3d n = first.rotation().col(1).cross(second.rotation().col(2));
            const auto add = [&](const End & end, const Vector3d & p, double sign) {
                for (const auto k : end.columns) {
                    const auto twist = data.J.col(k);
                    if (loop.meet)
                        J.block<3, 1>(row, k) +=
                            sign * (twist.head<3>() + twist.tail<3>().cross(p));
                    else
                        J(row, k) += sign * n.dot(twist.tail<3>());
                }
            };
            add(loop.first, first.translation(), -1);
            add(loop.second, second.translation(), 1);
            row += rows;
        }
    }

    /* Equation (1). */
    template<typename Given>
    void inverse(const Given & q, const Given & v, const Given & a, double * tau)
    {
        const VectorXd & h = rnea(model, data, q, v, a);
        computeJointJacobians(model, data, q);
        jacobian();
        for (std::size_t k = 0; k < passive.size(); k++) {
            A.row(k) = J.col(passive[k]).transpose();
            b[k] = h[passive[k]];
        }
        lu.compute(A);
        force = lu.solve(b);
        for (std::size_t k = 0; k < motors.size(); k++)
            tau[k] = h[motors[k]] - J.col(motors[k]).dot(force);
    }
};
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/* Of `joints` joints: parents (0 is the base), kinds, placements (12), bodies (13); of `loops`
 * loops: kinds (1 meets), joints (2), placements (2 * 12); motors, as joints of one coordinate.
 * NULL if the equations are not as many as the unknowns. */
EXPORT void * create(
    long joints, const long * parents, const long * kinds, const double * places,
    const double * bodies, long loops, const long * meets, const long * held,
    const double * ends, long motors, const long * driven, const double * rotors,
    const double * gravity)
{
    Tree * tree = new Tree();
    Model & model = tree->model;
    model.gravity.linear(Vector3d(gravity[0], gravity[1], gravity[2]));
    for (long k = 0; k < joints; k++) {
        const auto id = model.addJoint(
            parents[k], joint(kinds[k]), placement(places + 12 * k), std::to_string(k + 1));
        if (bodies[13 * k] > 0)
            model.appendBodyToJoint(id, body(bodies + 13 * k), SE3::Identity());
    }
    for (long k = 0; k < loops; k++)
        tree->loops.push_back(
            {meets[k] == 1, tree->end(held[2 * k], placement(ends + 24 * k)),
             tree->end(held[2 * k + 1], placement(ends + 24 * k + 12))});
    for (long k = 0; k < motors; k++)
        tree->motors.push_back(model.joints[driven[k]].idx_v());
    tree->prepare(rotors);
    if (tree->A.rows() != tree->A.cols()) {
        delete tree;
        return nullptr;
    }
    return tree;
}

/* Torques (n, motors) at the coordinates (n, nq), velocities and accelerations (n, nv). */
EXPORT void inverse(
    void * robot, long n, const double * q, const double * v, const double * a, double * tau)
{
    using Given = Eigen::Map<const VectorXd>;
    Tree & tree = *static_cast<Tree *>(robot);
    const long nq = tree.model.nq, nv = tree.model.nv, motors = tree.motors.size();
    for (long j = 0; j < n; j++)
        tree.inverse(
            Given(q + nq * j, nq), Given(v + nv * j, nv), Given(a + nv * j, nv),
            tau + motors * j);
}
