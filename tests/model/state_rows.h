// Saved state in a map: a sink and a source for tests.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/state/state.h"

namespace naive {

using StateRows = std::map<muster::StateKey, std::vector<std::byte>>;

class RowsSink final : public muster::StateSink {
 public:
  explicit RowsSink(StateRows& rows) : rows_(rows) {}
  void row(const muster::StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    twice_ = twice_ || rows_.contains(key);
    rows_[key].assign(bytes.begin(), bytes.end());
  }
  /// Whether a key was given more than once.
  bool twice() const { return twice_; }

 private:
  StateRows& rows_;
  bool twice_ = false;
};

/// All that a save of it writes.
inline StateRows saved_rows(const muster::EntityRegistry& registry) {
  StateRows rows;
  RowsSink sink(rows);
  registry.save(sink);
  return rows;
}

class RowsSource final : public muster::StateSource {
 public:
  explicit RowsSource(const StateRows& rows) : rows_(rows) {}
  void rows(muster::StateSection section,
            const std::function<void(const muster::StateKey&, std::span<const std::byte>)>& take) override {
    for (auto at = rows_.lower_bound({section, 0, 0}); at != rows_.end() && at->first.section == section; ++at)
      take(at->first, at->second);
  }

 private:
  const StateRows& rows_;
};

}  // namespace naive
