// A reader that goes wrong ends its own process, and the caller is told how.
#include "client/import/reader_process.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

using namespace muster;

namespace {

constexpr ProcessLimits limits{.memory_bytes = 64u << 20, .seconds = 1};

std::string refusal(const std::function<ImportedModel()>& read, const ProcessLimits& with = limits) {
  const auto model = read_apart(read, with);
  if (model) FAIL("it was read");
  return model.error();
}

ImportedModel one_entity() {
  ImportedModel model;
  model.entities.emplace_back().name = "root";
  return model;
}

}  // namespace

TEST_CASE("what a reader makes in its process is what the caller gets") {
  const auto model = read_apart(one_entity, limits);
  REQUIRE(model);
  CHECK(model->entities.size() == 1);
  CHECK(model->entities[0].name == "root");
}

TEST_CASE("what a reader throws is the reason") {
  CHECK(refusal([]() -> ImportedModel { throw std::runtime_error("nodes[3] is no object"); }) ==
        "nodes[3] is no object");
}

TEST_CASE("a reader that ends by a signal is told with its number") {
  CHECK(refusal([]() -> ImportedModel { std::abort(); }) == "the reader ended by signal 6 (Aborted) on this file");
  CHECK(refusal([]() -> ImportedModel {
          raise(SIGSEGV);
          return {};
        }) == "the reader ended by signal 11 (Segmentation fault) on this file");
  CHECK(refusal([]() -> ImportedModel { _exit(9); }) == "the reader ended with 9 on this file");
  CHECK(refusal([]() -> ImportedModel { _exit(0); }) == "the reader ended in the middle of this file");
}

TEST_CASE("a reader that never ends is ended, whether it works or waits") {
  CHECK(refusal([]() -> ImportedModel {
          for (volatile unsigned i = 0;;) i = i + 1;
        }) == "reading it takes more than 1 s");
  CHECK(refusal([]() -> ImportedModel {
          for (;;) pause();
        }) == "reading it takes more than 1 s");
}

TEST_CASE("a reader that takes too much memory is told so") {
  CHECK(refusal([]() -> ImportedModel {
          std::vector<std::string> all;
          for (;;) all.emplace_back(1u << 20, 'x');
        }) == "reading it takes more than 64 MiB of memory");
}

TEST_CASE("a model of more bytes than the limit is refused") {
  ProcessLimits small = limits;
  small.answer_bytes = 1u << 20;
  CHECK(refusal(
            [] {
              ImportedModel model = one_entity();
              model.warnings.assign(100, std::string(1u << 16, 'w'));
              return model;
            },
            small) == "it makes a model of more than 1 MiB");
}

TEST_CASE("a reader may call itself a hundred thousand times") {
  struct Deep {
    static std::size_t down(std::size_t left) {
      volatile char frame[512];
      frame[left % sizeof frame] = 1;
      return left == 0 ? 0 : down(left - 1) + static_cast<std::size_t>(frame[left % sizeof frame]);
    }
  };
  const auto model = read_apart(
      [] {
        ImportedModel made = one_entity();
        made.entities[0].name = std::to_string(Deep::down(100'000));
        return made;
      },
      limits);
  REQUIRE(model);
  CHECK(model->entities[0].name == "100000");
}

TEST_CASE("what a reader prints or reads does not reach the caller's streams") {
  const auto model = read_apart(
      [] {
        std::puts("printed by a reader");
        std::fflush(stdout);
        ImportedModel made = one_entity();
        made.entities[0].name = std::to_string(std::getchar());
        return made;
      },
      limits);
  REQUIRE(model);
  CHECK(model->entities[0].name == "-1");
}

TEST_CASE("readers work in several threads at once") {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k)
        if (read_apart(one_entity, limits)) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 40);
}
