// Unit of measurement of tools/build_costs.py: it names nothing of Muster, and is never changed.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

template <int N>
struct Shape {
  std::string name = "shape " + std::to_string(N);
  std::vector<double> sides = std::vector<double>(static_cast<std::size_t>(N % 7 + 3), 1.5);
  double length() const { return std::accumulate(sides.begin(), sides.end(), 0.0); }
};

template <int N>
void add(std::map<std::string, std::function<double()>>& measures, std::unordered_map<int, std::string>& names) {
  auto shape = std::make_shared<Shape<N>>();
  std::sort(shape->sides.begin(), shape->sides.end(), [](double a, double b) { return a * N < b * N; });
  measures.emplace(shape->name, [shape] { return shape->length() + N; });
  names[N] = shape->name;
  if constexpr (N > 0) add<N - 1>(measures, names);
}

}  // namespace

double fixed_unit() {
  std::map<std::string, std::function<double()>> measures;
  std::unordered_map<int, std::string> names;
  add<12>(measures, names);
  double sum = static_cast<double>(names.size());
  for (const auto& [name, measure] : measures) sum += measure() * static_cast<double>(name.size());
  return sum;
}
