// The parts of a Synctest, for the files that implement it. Private to registry/moments/*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

/// Records inputs, does them again, and compares the results.
///
/// While inputs are recorded, it takes the place of the registry's edit log: a log that records the
/// edits of sessions cannot be returned, so inputs with such edits are not done again.
class Synctest::Impl final : public InputSink, EditLog {
 public:
  Impl(EntityRegistry& registry, Options options)
      : registry_(registry), options_(std::move(options)), ring_(registry, options_.bytes_max) {}
  ~Impl() override { stop(); }

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
  struct Call {
    const Handler* handler;
    const void* message;
    std::uint32_t depth, archetype;
    std::uint64_t begin, end;  // rows of the group; end is 0 if it is not known
    std::uint64_t wrote = 0, posted = 0;
    bool knows_posts = true, by_worker = false;
  };
  class Log;

  void probe(CallProbe* probe) { registry_.impl_->types.handlers().set_probe(probe); }
  Storage& storage() { return registry_.core_.state.storage; }
  void stop() {
    if (!std::exchange(begun_, false)) return;
    registry_.host().remove_sink(*this);
    Structure& structure = registry_.impl_->structure;
    if (log_ && structure.edit_log() == this) structure.set_edit_log(log_);
  }
  std::string why_not() const;
  Result result_since(std::uint64_t version);
  std::string go_back();
  /// Does the inputs again, on all workers or on one, and returns the result.
  Result again(bool workers, CallProbe* log = nullptr);
  const Chunk* chunk_at(std::uint32_t depth, std::uint32_t archetype, std::uint32_t place);
  /// Copies the column as it is now. Returns an empty one if it does not exist.
  Column column_at(const Place& place);
  /// Compares results of this registry and of another one, which may be the same.
  std::vector<Value> compare(const Result& first, const Result& second, Impl& of_second, SyncDifference& found);
  std::string find_handler(const std::vector<Value>& values, SyncDifference& found);
  /// Returns the handler of the first call that differs, or null if the calls are the same.
  static const Handler* first_differing(const Log& one, const Log& other);
  /// Like first_differing, but only compares what each handler wrote in all its calls together.
  /// The order of handlers is that of their first calls in `serial`.
  static const Handler* first_sum(const Log& serial, const Log& spread);
  /// Describes the handler, or the handlers that could have made the difference, and the value that
  /// it wrote.
  void name(const Handler* named, const Log& calls, const std::vector<Value>& values, SyncDifference& found);
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
};

}  // namespace muster
