// Decomposes a 4x4 matrix into position, rotation, and scale.
#pragma once

#include <array>

#include "schema/scene.h"

namespace muster {

/// A matrix in row-major order. To transform a point, multiply the matrix by the point as a column
/// vector.
using Matrix = std::array<std::array<double, 4>, 4>;

struct Decomposed {
  scene::Transform transform;
  /// The largest difference between an axis of the matrix and the same axis of the recomposed
  /// transform, relative to the longest axis.
  double error = 0;
  /// False if the matrix contains NaNs or numbers beyond the range of float, in which case the
  /// transform is the identity.
  bool finite = true;
};

/// Decomposes a matrix. The result is exact up to rounding if there is no shear. For a mirrored
/// matrix, chooses the form with the smallest rotation. Axes of zero length get directions that
/// complete the other axes.
Decomposed decompose(const Matrix& matrix);

/// Returns the matrix of a transform.
Matrix compose(const scene::Transform& transform);

}  // namespace muster
