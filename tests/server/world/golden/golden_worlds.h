// Worlds in files that the code of their time wrote, and what the code of today finds in them.
//
//   format2.world   now.fbs, everything that a checkpoint can hold: posts, a cascade that was cut, timers, templates, a manager
//   journal.world   now.fbs, with a journal behind its checkpoint: edits of a session, ticks, what the host pushed
//   first.world     first.fbs
//   second.world    second.fbs, with edits of its layouts in the journal
//   waiting.world   first.fbs, with messages of its layouts that wait
//   format3.world   now.fbs, a level with a history and past states, and a run with a history of its own
//
// They were written by write_golden_worlds as it was when they came, format3.world in file format 3 and the others in 2, and packed by `xz -9e`. NAME.txt is what NAME.world is
// to a program that knows now.fbs. What is in the files is never written anew: where the writer changes, other worlds come beside them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "include/muster/world.h"

namespace muster::golden {

/// Writes them into a folder.
void write_golden_worlds(const std::string& folder);

/// For World: a program that knows one of these schemas ("first", "second", "now") and has no handlers.
Handlers know(EntityRegistry& registry, const std::string& schema);

/// An open world as text.
struct Listing {
  std::string state;   ///< tick, sequence, hash, entities with their values, texts, timers, templates
  std::string opened;  ///< what had to be done to open it: types that were converted, what became of the journal
};
Listing list(const World& world);

/// Keeps a number, as a manager does.
class Sums final : public Manager {
 public:
  static constexpr const char* name = "saga.sums";
  explicit Sums(EntityRegistry& registry) : registry_(registry) { registry.add_manager(name, *this); }
  ~Sums() override { registry_.remove_manager(*this); }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  std::uint32_t state_version() const override { return 3; }
  void save(std::vector<std::byte>& out) const override;
  std::expected<void, std::string> load(std::uint32_t version, std::span<const std::byte> bytes) override;

  std::uint64_t sum = 0;
  std::uint32_t loaded_version = 0;  ///< 0: nothing was loaded

 private:
  EntityRegistry& registry_;
};

}  // namespace muster::golden
