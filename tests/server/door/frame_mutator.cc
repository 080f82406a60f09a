#include "tests/server/door/frame_mutator.h"
#include "messages/step_batches.h"

#include <algorithm>
#include <cstring>

namespace muster::testing {
namespace {

constexpr std::size_t batch_at = sizeof(FrameHeader);
constexpr std::size_t body_at = batch_at + sizeof(BatchHeader);
constexpr TypeId known_types[] = {TypeTraits<arena::Damage>::id,
                                  TypeTraits<arena::Chat>::id,
                                  TypeTraits<arena::Blast>::id,
                                  TypeTraits<arena::Say>::id,
                                  TypeTraits<arena::Health>::id,
                                  TypeTraits<arena::Score>::id,
                                  TypeTraits<Create>::id,
                                  TypeTraits<Destroy>::id,
                                  TypeTraits<Set>::id,
                                  TypeTraits<Remove>::id,
                                  TypeTraits<SetField>::id,
                                  TypeTraits<SetFieldIf>::id,
                                  TypeTraits<Reparent>::id,
                                  TypeTraits<Rename>::id,
                                  TypeTraits<InternText>::id,
                                  TypeTraits<Step>::id,
                                  TypeTraits<Grant>::id,
                                  TypeTraits<ReturnGrant>::id,
                                  TypeTraits<CancelTimer>::id,
                                  TypeTraits<Update>::id,
                                  TypeTraits<Name>::id,
                                  TypeTraits<ChildOf>::id,
                                  TypeTraits<session::Hello>::id,
                                  TypeTraits<session::Ack>::id,
                                  TypeTraits<session::Fault>::id,
                                  TypeTraits<session::Follow>::id,
                                  TypeTraits<session::Show>::id,
                                  TypeTraits<session::Find>::id,
                                  TypeTraits<session::Welcome>::id,
                                  TypeTraits<session::GetInfo>::id};

template <class T, std::size_t Count>
T pick(const T (&from)[Count], std::uint32_t number) {
  return from[number % Count];
}

}  // namespace

void FrameMutator::put_u32(std::size_t at, std::uint32_t value) {
  if (at + 4 <= frame_.size()) std::memcpy(frame_.data() + at, &value, 4);
}

/// Numbers at which counts and sizes go wrong.
std::uint32_t FrameMutator::odd_number() {
  const auto size = static_cast<std::uint32_t>(frame_.size());
  const std::uint32_t numbers[] = {0,          1,           2,
                                   3,          4,           7,
                                   8,          15,          16,
                                   17,         31,          32,
                                   48,         64,          255,
                                   256,        0xffff,      0x10000,
                                   1u << 20,   1u << 24,    0x7fffffff,
                                   0x80000000, 0xffffffff,  size,
                                   size - 16,  size + 16,   size - 32,
                                   size - 48,  0xfffffff0,  0xfffffff8,
                                   below(64),  below(4096), static_cast<std::uint32_t>(random_())};
  return pick(numbers, below(std::size(numbers)));
}

Entity FrameMutator::someone(const Targets& targets) {
  if (targets.alive.empty() || chance(5)) return {below(1000), below(3)};
  return targets.alive[below(static_cast<std::uint32_t>(targets.alive.size()))];
}

void FrameMutator::world_message(BatchBuilder& out, const Targets& targets) {
  const arena::Damage hit{.amount = static_cast<float>(below(10)), .by = someone(targets)};
  std::vector<Entity> several;
  for (std::uint32_t i = 1 + below(5); i > 0; --i) several.push_back(someone(targets));
  switch (below(9)) {
    case 0:
      for (const Entity e : several) out.append(e, hit);
      break;
    case 1:
      out.set_causes(true);
      out.set_cause(random_());
      for (const Entity e : several) out.append(e, hit);
      break;
    case 2:
      out.set_causes(chance(30));
      out.append_shared(std::span<const Entity>(several), hit);
      break;
    case 3: out.append_world(hit); break;
    case 4: out.append_subtree(someone(targets), below(8), hit); break;
    case 5: out.append(someone(targets), arena::Chat{.line = targets.text}); break;
    case 6: {
      const auto said = encode(arena::Say{.text = std::string(below(40), 'x'), .loud = chance(50)});
      out.set_causes(chance(20));
      for (std::uint32_t i = 1 + below(3); i > 0; --i)
        out.append_table(TypeTraits<arena::Say>::id, chance(30) ? Entity{} : someone(targets), said,
                         chance(20) ? 1 + below(7) : 0);
      break;
    }
    case 7: {
      BatchBuilder inner;
      if (chance(20))
        inner.append_world(arena::Blast{});
      else
        inner.append(someone(targets), hit);
      out.append_timed(chance(50) ? 0 : random_(), chance(90) ? 0 : below(1000), inner.front());
      break;
    }
    default: out.append_world(CancelTimer{.timer = below(1000)}); break;
  }
}

void FrameMutator::structure_message(BatchBuilder& out, const Targets& targets) {
  const Entity e = someone(targets);
  const Entity fresh = targets.granted[below(static_cast<std::uint32_t>(targets.granted.size()))];
  Create create;
  if (chance(50)) create.parent = someone(targets);
  if (chance(20)) create.before = someone(targets);
  if (chance(30)) create.name = targets.text;
  create.clash = chance(50) ? NameClash::suffix : NameClash::refuse;
  const arena::Health health{.value = 50, .armored = chance(50), .team = arena::Team::Blue};
  SetField field{};
  field.component = TypeTraits<arena::Health>::id;
  field.field = hash32(chance(80) ? "value" : "team");
  field.bytes = chance(80) ? 4 : 1;
  field.value[0] = static_cast<std::uint8_t>(below(256));
  switch (below(12)) {
    case 0: out.append(fresh, create); break;
    case 1: out.append_rows(fresh, create, health, arena::Position{1, 2, 3}); break;
    case 2: out.append_rows(fresh, create, health, arena::Label{.title = targets.text}, arena::Hidden{}); break;
    case 3: out.append_rows(e, Set{.mode = static_cast<SetMode>(below(3))}, health, arena::Target{.enemy = e}); break;
    case 4: out.append_rows_shared(std::span<const Entity>(targets.alive).first(3), Set{}, arena::Gravity{}); break;
    case 5: out.append(e, Remove{.component = pick(known_types, below(100))}); break;
    case 6: out.append(e, field); break;
    case 7: out.append(e, SetFieldIf{.set = field, .expected = {}}); break;
    case 8: {
      Reparent message;
      message.parent = chance(30) ? Entity{} : someone(targets);
      if (chance(20)) message.before = someone(targets);
      out.append(e, message);
      break;
    }
    case 9: out.append(e, Rename{.name = chance(70) ? targets.text : Text{}, .clash = create.clash}); break;
    case 10: session::append(out, InternText{.text = "text " + std::to_string(below(50))}); break;
    default:
      if (chance(25))
        out.append(e, Destroy{});
      else
        out.append_rows(e, Set{}, arena::Position{4, 5, 6});
  }
}

void FrameMutator::step(BatchBuilder& out, const Targets& targets) {
  BatchBuilder inside;
  for (std::uint32_t i = 1 + below(4); i > 0; --i)
    chance(70) ? structure_message(inside, targets) : world_message(inside, targets);
  const Step step{.batches = step_bytes(inside.bytes()),
                  .label = std::string(below(5), 'x'),
                  .gesture = below(3),
                  .act = static_cast<StepAct>(chance(95) ? 0 : below(4))};
  out.append_table(TypeTraits<Step>::id, chance(95) ? Entity{} : someone(targets), encode(step));
}

void FrameMutator::session_message(BatchBuilder& out, const Targets& targets) {
  switch (below(18)) {
    case 0: session::append(out, session::GetText{.hash = targets.text.hash}); break;
    case 1: session::append(out, session::RequestGrant{.count = below(12)}); break;
    case 2:
      session::append(out, session::ListChildren{.entity = someone(targets), .offset = below(3), .limit = below(9)});
      break;
    case 3: session::append(out, session::Resolve{.path = chance(50) ? "/a name" : "a name", .limit = below(9)}); break;
    case 4: {
      session::Find find;
      find.name = chance(50) ? "name" : "";
      if (chance(50)) find.components = {TypeTraits<arena::Health>::id};
      if (chance(30)) find.under = someone(targets);
      find.limit = below(9);
      session::append(out, find);
      break;
    }
    case 5: session::append(out, session::Show{.entity = someone(targets)}); break;
    case 6: {
      session::Follow watch;
      watch.values = chance(70);
      watch.structure = chance(50);
      watch.inputs = chance(50);
      watch.subtree = chance(50);
      watch.world = chance(50);
      if (!watch.world) watch.entities = {someone(targets)};
      if (chance(50)) watch.components = {pick(known_types, below(100))};
      if (chance(30)) watch.rate_max = static_cast<float>(below(100));
      session::append(out, watch);
      break;
    }
    case 7: session::append(out, session::Unwatch{.watch = 1 + below(8)}); break;
    case 8: session::append(out, session::Save{}); break;
    case 9: session::append(out, session::GetInfo{.hash = below(2)}); break;
    case 10: session::append(out, session::Heartbeat{.number = random_(), .answer = below(2)}); break;
    case 11:
      if (chance(10)) return session::append(out, session::GetSchema{});
      return session::append(out, session::Show{.entity = someone(targets)});
    case 12: session::append(out, session::Hello{}); break;
    case 13: session::append(out, session::Ack{}); break;
    case 14: session::append(out, session::Left{}); break;
    case 15: out.append_world(Grant{.first = below(100), .count = below(100)}); break;
    case 16: {
      session::AddSchema schema;
      schema.bytes.resize(below(64), static_cast<std::uint8_t>(below(256)));
      if (chance(50)) return session::append(out, schema);
      return out.append_world(ReturnGrant{.first = below(100), .count = below(100)});
    }
    default: session::append(out, session::Resolve{.path = std::string(below(300), '/')}); break;
  }
}

bool FrameMutator::damage() {
  const auto size = static_cast<std::uint32_t>(frame_.size());
  const auto anywhere = [&](std::size_t from) {
    return from >= frame_.size() ? from : from + below(static_cast<std::uint32_t>(frame_.size() - from));
  };
  switch (below(16)) {
    case 0:
    case 1: {  // a bit of the body
      const std::size_t at = anywhere(body_at);
      if (at < frame_.size()) frame_[at] ^= std::byte{static_cast<unsigned char>(1u << below(8))};
      return false;
    }
    case 2: {  // a byte of the batch header
      const std::size_t at = batch_at + below(sizeof(BatchHeader));
      if (at < frame_.size()) frame_[at] = static_cast<std::byte>(below(256));
      return false;
    }
    case 3:
    case 4: {  // a number of the batch header
      static constexpr std::uint32_t fields[] = {0, 4, 12, 16, 20, 24, 28};
      put_u32(batch_at + pick(fields, below(7)), odd_number());
      return false;
    }
    case 5:  // kind, flags, header_units, payload_offset
      if (frame_.size() > batch_at + 12)
        frame_[batch_at + 8 + below(4)] = static_cast<std::byte>(chance(80) ? below(20) : below(256));
      return false;
    case 6:
    case 7: put_u32(anywhere(body_at) & ~std::size_t{3}, odd_number()); return false;
    case 8:  // a small count
      put_u32(batch_at + 12, below(6));
      return false;
    case 9: put_u32(batch_at + 4, pick(known_types, below(100))); return false;
    case 10:  // the row set, or what stands in its place
      put_u32(body_at + 4 * below(8), chance(50) ? pick(known_types, below(100)) : odd_number());
      return false;
    case 11:
      if (chance(60)) {
        frame_.resize(16 * below(size / 16 + 1));
        return false;
      }
      frame_.resize(below(size));
      return true;
    case 12: {
      const std::size_t more = 16 * (1 + below(3));
      const std::size_t at = std::min(anywhere(batch_at) & ~std::size_t{15}, frame_.size());
      frame_.insert(frame_.begin() + static_cast<std::ptrdiff_t>(at), more,
                    static_cast<std::byte>(chance(50) ? 0 : below(256)));
      return false;
    }
    case 13: {  // a piece of it elsewhere
      const std::size_t bytes = std::min<std::size_t>(8u << below(3), frame_.size());
      const std::size_t from = below(static_cast<std::uint32_t>(frame_.size() - bytes + 1));
      const std::size_t to = below(static_cast<std::uint32_t>(frame_.size() - bytes + 1));
      std::memmove(frame_.data() + to, frame_.data() + from, bytes);
      return to < batch_at;
    }
    case 14: put_u32(4 * below(4), chance(50) ? odd_number() : 16 * below(size / 16 + 4)); return true;
    default:
      if (chance(50)) return false;  // as it is, or its length damaged by another call
      put_u32(0, odd_number());
      return true;
  }
}

std::span<const std::byte> FrameMutator::next(const Targets& targets) {
  BatchBuilder batch;
  const std::uint32_t what = below(11);
  if (what < 4)
    world_message(batch, targets);
  else if (what == 10)
    step(batch, targets);
  else if (what < 7)
    structure_message(batch, targets);
  else
    session_message(batch, targets);
  frame_.clear();
  append_frame(frame_, batch.front().bytes(), 1 + below(8));
  bool length_wrong = false;
  for (std::uint32_t times = 1 + below(3); times > 0 && !frame_.empty(); --times) length_wrong |= damage();
  const auto size = static_cast<std::uint32_t>(frame_.size());
  if (!length_wrong && chance(95)) put_u32(0, size);
  if (size > body_at && chance(70)) put_u32(batch_at, size - static_cast<std::uint32_t>(batch_at));
  return frame_;
}

}  // namespace muster::testing
