// A mapped page whose file is cut off while it is used.
#include "server/world/journal/cut_off_page.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csetjmp>

using namespace muster;

namespace {

/// One page of a file without a name.
struct MappedPage {
  MappedPage() {
    char name[] = "/tmp/muster-page-XXXXXX";
    file = ::mkstemp(name);
    REQUIRE(file >= 0);
    ::unlink(name);
    REQUIRE(::ftruncate(file, guarded_page_bytes) == 0);
    void* const mapped = ::mmap(nullptr, guarded_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(mapped != MAP_FAILED);
    page = static_cast<volatile char*>(mapped);
  }
  ~MappedPage() {
    ::munmap(address(), guarded_page_bytes);
    ::close(file);
  }
  void* address() const { return const_cast<char*>(page); }
  void cut_off() const { REQUIRE(::ftruncate(file, 0) == 0); }

  int file = -1;
  volatile char* page = nullptr;
};

sigjmp_buf outside;
void leave(int) { siglongjmp(outside, 1); }

/// Returns whether a store to the page reached the handler `leave`.
bool store_is_told(const MappedPage& mapped) {
  if (sigsetjmp(outside, 1) != 0) return true;
  mapped.page[0] = 1;
  return false;
}

}  // namespace

TEST_CASE("a store to a guarded page whose file was cut off goes on", "[journal]") {
  const MappedPage first, second;
  guard_page(first.address());
  guard_page(second.address());
  first.page[1] = 'a';
  first.cut_off();
  first.page[0] = 'b';
  CHECK(first.page[0] == 'b');
  CHECK(first.page[1] == 0);
  unguard_page(first.address());
  second.cut_off();
  CHECK(second.page[100] == 0);
  unguard_page(second.address());
}

TEST_CASE("a SIGBUS of another page goes to the handler from before, which is there again at the end", "[journal]") {
  struct sigaction own{}, before{}, now{};
  own.sa_handler = leave;
  REQUIRE(::sigaction(SIGBUS, &own, &before) == 0);
  const MappedPage guarded, other;
  other.cut_off();
  guard_page(guarded.address());
  CHECK(store_is_told(other));
  CHECK_FALSE(store_is_told(guarded));
  guarded.cut_off();
  CHECK_FALSE(store_is_told(guarded));
  unguard_page(guarded.address());
  CHECK(store_is_told(other));
  REQUIRE(::sigaction(SIGBUS, &before, &now) == 0);
  CHECK(now.sa_handler == leave);
}
