// The naive model's inputs and its two queues.
#include <algorithm>
#include <utility>

#include "tests/model/naive/naive_kinds.h"
#include "tests/model/naive/naive_model.h"
#include "tests/model/trial.h"

namespace naive {

using muster::InputKind;

namespace {

void add(Receipt& sum, const Receipt& one) {
  if (sum.refused == 0) sum.refusal = one.refusal;
  sum.handled += one.handled;
  sum.unhandled += one.unhandled;
  sum.dead += one.dead;
  sum.refused += one.refused;
}

// A run of posts is one input as long as its batch, which has a header, is within this bound.
constexpr std::size_t run_bytes_max = (256u << 10) - 80, batch_header_bytes = 32;

/// Of messages to one entity, which alone come in such numbers: the target, and the payload, each where its alignment wants it.
std::size_t bytes_of_item(const Message& message) {
  if (message.to != Message::To::one || message.is_table || message.has_rows) return 0;
  const std::size_t align = message.type == id_of<trial::Broad> ? alignof(trial::Broad) : alignof(Entity);
  const std::size_t target = (sizeof(Entity) + align - 1) / align * align;
  return target + (message.payload.size() + align - 1) / align * align;
}

}  // namespace

bool same_run(const Message& a, const Message& b) {
  const auto kinds = [](const RowValues& rows) {
    std::set<TypeId> types;
    for (const auto& [type, value] : rows) types.insert(type);
    return types;
  };
  return a.to == b.to && a.to != Message::To::span && a.to != Message::To::later && a.type == b.type &&
         a.parts == b.parts && a.is_table == b.is_table && a.has_rows == b.has_rows && kinds(a.rows) == kinds(b.rows);
}

Model::Model(const Types& types, std::uint64_t cascade_messages_max, std::uint64_t carried_messages_max)
    : types_(types), cascade_messages_max_(cascade_messages_max), carried_messages_max_(carried_messages_max) {}

Receipt Model::deliver_input(const Messages& run, InputKind kind, std::uint64_t session, std::uint64_t request) {
  Receipt receipt;
  receipt.sequence = ++sequence;
  resumed_ = false;
  const bool foreign = kind == InputKind::inbox || session != 0;
  for (const Message& message : run) {
    if (foreign && message.to == Message::To::later && message.timer != 0) {
      // Ids of timers are the registry's to give.
      note(refuse(RefusalCode::timer_chosen, {}, message.type), receipt);
      continue;
    }
    deliver(message, receipt);
  }
  if (kind == InputKind::inbox && receipt.handled && run[0].to != Message::To::later &&
      run[0].type == id_of<muster::Create>)
    ++covered["created from another thread with granted ids"];
  if (kind == InputKind::inbox && receipt.handled && run[0].to != Message::To::later &&
      run[0].type == id_of<muster::Spawn>)
    ++covered["tree spawned from another thread"];
  counters.messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
  counters.unhandled += receipt.unhandled;
  counters.dead += receipt.dead;
  counters.refused += receipt.refused;
  if (receipt.refused) ++covered[std::string("refused: ") + muster::name(receipt.refusal.code)];
  inputs.push_back({{.sequence = receipt.sequence, .session = session, .request = request, .kind = kind}, receipt});
  return receipt;
}

Receipt Model::deliver_posts() {
  posts_open_ = false;
  Receipt sum;
  while (!posts_.empty()) {
    const Run run = std::move(posts_.front());
    posts_.pop_front();
    const Receipt one = deliver_input(run.messages, InputKind::post, 0, 0);
    add(sum, one);
    sum.sequence = one.sequence;
  }
  return sum;
}

void Model::drop_carried(std::size_t kept) {
  if (cascade_.size() <= kept) return;
  const auto first = cascade_.begin() + static_cast<std::ptrdiff_t>(kept);
  std::vector<Message> dropped(first, cascade_.end());
  cascade_.erase(first, cascade_.end());
  const auto gives_up = [&](const Message& message) {
    if (message.type == id_of<muster::Create> || is_tree(message.type)) give_up(message.targets);
  };
  for (const Message& message : dropped)
    if (message.type == id_of<muster::HandlerRequest> && message.to == Message::To::world) cascade_.push_back(message);
  for (const Message& message : dropped) {
    if (message.type == id_of<muster::HandlerRequest> && message.to == Message::To::world) continue;
    ++counters.dropped;
    if (message.to != Message::To::later) gives_up(message);
    for (const Message& inner : message.inner) gives_up(inner);
  }
}

bool Model::deliver_cascade() {
  std::uint64_t left = cascade_messages_max_;
  const auto hold = [&] {
    if (cascade_.size() > carried_messages_max_) ++covered["messages dropped: too many wait"];
    drop_carried(carried_messages_max_);
  };
  for (std::uint64_t done = 0; !cascade_.empty() && left > 0; ++done) {
    if (done % 8192 == 0) hold();
    const Message message = std::move(cascade_.front());
    cascade_.pop_front();
    Receipt receipt;
    deliver(message, receipt);
    --left;
    counters.messages += receipt.handled + receipt.unhandled + receipt.dead + receipt.refused;
    counters.unhandled += receipt.unhandled;
    counters.dead += receipt.dead;
    counters.refused += receipt.refused;
    if (receipt.refused) ++covered[std::string("refused in a cascade: ") + muster::name(receipt.refusal.code)];
  }
  carries_ = !cascade_.empty();
  if (!carries_) return true;
  hold();
  ++counters.carried;
  ++covered["cascade cut short"];
  return false;
}

void Model::deliver_carried() {
  if (cascade_.empty()) return;
  resumed_ = true;
  if (deliver_cascade()) return;
  ++counters.overtaken;
  ++covered["carried messages overtaken"];
}

Receipt Model::input(const Messages& batch, std::uint64_t session, std::uint64_t request, bool ahead) {
  deliver_posts();
  Receipt receipt = deliver_input(batch, InputKind::push, session, request);
  if (ahead) {
    ++counters.overtaken;
    ++covered["an input that goes before a cut cascade"];
  }
  receipt.cut_short = ahead ? !cascade_.empty() : !deliver_cascade();
  return receipt;
}

bool Model::is_ahead(const Message& message) const {
  return carries_ && !resumed_ && message.to != Message::To::later &&
         (message.type == id_of<muster::InternText> || message.type == id_of<muster::EnableHandler> ||
          message.type == id_of<muster::DropCarried>);
}

Receipt Model::push(Message message) {
  if (message.to == Message::To::span && message.targets.empty()) return {};
  const bool ahead = is_ahead(message);
  wait_over(ahead);
  return input({std::move(message)}, 0, 0, ahead);
}

void Model::wait_over(bool ahead) {
  posts_open_ = false;
  if (!ahead) deliver_carried();
  deliver_posts();
}

void Model::post(Message message) {
  if (message.to == Message::To::span && message.targets.empty()) return;
  const std::size_t bytes = bytes_of_item(message);
  const bool same =
      posts_open_ && !posts_.empty() && !posts_.back().own && same_run(posts_.back().messages.back(), message);
  if (same && posts_.back().bytes + bytes > run_bytes_max) ++covered["a run of posts fills more than one batch"];
  if (!same || posts_.back().bytes + bytes > run_bytes_max) posts_.emplace_back().bytes = batch_header_bytes;
  posts_.back().bytes += bytes;
  const bool own = message.to == Message::To::span || message.to == Message::To::later;
  posts_.back().messages.push_back(std::move(message));
  posts_.back().own = own;
  posts_open_ = true;
}

std::uint64_t Model::post_later(std::uint64_t due_ns, Message inner) {
  const std::uint64_t id = next_timer++;
  post(later(due_ns, id, std::move(inner)));
  return id;
}

/// Numbers of timers that the host gives are not given again.
void Model::claim_timers(const Messages& batch) {
  for (const Message& message : batch)
    if (message.to == Message::To::later) next_timer = std::max(next_timer, message.timer + 1);
}

/// Who pushes to the id that comes next draws it.
void Model::claim(const Messages& batch) {
  claim_timers(batch);
  for (const Message& message : batch) {
    if ((message.type != id_of<muster::Create> && !is_tree(message.type)) || message.to == Message::To::later) continue;
    for (const Entity target : message.targets)
      if (target == peek_id()) reserve();
  }
}

Receipt Model::push_foreign(const Messages& batch, std::uint64_t session, std::uint64_t request) {
  const bool ahead = is_ahead(batch.front());
  if (!ahead) deliver_carried();
  deliver_posts();
  if (session == 0) claim(batch);
  return input(batch, session, request, ahead);
}

void Model::post_foreign(const Messages& batch) {
  claim_timers(batch);
  posts_.push_back({batch, true});
  posts_open_ = false;
}

void Model::put(std::size_t lane, const Messages& batch, std::uint64_t request) {
  lanes[lane].second.emplace_back(batch, request);
}

Receipt Model::push_several(const std::vector<Messages>& batches, std::uint64_t session, std::uint64_t request) {
  Receipt sum;
  sum.sequence = sequence;
  for (const Messages& batch : batches) {
    const Receipt one = push_foreign(batch, session, request);
    add(sum, one);
    sum.sequence = one.sequence;
    sum.cut_short = one.cut_short;
  }
  return sum;
}

void Model::post_several(const std::vector<Messages>& batches) {
  for (const Messages& batch : batches) post_foreign(batch);
}

void Model::put_several(std::size_t lane, const std::vector<Messages>& batches, std::uint64_t request) {
  for (const Messages& batch : batches) put(lane, batch, request);
}

Receipt Model::flush() {
  bool idle = !waiting();
  for (const auto& [session, batches] : lanes) idle = idle && batches.empty();
  Receipt sum;
  sum.sequence = sequence;
  if (idle) return sum;
  deliver_carried();
  sum = deliver_posts();
  for (auto& [session, batches] : lanes) {
    const auto taken = std::exchange(batches, {});
    for (const auto& [batch, request] : taken) add(sum, deliver_input(batch, InputKind::inbox, session, request));
  }
  inputs.push_back({{.sequence = ++sequence, .kind = InputKind::flush}, {}});
  resumed_ = false;
  sum.sequence = sequence;
  sum.cut_short = !deliver_cascade();
  return sum;
}

Receipt Model::advance(std::uint64_t ns) {
  deliver_carried();
  Receipt sum = deliver_posts();
  const Receipt own = deliver_input({world(muster::Advance{.ns = ns})}, InputKind::advance, 0, 0);
  add(sum, own);
  sum.sequence = own.sequence;
  deliver_cascade();
  const std::uint64_t until = now_ns + ns;
  while (!timers.empty() && timers.begin()->first.first <= until) {
    const std::uint64_t due = timers.begin()->first.first;
    now_ns = std::max(now_ns, due);
    while (!timers.empty() && timers.begin()->first.first == due) {
      for (const Message& message : timers.begin()->second) {
        cascade_.push_back(message);
        if (is_structural(message.type)) ++covered["timer fell due: a change of structure"];
      }
      timers.erase(timers.begin());
      ++covered["timer fell due"];
    }
    deliver_cascade();
  }
  now_ns = until;
  sum.cut_short = !cascade_.empty();
  return sum;
}

Text Model::intern(std::string_view text) {
  if (text.empty()) return {};
  const Text hash{muster::hash64(text)};
  if (knows(hash)) return hash;
  Message message{
      .to = Message::To::world, .type = id_of<muster::InternText>, .payload = Bytes(text), .is_table = true};
  push(std::move(message));
  return hash;
}

Entity Model::create(Entity parent, std::string_view name, const RowValues& rows_given) {
  const Text text = intern(name);
  wait_over();  // ids are drawn in the order of inputs
  const Entity made = reserve();
  Message message = one(made, muster::Create{.parent = parent, .name = text});
  message.has_rows = true;
  message.rows = rows_given;
  return input({std::move(message)}, 0, 0).handled ? made : Entity{};
}

std::vector<Entity> Model::create_many(std::uint32_t count, const RowValues& rows_given) {
  std::vector<Entity> made;
  if (count == 0) return made;
  wait_over();
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(reserve());
  Message message = span(std::span<const Entity>(made), muster::Create{});
  message.has_rows = true;
  message.rows = rows_given;
  input({std::move(message)}, 0, 0);
  return made;
}

Entity Model::spawn(std::string_view what, const muster::SpawnOptions& options, const RowValues& root) {
  const Text name = intern(options.name);
  wait_over();
  const auto known = templates_.find(text_of(what));
  if (known == templates_.end()) return {};
  Message message = span(std::span<const Entity>(), muster::Spawn{.what = text_of(what),
                                                                  .parent = options.parent,
                                                                  .before = options.before,
                                                                  .name = name,
                                                                  .clash = options.clash});
  for (std::size_t i = Flat(known->second).nodes.size() * options.count; i > 0; --i)
    message.targets.push_back(reserve());
  message.has_rows = !root.empty();
  message.rows = root;
  if (message.targets.empty()) return {};
  const std::vector<Entity> made = message.targets;
  if (!input({std::move(message)}, 0, 0).handled) return {};
  if (options.ids) *options.ids = made;
  return made[0];
}

Receipt Model::merge(Entity top, std::string_view what, std::vector<Entity>* ids) {
  wait_over();
  Message message = span(std::span<const Entity>(&top, 1), muster::MergeTemplate{.what = text_of(what)});
  if (const auto known = templates_.find(text_of(what)); known != templates_.end()) {
    const Flat flat(known->second);
    std::vector<bool> there(flat.nodes.size(), false);
    there[0] = true;
    for (std::size_t i = 1; i < flat.nodes.size(); ++i) {
      const std::uint32_t up = flat.parents[i];
      const Entity found = there[up] ? find_child(message.targets[up], text_of(flat.nodes[i]->name)) : Entity{};
      there[i] = static_cast<bool>(found);
      message.targets.push_back(found ? found : reserve());
    }
  }
  *ids = message.targets;
  return input({std::move(message)}, 0, 0);
}

Receipt Model::define(std::shared_ptr<const TemplateSpec> spec) {
  Message message{.to = Message::To::world, .type = id_of<muster::DefineTemplate>, .payload = spec->name};
  message.is_table = true;
  message.defines = std::move(spec);
  return push(std::move(message));
}

Receipt Model::enable(std::string_view name, bool enabled) {
  const Text text = intern(name);
  return push(world(muster::EnableHandler{.name = text, .enabled = enabled}));
}

Entity Model::grant(std::uint32_t count, std::uint64_t session) {
  wait_over();
  const auto first = static_cast<std::uint32_t>(generations.size());
  input({world(muster::Grant{.first = first, .count = count, .author = session})}, 0, 0);
  return {first, 1};
}

void Model::return_grant(Entity first, std::uint32_t count) {
  push(world(muster::ReturnGrant{.first = first.index, .count = count}));
}

}  // namespace naive
