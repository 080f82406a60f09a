// How long an edit waits until it is durable, and how much becomes durable in a second, beside what a program must do at the least:
// a commit of SQLite in a thread of its own, in a loop that reads and answers; and blobs of as many bytes, one in each commit.
//
//   durable_latency [ROUNDS]    20 rounds, in turns; prints the median of the rounds' ratios. Both databases are in the working directory
//                               (a folder in memory says nothing), with synchronous=FULL and a write-ahead log.
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "client/cpp/client.h"
#include "messages/batch_builder.h"
#include "server/server.h"
#include "server/world/world.h"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

constexpr int edits = 100;                       // in a round, one after the other
constexpr std::size_t flood = 200'000;           // messages of a round, as fast as they are taken
constexpr std::size_t messages_a_frame = 4'000;  // of them
constexpr std::size_t blob_bytes = 64u << 10;

class Blobs {
 public:
  explicit Blobs(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("the database cannot be made");
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
        "CREATE TABLE blobs(id INTEGER PRIMARY KEY, bytes BLOB);");
    sqlite3_prepare_v2(db_, "INSERT INTO blobs(bytes) VALUES(?)", -1, &insert_, nullptr);
  }
  ~Blobs() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;
  /// Returns when it is on the disk.
  void put(std::size_t bytes) {
    static const std::string all(blob_bytes, 'b');
    sqlite3_bind_blob(insert_, 1, all.data(), static_cast<int>(std::min(bytes, all.size())), SQLITE_STATIC);
    if (sqlite3_step(insert_) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
    sqlite3_reset(insert_);
  }
  /// Outside what is timed: as a server does between two saves.
  void empty_log() { run("PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM blobs;"); }

 private:
  void run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Microseconds of the median.
template <class F>
double median_us(F&& once) {
  std::vector<double> took;
  for (int i = 0; i < edits; ++i) {
    const auto begin = Clock::now();
    once();
    took.push_back(us_since(begin));
  }
  return ::bench::middle(std::move(took));
}

void measure(int rounds, const std::string& folder) {
  World world(folder + "/w.muster",
              [](EntityRegistry& registry) {
                registry.add_type<::bench::Position>();
                return Handlers{};
              },
              {.durability = Durability::each_flush, .autosave = {}});
  const Entity entity = world.registry().create("edited", ::bench::Position{});
  world.save();
  Server server(world, {.listen = "127.0.0.1:0", .page_folder = "none"});
  std::string wrong;
  std::thread client_thread([&] {
    try {
      Client client = must(Client::connect({.address = server.address(), .token = server.token(), .name = "bench"}));
      BatchBuilder one;
      SetField edit{};
      edit.component = TypeTraits<::bench::Position>::id;
      edit.field = hash32("x");
      edit.bytes = 4;
      one.append(entity, edit);
      BatchBuilder frame;
      for (std::size_t i = 0; i < messages_a_frame; ++i) frame.append(entity, edit);
      constexpr std::size_t frames = flood / messages_a_frame;
      const std::size_t bytes = frames * frame.bytes().size();
      Blobs blobs(folder + "/blobs.db");
      constexpr std::size_t asked_bytes = 96, answer_bytes = 80;
      const std::string asked(asked_bytes, 'a');
      ::bench::Bare bare(asked_bytes, answer_bytes, [&] { blobs.put(256); });
      const int socket = ::bench::connect_to(bare.port);
      std::vector<double> bare_us, edit_us, ratios, bare_rates, rates, rate_ratios;
      for (int round = -1; round < rounds; ++round) {
        const double each_bare = median_us([&] {
          ::bench::send_all(socket, asked);
          ::bench::receive(socket, answer_bytes);
        });
        const double each_edit = median_us([&] {
          const session::Ack ack = must(client.push_batch(one.bytes()));
          must(client.wait_durable(ack.sequence));
        });
        auto begin = Clock::now();
        for (std::size_t put = 0; put < bytes; put += blob_bytes) blobs.put(blob_bytes);
        const double bare_rate = static_cast<double>(bytes) / us_since(begin);
        begin = Clock::now();
        std::uint64_t last = 0;
        for (std::size_t i = 0; i < frames; ++i) last = must(client.push_batch(frame.bytes())).sequence;
        must(client.wait_durable(last));
        const double rate = static_cast<double>(bytes) / us_since(begin);
        blobs.empty_log();
        must(client.ask<session::Save>());
        if (round < 0) continue;  // warms up
        bare_us.push_back(each_bare), edit_us.push_back(each_edit), ratios.push_back(each_edit / each_bare);
        bare_rates.push_back(bare_rate), rates.push_back(rate), rate_ratios.push_back(rate / bare_rate);
      }
      using ::bench::middle;
      std::printf("a commit of SQLite in a bare loop       %7.1f us\n", middle(bare_us));
      std::printf("edit to durable                         %7.1f us    %5.2f x  (goal: 1.5 x)\n", middle(edit_us),
                  middle(ratios));
      std::printf("blobs of 64 KiB, a commit each          %7.1f MB/s\n", middle(bare_rates));
      std::printf("edits, %zu in a frame, durable         %7.1f MB/s  %5.2f x  (goal: 0.7 x)\n", messages_a_frame,
                  middle(rates), middle(rate_ratios));
      ::close(socket);
    } catch (const std::exception& error) {
      wrong = error.what();
      std::fprintf(stderr, "durable_latency: %s\n", wrong.c_str());
      std::_Exit(2);  // the bare loop waits for its client
    }
    world.stop();
  });
  while (world.next_frame()) {
  }
  client_thread.join();
  server.stop();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = std::filesystem::current_path() / ("durable-latency-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  measure(count > 1 ? std::max(1, std::atoi(arguments[1])) : 20, folder);
  std::filesystem::remove_all(folder);
}
