// Takes a 4x4 matrix apart into position, rotation and scale.
#pragma once

#include <array>

#include "schema/scene.h"

namespace muster {

/// Row by row; a point is a column to its right.
using Matrix = std::array<std::array<double, 4>, 4>;

struct Decomposed {
  scene::Transform transform;
  /// The largest difference between an axis of the matrix and of the recomposed transform, as a
  /// part of the longest axis.
  double error = 0;
  /// False: the matrix holds infinities or no numbers; the transform is the identity.
  bool finite = true;
};

/// Exact up to rounding if there is no shear. For a mirroring, chooses the form with the smallest
/// rotation. Axes of no length get rotations that complete the others.
Decomposed decompose(const Matrix& matrix);

/// The matrix of a transform.
Matrix compose(const scene::Transform& transform);

}  // namespace muster
