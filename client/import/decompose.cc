#include "client/import/decompose.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

struct Vector {
  double x = 0, y = 0, z = 0;
};
Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector operator*(Vector a, double f) { return {a.x * f, a.y * f, a.z * f}; }
double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector cross(Vector a, Vector b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
double length(Vector a) { return std::sqrt(dot(a, a)); }

Vector column(const Matrix& m, std::size_t i) { return {m[0][i], m[1][i], m[2][i]}; }

/// Returns a unit vector that is perpendicular to the unit vector `a`.
Vector perpendicular(Vector a) {
  const Vector away = std::abs(a.x) < 0.6 ? Vector{1, 0, 0} : Vector{0, 1, 0};
  const Vector b = away - a * dot(a, away);
  return b * (1 / length(b));
}

using Axes = std::array<Vector, 3>;

scene::Quat quaternion(const Axes& axis) {
  const double m00 = axis[0].x, m10 = axis[0].y, m20 = axis[0].z;
  const double m01 = axis[1].x, m11 = axis[1].y, m21 = axis[1].z;
  const double m02 = axis[2].x, m12 = axis[2].y, m22 = axis[2].z;
  double x, y, z, w;
  if (const double trace = m00 + m11 + m22; trace > 0) {
    const double s = 2 * std::sqrt(1 + trace);
    x = (m21 - m12) / s, y = (m02 - m20) / s, z = (m10 - m01) / s, w = s / 4;
  } else if (m00 > m11 && m00 > m22) {
    const double s = 2 * std::sqrt(1 + m00 - m11 - m22);
    x = s / 4, y = (m01 + m10) / s, z = (m02 + m20) / s, w = (m21 - m12) / s;
  } else if (m11 > m22) {
    const double s = 2 * std::sqrt(1 + m11 - m00 - m22);
    x = (m01 + m10) / s, y = s / 4, z = (m12 + m21) / s, w = (m02 - m20) / s;
  } else {
    const double s = 2 * std::sqrt(1 + m22 - m00 - m11);
    x = (m02 + m20) / s, y = (m12 + m21) / s, z = s / 4, w = (m10 - m01) / s;
  }
  const double f = (w < 0 ? -1 : 1) / std::sqrt(x * x + y * y + z * z + w * w);
  // + 0.0 turns a negative zero into zero, so that equal rotations have equal bytes.
  const auto component = [f](double value) { return static_cast<float>(value * f + 0.0); };
  return {.x = component(x), .y = component(y), .z = component(z), .w = component(w)};
}

scene::Vec3 vec3(Vector v) {
  return {.x = static_cast<float>(v.x + 0.0), .y = static_cast<float>(v.y + 0.0), .z = static_cast<float>(v.z + 0.0)};
}

}  // namespace

Matrix compose(const scene::Transform& t) {
  const double x = t.rotation.x, y = t.rotation.y, z = t.rotation.z, w = t.rotation.w;
  const double sx = t.scale.x, sy = t.scale.y, sz = t.scale.z;
  Matrix m{};
  m[0] = {(1 - 2 * (y * y + z * z)) * sx, 2 * (x * y - z * w) * sy, 2 * (x * z + y * w) * sz, t.position.x};
  m[1] = {2 * (x * y + z * w) * sx, (1 - 2 * (x * x + z * z)) * sy, 2 * (y * z - x * w) * sz, t.position.y};
  m[2] = {2 * (x * z - y * w) * sx, 2 * (y * z + x * w) * sy, (1 - 2 * (x * x + y * y)) * sz, t.position.z};
  m[3] = {0, 0, 0, 1};
  return m;
}

Decomposed decompose(const Matrix& matrix) {
  Decomposed result;
  for (std::size_t row = 0; row < 3; ++row)
    for (const double value : matrix[row])
      // A position or scale beyond the range of float cannot be represented in a transform.
      if (!(std::abs(value) <= 3.4e38)) {
        result.finite = false;
        return result;
      }
  const Axes columns{column(matrix, 0), column(matrix, 1), column(matrix, 2)};
  const double longest = std::max({length(columns[0]), length(columns[1]), length(columns[2])});

  // Gram-Schmidt orthogonalization, which is exact if the axes are already perpendicular. An axis
  // that is (almost) zero compared to the others has no meaningful direction, so it is computed
  // last.
  Axes axis{};
  std::array<double, 3> scale{};
  std::array<bool, 3> known{};
  for (std::size_t i = 0; i < 3; ++i) {
    Vector rest = columns[i];
    for (std::size_t j = 0; j < i; ++j)
      if (known[j]) rest = rest - axis[j] * dot(axis[j], columns[i]);
    scale[i] = length(rest);
    known[i] = scale[i] > longest * 1e-9;
    if (known[i])
      axis[i] = rest * (1 / scale[i]);
    else
      scale[i] = 0;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (known[i]) continue;
    const std::size_t next = (i + 1) % 3, last = (i + 2) % 3;
    if (known[next] && known[last])
      axis[i] = cross(axis[next], axis[last]);
    else if (known[next])
      axis[i] = perpendicular(axis[next]);
    else if (known[last])
      axis[i] = perpendicular(axis[last]);
    else
      axis[i] = {i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0};
    known[i] = true;
  }

  // A left-handed frame is mirrored. Mirror either one axis or all three, whichever results in the
  // smallest rotation.
  if (dot(cross(axis[0], axis[1]), axis[2]) < 0) {
    const double x = axis[0].x, y = axis[1].y, z = axis[2].z;
    const std::array<double, 4> traces{-x + y + z, x - y + z, x + y - z, -x - y - z};
    const auto best = static_cast<std::size_t>(std::ranges::max_element(traces) - traces.begin());
    for (std::size_t i = 0; i < 3; ++i)
      if (best == i || best == 3) {
        axis[i] = axis[i] * -1;
        scale[i] = -scale[i];
      }
  }
  if (!std::ranges::all_of(scale, [](double factor) { return std::abs(factor) <= 3.4e38; })) {
    result.finite = false;
    return result;
  }
  result.transform.position = vec3(column(matrix, 3));
  result.transform.rotation = quaternion(axis);
  result.transform.scale = vec3({scale[0], scale[1], scale[2]});

  const Matrix again = compose(result.transform);
  for (std::size_t i = 0; i < 3; ++i)
    if (longest > 0) result.error = std::max(result.error, length(column(again, i) - columns[i]) / longest);
  return result;
}

}  // namespace muster
