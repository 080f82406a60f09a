// Records the effects of each call of a handler. Private to registry/moments/*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "registry/float_mode.h"
#include "registry/handlers/handler.h"
#include "registry/moments/fresh_memory.h"
#include "registry/moments/synctest_impl.h"
#include "system/mutex.h"

namespace muster {

/// Records what each call of a handler wrote, posted, and changed in the message and in managers.
/// Before each call, memory that is not initialized gets other bytes; afterward, the floating-point
/// mode is put back.
class Synctest::Impl::Log final : public CallProbe {
 public:
  /// A thorough log also knows what each call found, and whether it wrote what it declares to read.
  enum class Depth : std::uint8_t { brief, thorough };
  /// `number` is the one of FreshMemory. Calls are passed through `inner`, which may be null.
  Log(EntityRegistry& registry, std::uint32_t number, Depth depth, CallProbe* inner = nullptr);

  bool rows(RunRows own, RunContext& context, const Handler& handler, void* message, Chunk& chunk, std::uint32_t begin,
            std::uint32_t end, const std::uint16_t* columns) override;
  ItemCounts items(RunItems own, RunContext& context, const Handler& handler, const ItemRun& run) override;

  /// A handler that left another floating-point mode than it found.
  struct LeftMode {
    const Handler* handler;
    std::string mode;
  };
  const FreshMemory fresh;
  std::vector<HandlerCall> calls;
  std::optional<LeftMode> left_mode;  ///< the first one

 private:
  HandlerCall begin_call(const Handler& handler) const;
  void end_call(HandlerCall& call, const RunContext& context, const BatchWriter::Written& before,
                const FloatMode& mode);
  /// Returns the size of the message if the handler may change it, and otherwise 0.
  std::size_t changed_bytes(const Handler& handler);
  std::uint64_t hash_of_managers();

  EntityRegistry& registry_;
  CallProbe* const inner_;
  const bool is_thorough_;
  std::size_t managers_left_;  // bytes of managers that may still be hashed
  Mutex mutex_;
};

}  // namespace muster
