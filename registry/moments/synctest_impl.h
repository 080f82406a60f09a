// The parts of a Synctest, for the files that implement it. Private to registry/moments/*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "registry/apply/edit_log.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "registry/moments/synctest.h"
#include "registry/registry_impl.h"

namespace muster {

/// The effects of one call of a handler.
struct HandlerCall {
  const Handler* handler;
  std::uint64_t sequence;   // of the input
  bool by_worker;           // in a pass that was spread over workers
  std::uint64_t found = 0;  // components and the message before the call; 0 if they are not known
  std::uint64_t wrote = 0;  // components, the message, and whether it was consumed
  std::uint64_t posted = 0;
  std::uint64_t managers = 0;  // their state after the call
  bool knows_posts = true, knows_managers = false;
};

/// The first call that differs.
struct FirstCall {
  const Handler* handler;
  /// True if what it declares to use differed before the call already. Something changed it that
  /// does not declare this.
  bool found_it = false;
};

/// Records inputs, does them again, and compares the results.
///
/// While inputs are recorded, it takes the place of the registry's edit log: a log that records the
/// edits of sessions cannot be returned, so inputs with such edits are not done again.
class Synctest::Impl final : public InputSink, EditLog {
 public:
  Impl(EntityRegistry& registry, Options options);
  ~Impl() override;

  std::expected<void, std::string> begin();
  std::expected<std::optional<SyncDifference>, std::string> end();
  bool has_begun() const noexcept { return begun_; }
  std::uint64_t repeated() const noexcept { return repeated_; }

  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (bytes_.size() + batch.size() > options_.bytes_max) {
      too_much_ = true;
      return;
    }
    inputs_.push_back({envelope, bytes_.size(), batch.size()});
    bytes_.insert(bytes_.end(), batch.begin(), batch.end());
  }
  void on_withdrawn(const Envelope&) noexcept override {
    if (inputs_.empty() || too_much_) return;
    bytes_.resize(inputs_.back().offset);
    inputs_.pop_back();
  }
  void on_cut(const CascadeCut& cut) noexcept override { cuts_.push_back(cut); }
  bool wants_receipts(InputKind) const noexcept override { return false; }

  class Log;

 private:
  friend class TwinTest;
  void before(const Edit& edit) override {
    edited_ = true;
    log_->before(edit);
  }
  void after(const Edit& edit, const Refusal& refusal) override { log_->after(edit, refusal); }
  void step_begins(const Sender& by, const StepView& step) override {
    edited_ = true;
    log_->step_begins(by, step);
  }
  std::span<const std::byte> take_back() override { return log_->take_back(); }
  void step_ends(bool applied) override { log_->step_ends(applied); }

  struct Input {
    Envelope envelope;
    std::size_t offset, bytes;
  };
  /// The place of a column: depth, number of the archetype, place of the chunk, and stored type.
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, TypeId>;
  static constexpr TypeId ids_type = 0;  // of the columns of ids
  struct Column {
    std::uint32_t count = 0, size = 0;
    std::vector<std::byte> bytes;
  };
  struct Result {
    std::uint64_t hash = 0;
    std::map<Place, Column> columns;
    std::map<std::string, std::uint64_t> parts;
    std::map<std::uint64_t, std::string> texts = {};  // those that were new, by their hashes
  };
  /// A value that differs.
  struct Value {
    Entity entity;
    const StoredType* type;
    std::uint32_t depth, archetype;
    std::uint64_t row;  // in its group
    std::vector<std::byte> first, second;
  };
  HandlerTable& handlers() { return registry_.impl_->types.handlers(); }
  Storage& storage() { return registry_.core_.state.storage; }
  void stop();
  std::string why_not() const;
  Result result_since(std::uint64_t version);
  std::string go_back();
  /// Does the inputs again, on all workers or on one, and returns the result.
  Result again(bool workers, Log* log = nullptr);
  const Chunk* chunk_at(std::uint32_t depth, std::uint32_t archetype, std::uint32_t place);
  /// Copies the column as it is now. Returns an empty one if it does not exist.
  Column column_at(const Place& place);
  /// Compares results of this registry and of another one, which may be the same.
  std::vector<Value> compare(const Result& first, const Result& second, Impl& of_second, SyncDifference& found);
  std::string find_handler(const std::vector<Value>& values, SyncDifference& found);
  /// Returns no value if the calls are the same. At most one of the logs may have calls by workers.
  static std::optional<FirstCall> first_differing(const Log& one, const Log& other);
  /// Describes the handler, or the handlers that could have made the difference, and the value that
  /// it wrote.
  void name(const std::optional<FirstCall>& first, const std::vector<const Handler*>& called,
            const std::vector<Value>& values, SyncDifference& found);
  /// Names the handler that left another floating-point mode, if there is one in the log.
  std::optional<SyncDifference> left_mode(const Log& log, std::uint64_t first, std::uint64_t last) const;
  void describe(const Value& value, SyncDifference& found);
  /// Returns true if the state is the first result again.
  bool put_first(const Result& first);

  EntityRegistry& registry_;
  const Options options_;
  std::size_t texts_before_ = 0;                // their number in the beginning
  std::map<std::uint64_t, std::string> texts_;  // of the results, by their hashes
  Moments ring_;
  Moment moment_;
  bool begun_ = false, too_much_ = false, edited_ = false;
  EditLog* log_ = nullptr;  // the registry's own
  std::uint64_t repeated_ = 0, version_ = 0, next_ordinal_ = 0;
  std::size_t handlers_ = 0;
  std::vector<Input> inputs_;
  std::vector<std::byte> bytes_;
  std::vector<CascadeCut> cuts_;
  std::unique_ptr<Log> live_, repetition_;   // the calls
  std::optional<SyncDifference> left_mode_;  // is told once nothing else differs
};

// --- synctest_suspects.cc ---

std::string handler_text(const Handler& handler);
/// True if the handler writes this component of its own entity.
bool writes_type(const Handler& handler, TypeId type);
/// Fills `suspects` and `behind`. `component` is 0 if none differs.
void find_suspects(std::vector<const Handler*> called, TypeId component, SyncDifference& found);
/// Fills `beside`.
void find_beside(const Handler& named, const std::vector<const Handler*>& called, SyncDifference& found);

}  // namespace muster
