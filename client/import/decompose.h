// Decomposes a 4x4 matrix into position, rotation and scale.
#pragma once

#include <array>

#include "schema/scene.h"

namespace muster {

/// A row-major matrix. A point is a column vector to its right.
using Matrix = std::array<std::array<double, 4>, 4>;

struct Decomposed {
  scene::Transform transform;
  /// The largest difference between an axis of the matrix and of the recomposed transform, relative
  /// to the longest axis.
  double error = 0;
  /// False if the matrix contains infinities or NaNs; the transform is then the identity.
  bool finite = true;
};

/// Decomposes a matrix, exactly up to rounding if there is no shear. For a mirrored matrix, chooses
/// the form with the smallest rotation. Axes of zero length get rotations that complete the others.
Decomposed decompose(const Matrix& matrix);

/// Returns the matrix of a transform.
Matrix compose(const scene::Transform& transform);

}  // namespace muster
