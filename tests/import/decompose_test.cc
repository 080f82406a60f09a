#include "client/import/decompose.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/seeds.h"

namespace decompose_test {

using namespace muster;

namespace {

double difference(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t i = 0; i < 4; ++i) most = std::max(most, std::abs(a[row][i] - b[row][i]));
  return most;
}

scene::Transform transform(std::array<float, 3> position, std::array<float, 4> rotation, std::array<float, 3> scale) {
  const float length = std::sqrt(rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2] +
                                 rotation[3] * rotation[3]);
  scene::Transform t;
  t.position = {.x = position[0], .y = position[1], .z = position[2]};
  t.rotation = {
      .x = rotation[0] / length, .y = rotation[1] / length, .z = rotation[2] / length, .w = rotation[3] / length};
  t.scale = {.x = scale[0], .y = scale[1], .z = scale[2]};
  return t;
}

}  // namespace

TEST_CASE("a matrix made of position, rotation and scale comes apart into what makes it again", "[random]") {
  for (const std::uint64_t seed : test::seeds("matrices", 1, 300)) {
    INFO("seed " << seed);
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    std::normal_distribution<float> any;
    std::uniform_real_distribution<float> exponent(-2, 2);
    for (int i = 0; i < 2000; ++i) {
      // Any sign of each factor: all eight ways to mirror.
      const auto factor = [&] { return std::copysign(std::pow(10.f, exponent(random)), any(random)); };
      const auto made = transform({any(random) * 100, any(random) * 100, any(random) * 100},
                                  {any(random), any(random), any(random), any(random)}, {factor(), factor(), factor()});
      const Matrix matrix = compose(made);
      const Decomposed apart = decompose(matrix);
      CHECK(apart.finite);
      CHECK(apart.error < 1e-6);
      CHECK(difference(compose(apart.transform), matrix) < 1e-4);
      CHECK(apart.transform.rotation.w >= 0);
    }
  }
}

TEST_CASE("the identity and half turns come apart exactly") {
  const Matrix identity = compose(scene::Transform{});
  const scene::Transform still = decompose(identity).transform;
  CHECK(still.rotation.w == 1);
  CHECK(still.scale.x == 1);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Matrix turn = identity;
    for (std::size_t other = 0; other < 3; ++other)
      if (other != axis) turn[other][other] = -1;
    const Decomposed apart = decompose(turn);
    CHECK(apart.error == 0);
    CHECK(difference(compose(apart.transform), turn) == 0);
    CHECK(apart.transform.scale.x == 1);
  }
}

TEST_CASE("a mirroring in one axis stays in that axis") {
  Matrix flipped = compose(scene::Transform{});
  flipped[1][1] = -0.1;
  const scene::Transform t = decompose(flipped).transform;
  CHECK(t.scale.x == 1);
  CHECK(t.scale.y == -0.1f);
  CHECK(t.scale.z == 1);
  CHECK(t.rotation.w == 1);
}

TEST_CASE("axes of no length leave a whole rotation and a zero factor") {
  for (unsigned gone = 1; gone < 8; ++gone) {
    INFO("axes " << gone);
    auto made = transform({1, 2, 3}, {0.1f, 0.7f, -0.3f, 0.5f}, {2, 3, 4});
    if (gone & 1) made.scale.x = 0;
    if (gone & 2) made.scale.y = 0;
    if (gone & 4) made.scale.z = 0;
    const Decomposed apart = decompose(compose(made));
    CHECK(difference(compose(apart.transform), compose(made)) < 1e-5);
    const scene::Quat& q = apart.transform.rotation;
    CHECK(std::abs(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-6f);
  }
}

TEST_CASE("shear is measured, and the rest of the transform kept") {
  Matrix sheared = compose(scene::Transform{});
  sheared[0][1] = 0.5;
  sheared[0][3] = 7;
  const Decomposed apart = decompose(sheared);
  CHECK(apart.error > 0.4);
  CHECK(apart.transform.position.x == 7);
  CHECK(apart.transform.scale.x == 1);
}

TEST_CASE("a matrix that is not finite is the identity and says so") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    Matrix matrix = compose(scene::Transform{});
    matrix[2][3] = bad;
    const Decomposed apart = decompose(matrix);
    CHECK_FALSE(apart.finite);
    CHECK(apart.transform.position.z == 0);
  }
}

}  // namespace decompose_test
