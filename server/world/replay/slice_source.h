// Passes on the rows of a slice, as a world file does.
#pragma once

#include <functional>
#include <span>

#include "registry/state/state.h"
#include "server/world/replay/slice.h"

namespace muster {

class SliceSource final : public StateSource {
 public:
  explicit SliceSource(const Slice& slice) : slice_(slice) {}
  void rows(StateSection section,
            const std::function<void(const StateKey&, std::span<const std::byte>)>& take) override {
    for (const Slice::Row& row : slice_.rows)
      if (row.key.section == section) take(row.key, row.bytes);
  }

 private:
  const Slice& slice_;
};

}  // namespace muster
