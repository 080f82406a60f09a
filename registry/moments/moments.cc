#include "registry/moments/moments.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "messages/require.h"
#include "registry/host.h"
#include "registry/moments/id_moments.h"
#include "registry/moments/kept_whole.h"
#include "registry/moments/row_moment.h"
#include "registry/moments/row_return.h"
#include "registry/registry_impl.h"

namespace muster {

namespace {

/// A page of links as it was. `links` is null if the page did not exist.
struct KeptPage {
  std::uint32_t number;
  const Links* links;
};

/// A moment, and everything that has changed until the next one.
struct KeptMoment {
  KeptMoment(SpareCopies& spare, std::uint64_t its_number) : number(its_number), rows(spare) {}
  const std::uint64_t number;
  std::size_t counted = 0;  // bytes() when the next moment was kept
  // The moment.
  IdMoment ids;
  KeptScalars scalars;
  std::size_t texts = 0;
  TemplateKeeper::Kept templates;
  KeptManagers managers;
  // What has changed. The copies of pages are in `rows`.
  RowMoment rows;
  std::vector<KeptPage> pages;
  TextsBefore texts_before;
  std::vector<Timers::Change> timers;

  std::size_t bytes() const {
    std::size_t sum = sizeof *this + ids.changes.size() * sizeof(IdMoment::Change) + scalars.bytes() +
                      managers.bytes() + rows.bytes() + pages.size() * sizeof(KeptPage);
    for (const Timers::Change& change : timers) sum += sizeof change + change.batch.size();
    for (const std::string& text : texts_before.texts) sum += sizeof text + text.size();
    return sum;
  }
  void clear_changes() {
    ids.changes.clear();
    rows.clear();
    pages.clear();
    texts_before = {};
    timers.clear();
  }
};

std::string text_of_number(std::uint64_t number) { return "moment " + std::to_string(number); }

}  // namespace

class Moments::Ring final : public ColumnPreserver, public LinkKeeper {
 public:
  Ring(RegistryCore& core, std::size_t bytes_max)
      : state_(core.state), bytes_max_(bytes_max), ids_(core.state.storage) {}
  ~Ring() override { clear(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  Moment keep(KeptManagers managers);
  /// Returns the place of a moment in `moments`, or an error message.
  std::expected<std::size_t, std::string> find(const Moment& moment) const;
  /// Returns everything except managers and what depends on handlers.
  void return_to(std::size_t at, RowReturn& rows);
  /// Must be called after return_to(), at the end.
  void go_on(std::size_t at);
  void forget_before(std::size_t at);
  /// Drops all moments and leaves the registry alone.
  void clear() {
    moments.clear();
    detach();
  }

  void before_write(const Chunk& chunk, std::uint32_t slot) override {
    if (!returns_) keeper_.before_write(chunk, slot, [this](std::size_t bytes) { return make_room(bytes); });
  }
  void before_recycle(const Chunk& chunk) override {
    // Usually, all columns have been touched before.
    for (std::uint32_t slot = 0; slot < chunk.archetype->pod_slots; ++slot) before_write(chunk, slot);
  }
  void before_drop(std::span<Archetype* const> leaving) override {
    if (!returns_) keeper_.before_drop(leaving);
  }
  void before_exchange() override {
    if (!moments.empty()) ended_ = moments.back().number;
    clear();
  }
  void before_links(std::uint32_t number, const Hierarchy::Page* page) override;

  std::deque<KeptMoment> moments;
  std::uint64_t dropped = 0, copied = 0;
  std::size_t bytes() const;
  std::size_t id_bytes() const noexcept { return ids_.bytes(); }

 private:
  void attach();
  void detach();
  /// Makes the newest moment the one that receives changes.
  void fill_newest();
  void drop_oldest();
  /// Drops the oldest moments until there is room for `bytes` more bytes. Returns false if all
  /// moments have been dropped.
  bool make_room(std::size_t bytes);

  RegistryState& state_;
  const std::size_t bytes_max_;
  const std::shared_ptr<const void> own_ = std::make_shared<char>();
  SpareCopies spare_;
  IdMoments ids_;
  RowKeeper keeper_;
  TemplateKeeper templates_;
  ByChunk by_page_;  // pages that the newest moment has
  bool attached_ = false, returns_ = false;
  std::size_t used_ = 0;        // bytes of all moments; exact only when a moment is kept
  std::uint64_t numbers_ = 0;   // number of moments so far
  std::uint64_t over_ = 0;      // the newest moment that was dropped because of the limit
  std::uint64_t ended_ = 0;     // the newest moment when the state was exchanged
  std::uint64_t returned_ = 0;  // the moment of the most recent return
};

void Moments::Ring::attach() {
  if (std::exchange(attached_, true)) return;
  state_.storage.add_preserver(*this);
  state_.hierarchy.set_keeper(this);
}

void Moments::Ring::detach() {
  keeper_.end();
  ids_.clear();
  templates_.clear();
  spare_.clear();
  used_ = 0;
  if (!std::exchange(attached_, false)) return;
  state_.storage.remove_preserver(*this);
  state_.hierarchy.set_keeper(nullptr);
  state_.texts.keep_dropped(nullptr);
  state_.timers.set_log(nullptr);
}

void Moments::Ring::fill_newest() {
  KeptMoment& newest = moments.back();
  keeper_.begin(newest.rows, state_.storage);
  by_page_.clear();
  state_.texts.keep_dropped(&newest.texts_before);
  state_.timers.set_log(&newest.timers);
  ids_.set_version(state_.storage.begin_version());
  newest.counted = newest.bytes();
  used_ = 0;
  for (const KeptMoment& moment : moments) used_ += moment.counted;
}

void Moments::Ring::drop_oldest() {
  over_ = moments.front().number;
  ++dropped;
  used_ -= moments.front().counted;
  forget_before(1);
}

void Moments::Ring::forget_before(std::size_t at) {
  for (; at > 0; --at) moments.pop_front();
  ids_.forget_before(moments.front().ids);
}

bool Moments::Ring::make_room(std::size_t bytes) {
  while (used_ + bytes > bytes_max_ && moments.size() > 1) drop_oldest();
  used_ += bytes;
  if (used_ <= bytes_max_) return true;
  // A preserver must not be removed while it is called, so it stays without work.
  over_ = moments.back().number;
  ++dropped;
  keeper_.end();
  state_.texts.keep_dropped(nullptr);
  state_.timers.set_log(nullptr);
  moments.clear();
  ids_.clear();
  used_ = 0;
  return false;
}

std::size_t Moments::Ring::bytes() const {
  std::size_t sum = 0;
  for (const KeptMoment& moment : moments) sum += &moment == &moments.back() ? moment.bytes() : moment.counted;
  return sum;
}

void Moments::Ring::before_links(std::uint32_t number, const Hierarchy::Page* page) {
  if (returns_ || moments.empty() || by_page_.find(number) != ByChunk::none) return;
  KeptMoment& newest = moments.back();
  if (!make_room((page ? newest.rows.copies.growth(sizeof page->links) : 0) + sizeof(KeptPage))) return;
  by_page_.put(number, 0);
  const auto* const links =
      page ? reinterpret_cast<const Links*>(newest.rows.copies.add(page->links, sizeof page->links)) : nullptr;
  newest.pages.push_back({number, links});
}

Moment Moments::Ring::keep(KeptManagers managers) {
  if (moments.empty()) ids_.begin();
  attach();
  KeptMoment* const newest = moments.empty() ? nullptr : &moments.back();
  KeptMoment& made = moments.emplace_back(spare_, ++numbers_);
  ids_.keep(made.ids, newest ? &newest->ids : nullptr);
  if (newest) newest->counted = newest->bytes();
  made.scalars = KeptScalars::of(state_);
  made.texts = state_.texts.size();
  made.templates = templates_.keep(state_.templates);
  made.managers = std::move(managers);
  const Moment named(own_, made.number);
  fill_newest();
  make_room(0);
  return named;
}

std::expected<std::size_t, std::string> Moments::Ring::find(const Moment& moment) const {
  const auto gone = [&](const std::string& why) { return std::unexpected(text_of_number(moment.number()) + why); };
  if (moment.ring_ != own_) return std::unexpected("the moment belongs to another ring, or to none");
  const auto at = std::ranges::lower_bound(moments, moment.number(), {}, &KeptMoment::number);
  if (at != moments.end() && at->number == moment.number()) return static_cast<std::size_t>(at - moments.begin());
  if (moment.number() <= ended_)
    return gone(" ended when the state of the registry was loaded, swapped, or returned to a moment of another ring");
  if (moment.number() <= over_)
    return gone(" was dropped because moments need more than " + std::to_string(bytes_max_) + " bytes" +
                (moments.empty() ? std::string("; no moment is left")
                                 : "; the oldest one left is " + text_of_number(moments.front().number)));
  if (at != moments.begin() && returned_ != 0)
    return gone(" is gone because the registry returned to " + text_of_number(returned_) + ", which came before it");
  return gone(" was forgotten (Moments::forget_before, Moments::clear)");
}

void Moments::Ring::return_to(std::size_t at, RowReturn& rows) {
  KeptMoment& to = moments[at];
  state_.storage.tell_exchange(this);
  returns_ = true;
  state_.timers.set_log(nullptr);
  state_.texts.keep_dropped(nullptr);

  std::vector<const RowMoment*> changes;
  std::vector<IdMoment*> ids;
  for (std::size_t i = at; i < moments.size(); ++i) {
    changes.push_back(&moments[i].rows);
    ids.push_back(&moments[i].ids);
  }
  rows.begin(changes);
  ids_.find(ids);
  rows.leave();
  for (const Entity e : ids_.gone()) state_.names.forget(e);
  ids_.put(to.ids);
  rows.put();
  by_page_.clear();
  for (std::size_t i = at; i < moments.size(); ++i)
    for (const KeptPage& page : moments[i].pages) {
      if (by_page_.find(page.number) != ByChunk::none) continue;
      by_page_.put(page.number, 0);
      state_.hierarchy.return_page(page.number, page.links);
    }
  rows.arrive();

  const TextsBefore* before = nullptr;
  for (std::size_t i = at; i < moments.size() && !before; ++i)
    if (moments[i].texts_before.dropped) before = &moments[i].texts_before;
  if (before || state_.texts.size() != to.texts) state_.texts.rewind(to.texts, before);
  TemplateKeeper::put(to.templates, state_.templates, state_.storage.version());
  for (std::size_t i = moments.size(); i-- > at;)
    for (std::size_t change = moments[i].timers.size(); change-- > 0;)
      state_.timers.take_back(moments[i].timers[change], state_.storage.version());
  rows.raise_version(state_.sequence - to.scalars.sequence);
  to.scalars.put(state_);
  copied = rows.copied();
}

void Moments::Ring::go_on(std::size_t at) {
  returned_ = moments[at].number;
  while (moments.size() > at + 1) moments.pop_back();
  moments.back().clear_changes();
  returns_ = false;
  fill_newest();
}

// --- Moments ---

Moments::Moments(EntityRegistry& registry, std::size_t bytes_max)
    : registry_(registry), ring_(std::make_unique<Ring>(registry.core_, bytes_max)) {}

Moments::~Moments() = default;

std::expected<Moment, std::string> Moments::keep() {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  if (const HandlerStates& states = r.state.handlers; !states.beginning.empty() || !states.ending.empty())
    return std::unexpected(
        "a request to subscribe or end a handler is pending; deliver it first, for example by flush()");
  KeptManagers managers;
  if (std::string wrong = r.managers.keep(managers); !wrong.empty()) return std::unexpected(std::move(wrong));
  return ring_->keep(std::move(managers));
}

std::expected<void, std::string> Moments::return_to(const Moment& moment) {
  registry_.check_outside();
  EntityRegistry::Impl& r = *registry_.impl_;
  const auto at = ring_->find(moment);
  if (!at) return std::unexpected(at.error());
  if (const HandlerStates& states = r.state.handlers; !states.beginning.empty() || !states.ending.empty())
    return std::unexpected(
        "a request to subscribe or end a handler is pending; deliver it first, for example by flush()");
  const KeptMoment& to = ring_->moments[*at];
  if (const std::string wrong = r.managers.cannot_return(to.managers); !wrong.empty())
    return std::unexpected("the registry cannot return to " + text_of_number(moment.number()) + ": " + wrong);
  RowReturn rows(r.state);
  ring_->return_to(*at, rows);
  HandlerTable& handlers = r.types.handlers();
  const std::vector<Text> disabled = handlers.disabled();
  for (const Text name : disabled)
    if (!std::ranges::binary_search(to.scalars.disabled, name)) handlers.enable(name, true);
  for (const Text name : to.scalars.disabled) handlers.enable(name, false);
  using Archetypes = EntityRegistry::Impl::Archetypes;
  r.forget_contents(rows.archetypes_returned()  ? Archetypes::others
                    : rows.archetypes_changed() ? Archetypes::fewer
                                                : Archetypes::same);
  r.managers.return_to(to.managers);
  ring_->go_on(*at);
  if (!rows.constructed().empty())
    r.inputs.inside(
        "restore",
        [&] {
          r.call_readers([&] {
            for (const auto& [e, type] : rows.constructed()) {
              const auto restorer = r.restorers.find(type);
              if (restorer == r.restorers.end()) continue;
              const Row row = r.storage.find(e);
              const StoredType& stored = *r.storage.component(type);
              restorer->second(row.at(row.chunk->archetype->column(type), stored.size), e);
            }
          });
        },
        Inside::readers);
  return {};
}

void Moments::forget_before(const Moment& moment) {
  if (const auto at = ring_->find(moment); at && *at > 0) ring_->forget_before(*at);
}
void Moments::clear() { ring_->clear(); }
std::size_t Moments::size() const noexcept { return ring_->moments.size(); }
std::size_t Moments::bytes() const noexcept { return ring_->bytes(); }
std::size_t Moments::id_bytes() const noexcept { return ring_->id_bytes(); }
std::uint64_t Moments::dropped() const noexcept { return ring_->dropped; }
std::uint64_t Moments::copied() const noexcept { return ring_->copied; }

// --- QuietInputs ---

QuietInputs::QuietInputs(EntityRegistry& registry) : registry_(registry) {
  registry.check_outside();
  RegistryCore& core = registry.core_;
  if (core.quiet++ != 0) return;
  core.types.handlers().set_repeated(true);
  ++registry.impl_->game_log.muted_;
  std::swap(core.sinks, core.quiet_sinks);
  core.note_sinks();
  registry.impl_->inputs.set_pushed_sink(nullptr);
}

QuietInputs::~QuietInputs() {
  RegistryCore& core = registry_.core_;
  if (--core.quiet != 0) return;
  core.types.handlers().set_repeated(false);
  --registry_.impl_->game_log.muted_;
  std::swap(core.sinks, core.quiet_sinks);
  core.note_sinks();
  registry_.impl_->inputs.set_pushed_sink(registry_.impl_->pushed_sink);
}

}  // namespace muster
