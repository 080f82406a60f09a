// A batch is the same bytes wherever it is: nothing is converted between memory, socket and file.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <future>
#include <map>
#include <optional>

#include "client/cpp/client.h"
#include "registry/host.h"
#include "registry/state/state.h"
#include "registry/state/state_format.h"
#include "server/server.h"
#include "server/world/world.h"
#include "tests/end_to_end/socket_tap.h"
#include "tests/server/arena.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

using Bytes = std::vector<std::byte>;
constexpr TypeId damage_id = TypeTraits<arena::Damage>::id;

Bytes copy(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// Every batch of Damage at the input sink, and where it lay.
struct Inputs final : InputSink {
  struct Input {
    InputKind kind;
    std::uint64_t session;
    const std::byte* at;
    Bytes bytes;
  };
  std::vector<Input> seen;
  void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
    if (!batch.empty() && BatchView(batch).type() == damage_id)
      seen.push_back({envelope.kind, envelope.session, batch.data(), copy(batch)});
  }
};

struct Pending final : StateSink {
  std::vector<Bytes> rows;
  void row(const StateKey& key, std::uint64_t, std::span<const std::byte> bytes) override {
    if (key.section == StateSection::pending) rows.push_back(copy(bytes));
  }
};

/// The saved pending queue, as any program that knows SQLite reads it.
std::vector<Bytes> pending_rows(const std::string& file) {
  std::vector<Bytes> rows;
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  REQUIRE(sqlite3_prepare_v2(database, "SELECT bytes FROM state WHERE section = 11 ORDER BY key", -1, &query,
                             nullptr) == SQLITE_OK);
  while (sqlite3_step(query) == SQLITE_ROW) {
    const auto* at = static_cast<const std::byte*>(sqlite3_column_blob(query, 0));
    rows.emplace_back(at, at + sqlite3_column_bytes(query, 0));
  }
  sqlite3_finalize(query);
  sqlite3_close(database);
  return rows;
}

/// Behind the row's own header.
Bytes batch_of(const Bytes& row) {
  REQUIRE(row.size() > sizeof(PendingRow));
  return {row.begin() + sizeof(PendingRow), row.end()};
}

}  // namespace

TEST_CASE(
    "nebula 12: one posted batch is the same bytes in the arena, at the input sink, on the socket and in the saved "
    "queue") {
  const test::Folder folder;
  const std::string file = folder / "arena.muster";
  // What handlers are given lies in the arena: the batch of their message begins a header and a target before it.
  const std::byte* first_message = nullptr;
  Bytes in_arena;
  World world(
      file,
      [&](EntityRegistry& registry) {
        return Handlers{registry.subscribe("arena.damage", [&](const arena::Damage& hit, arena::Health& health) {
          health.value -= hit.amount;
          if (first_message) return;
          first_message = reinterpret_cast<const std::byte*>(&hit);
          const BatchView batch(first_message - 8 - sizeof(BatchHeader));
          in_arena = copy(batch.bytes());
        })};
      },
      {.hz = 200});
  EntityRegistry& registry = world.registry();
  std::vector<Entity> orcs;
  for (int i = 0; i < 3; ++i) orcs.push_back(registry.create("orc-" + std::to_string(i), arena::Health{}));
  const auto hit = [&](std::size_t i) { return arena::Damage{.amount = 1.5f + static_cast<float>(i), .by = orcs[0]}; };
  Inputs inputs;
  registry.host().add_sink(inputs);

  Server server(world, {.listen = "127.0.0.1:0", .token = "correct horse battery staple"});
  SocketTap watching_tap(folder / "watching", server.address());
  SocketTap sending_tap(folder / "sending", server.address());
  const auto connect = [&](const SocketTap& tap) {
    return Client::connect({.address = tap.address(), .token = server.token(), .name = "test"});
  };
  std::promise<void> watch_is_open;
  // The two clients: one watches, the other sends the same messages once the host's batch came by. Empty where all went well.
  std::future<std::string> clients = std::async(std::launch::async, [&]() -> std::string {
    std::string wrong;
    const auto work = [&]() -> std::string {
      auto watcher = connect(watching_tap);
      if (!watcher) return watcher.error().text;
      session::Follow what;
      what.world = what.inputs = true;
      what.input_types = {damage_id};
      auto watch = watcher->follow(what);
      if (!watch) return watch.error().text;
      const auto next_event = [&]() -> std::string {
        while (true) {
          auto frame = watcher->next(*watch, 20s);
          if (!frame) return frame.error().text;
          if (!*frame) return "no event came";
          if ((*frame)->is<arena::Damage>()) return {};
          if ((*frame)->is<session::Watching>()) watch_is_open.set_value();
        }
      };
      if (auto error = next_event(); !error.empty()) return error;
      auto sender = connect(sending_tap);
      if (!sender) return sender.error().text;
      BatchBuilder builder;
      for (std::size_t i = 0; i < orcs.size(); ++i) builder.append(orcs[i], hit(i));
      if (auto ack = sender->push_batch(builder.bytes()); !ack) return ack.error().text;
      return next_event();
    };
    wrong = work();
    world.stop();
    return wrong;
  });

  auto open = watch_is_open.get_future();
  std::optional<Pending> saved;
  std::vector<Bytes> in_file;
  while (world.next_frame()) {
    if (saved || open.wait_for(0s) != std::future_status::ready) continue;
    for (std::size_t i = 0; i < orcs.size(); ++i) registry.post(orcs[i], hit(i));
    registry.save(saved.emplace());
    world.save();
    in_file = pending_rows(file);
    CHECK(inputs.seen.empty());  // posted, not yet delivered
  }
  REQUIRE(clients.get() == "");
  server.stop();
  registry.host().remove_sink(inputs);

  // One batch of three messages.
  REQUIRE(inputs.seen.size() == 2);
  const Inputs::Input& posted = inputs.seen[0];
  CHECK(posted.kind == InputKind::post);
  REQUIRE(posted.bytes.size() == round_up(sizeof(BatchHeader) + 3 * item_bytes_for(8, sizeof(arena::Damage), 4), 16));
  const BatchView batch(posted.bytes);
  CHECK(batch.count() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(batch.target(i) == orcs[i]);
    const arena::Damage expected = hit(i);
    CHECK(std::memcmp(batch.payload(i), &expected, sizeof expected) == 0);
  }

  // In the arena: what the handler read was not even a copy of what the sink saw.
  CHECK(first_message == posted.at + sizeof(BatchHeader) + 8);
  CHECK(in_arena == posted.bytes);
  // In the saved queue: given to a sink of rows, and read from the file.
  REQUIRE(saved->rows.size() == 1);
  CHECK(batch_of(saved->rows[0]) == posted.bytes);
  REQUIRE(in_file.size() == 1);
  CHECK(batch_of(in_file[0]) == posted.bytes);
  // On the socket, out to who watches.
  const auto watched = watching_tap.received(damage_id);
  REQUIRE(watched.size() == 2);
  CHECK(watched[0] == posted.bytes);

  // On the socket, in from a client that sends the same messages; then at the sink, and out to who watches.
  const auto sent = sending_tap.sent(damage_id);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0] == posted.bytes);
  CHECK(inputs.seen[1].kind == InputKind::push);
  CHECK(inputs.seen[1].session != 0);
  CHECK(inputs.seen[1].bytes == posted.bytes);
  CHECK(watched[1] == posted.bytes);
  for (std::size_t i = 0; i < orcs.size(); ++i)
    CHECK(registry.get<arena::Health>(orcs[i]).value == 100 - 2 * hit(i).amount);
}
