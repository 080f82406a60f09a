#include "tests/end_to_end/editing_person.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tests/end_to_end/server_process.h"
#include "tests/server/plugins/counter.h"

namespace muster::test {

void EditingPerson::begin(Client& client, const std::string& name) {
  for (int part = 0; part < 2; ++part) folders_[part] = value_of(client.create({}, name + (part ? "b" : "a")));
}

void EditingPerson::forget_edits() {
  edits_.clear();
  durable_ = 0;
}

void EditingPerson::work(Client& client, std::uint64_t seed, int step) {
  std::mt19937_64 random(seed);
  Things known = things_;
  for (;;) {
    const auto next = draw(client, known, random);
    if (!next) return;
    const auto& [batch, done] = *next;
    edits_.push_back({unanswered, done});
    const auto ack = client.push_batch(batch);
    if (!ack && ack.error().kind == ClientError::Kind::lost) return;
    if (!ack || ack->dead > 0) {
      failed_ = ack ? "an entity is dead" : ack.error().text;
      return;
    }
    edits_.back().sequence = ack->sequence;
    done(known, step);
    durable_ = std::max(durable_, ack->durable_through);
    if (random() % 8 > 0) continue;
    const auto told = random() % 2 ? client.wait_durable(ack->sequence) : client.ask<session::FollowDurable>();
    if (!told) return;
    durable_ = std::max(durable_, told->sequence);
  }
}

bool EditingPerson::accepts(const Things& seen, const Left& left) const {
  Things made = things_;
  bool all = true;
  for (const Edit& edit : edits_) {
    if (edit.sequence <= left.durable) {
      edit.done(made, edit.sequence <= left.saved ? left.step_before : left.step_now);
      continue;
    }
    if (edit.sequence == unanswered && all && seen != made) {
      Things before = made;
      edit.done(made, left.step_now);
      if (seen != made) {
        edit.done(before, left.step_before);
        made = std::move(before);
      }
    }
    all = false;
  }
  return seen == made;
}

std::uint64_t EditingPerson::acknowledged() const noexcept {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(edits_, [](const Edit& edit) { return edit.sequence != unanswered; }));
}

std::uint64_t EditingPerson::acknowledged_behind(std::uint64_t sequence) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      edits_, [&](const Edit& edit) { return edit.sequence != unanswered && edit.sequence > sequence; }));
}

std::optional<EditingPerson::Drawn> EditingPerson::draw_new(Client& client, std::mt19937_64& random) {
  const std::string name = "n" + std::to_string(named_++);
  const int folder = static_cast<int>(random() % 2);
  const auto text = client.intern(name);
  const auto id = client.next_id();
  if (!text || !id) return std::nullopt;
  Create create;
  create.parent = folders_[folder];
  create.name = *text;
  BatchBuilder builder;
  builder.append_rows(*id, create, counter::Count{});
  const auto bytes = builder.bytes();
  return Drawn{{bytes.begin(), bytes.end()}, [=, e = *id](Things& all, int) { all[name] = {e, folder, {}, 0}; }};
}

std::optional<EditingPerson::Drawn> EditingPerson::draw(Client& client, const Things& known, std::mt19937_64& random) {
  constexpr std::size_t least = 5, most = 60;
  const std::uint64_t kind = known.size() < least ? 0 : 2 * (known.size() > most) + random() % 10;
  if (kind < 2) return draw_new(client, random);
  BatchBuilder builder;
  const auto drawn = [&](const Done& done) {
    const auto bytes = builder.bytes();
    return Drawn{{bytes.begin(), bytes.end()}, done};
  };
  auto at = known.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random() % known.size()));
  const std::string& name = at->first;
  const Thing& thing = at->second;
  if (kind == 2) {
    builder.append(thing.entity, Destroy{});
    return drawn([name](Things& all, int) { all.erase(name); });
  }
  if (kind == 3) {
    const int folder = 1 - thing.folder;
    Reparent move;
    move.parent = folders_[folder];
    builder.append(thing.entity, move);
    return drawn([name, folder](Things& all, int) { all.at(name).folder = folder; });
  }
  if (kind > 6) {
    builder.append(thing.entity, counter::Step{});
    return drawn([name](Things& all, int step) { all.at(name).count += step; });
  }
  const auto health = static_cast<float>(random() % 100);
  const TypeDescriptor* const type = find_component(client.types(), "game.Health").value();
  const std::vector<PayloadShape> shapes{PayloadShape::of(*type)};
  const RowSet set(PayloadShape::of<Set>(), shapes);
  std::byte* const payload = builder.append_rows(set, thing.entity);
  const Set message{};
  std::memcpy(payload, &message, sizeof message);
  std::memcpy(payload + set.offset(type->id), &health, sizeof health);
  return drawn([name, value = std::to_string(health)](Things& all, int) { all.at(name).value = value; });
}

Things EditingPerson::read(Client& client) const {
  Things things;
  for (int folder = 0; folder < 2; ++folder) {
    for (std::uint32_t offset = 0;;) {
      const session::Children page =
          value_of(client.ask(session::ListChildren{.entity = folders_[folder], .offset = offset, .limit = 1000}));
      for (std::size_t i = 0; i < page.entities.size(); ++i) {
        Thing thing{page.entities[i], folder, {}, 0};
        const ShownEntity shown = value_of(client.show(thing.entity));
        for (const auto& component : shown.components) {
          if (component.type->name != "game.Health") continue;
          float health = 0;
          std::memcpy(&health, component.value.data(), sizeof health);
          thing.value = std::to_string(health);
        }
        const auto count = shown.get<counter::Count>();
        if (!count) throw std::runtime_error(page.names[i] + " counts nothing");
        thing.count = count->value;
        things[page.names[i]] = thing;
      }
      offset += static_cast<std::uint32_t>(page.entities.size());
      if (offset >= page.total) break;
    }
  }
  return things;
}

}  // namespace muster::test
