// A reader that goes wrong ends its own process, and the caller is told how.
#include "client/import/reader_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/folder.h"

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
  CHECK(refusal([]() -> ImportedModel { throw std::runtime_error("nodes[3] is not an object"); }) ==
        "nodes[3] is not an object");
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
  const test::Folder folder;
  const std::string input = folder.write("input", "something to read").string(), output = folder.write("output", "");
  const std::array files{::open(input.c_str(), O_RDONLY | O_CLOEXEC), ::open(output.c_str(), O_WRONLY | O_CLOEXEC),
                         ::open(output.c_str(), O_WRONLY | O_CLOEXEC)};
  std::array<int, 3> kept{};
  std::fflush(nullptr);
  for (int stream = 0; stream < 3; ++stream) {
    kept[static_cast<std::size_t>(stream)] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
    ::dup2(files[static_cast<std::size_t>(stream)], stream);
  }
  const auto model = read_apart(
      [] {
        std::puts("printed by a reader");
        std::fputs("an error of a reader", stderr);
        std::fflush(nullptr);
        char letter = 0;
        ImportedModel made = one_entity();
        made.entities[0].name = std::to_string(::read(0, &letter, 1));
        return made;
      },
      limits);
  for (int stream = 0; stream < 3; ++stream) {
    ::dup2(kept[static_cast<std::size_t>(stream)], stream);
    ::close(kept[static_cast<std::size_t>(stream)]);
    ::close(files[static_cast<std::size_t>(stream)]);
  }
  REQUIRE(model);
  CHECK(std::stoi(model->entities[0].name) <= 0);  // the end of what there is, or EBADF
  CHECK(test::read_file(output).empty());
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
