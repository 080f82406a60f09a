// What is known of the -wal: what is merged, what readers keep, and how long it is.
#include "server/world/file/wal_use.h"

#include <catch2/catch.hpp>

using namespace muster;

TEST_CASE("what was written before a merge is merged by it, and what came meanwhile is not") {
  WalUse use;
  use.wrote(100);
  CHECK(use.unmerged() == 100);
  use.merge_begun();
  CHECK(use.is_merging());
  use.wrote(160);
  use.merge_ended(100);
  CHECK_FALSE(use.is_merging());
  CHECK(use.unmerged() == 60);
  CHECK(use.length() == 160);
  CHECK(use.held() == 0);
  // More than was asked for may be there.
  use.merge_begun();
  use.wrote(170);
  use.merge_ended(170);
  CHECK(use.unmerged() == 10);
  CHECK(use.held() == 0);
}

TEST_CASE("a -wal that was merged begins anew with the next commit, also while a merge ends") {
  WalUse use;
  use.wrote(100);
  use.merge_begun();
  use.merge_ended(100);
  use.wrote(20);
  CHECK(use.length() == 20);
  CHECK(use.unmerged() == 20);
  use.merge_begun();
  use.wrote(8);  // the merge was over before this one
  use.merge_ended(0);
  CHECK(use.held() == 0);
  CHECK(use.length() == 8);
  CHECK(use.unmerged() == 8);
}

TEST_CASE("what a reader keeps is held and no part of the length, and neither is what a failing disk keeps") {
  WalUse use;
  use.wrote(100);
  use.merge_begun();
  use.merge_ended(30);
  CHECK(use.held() == 70);
  CHECK(use.unmerged() == 0);  // tried again with what comes
  CHECK(use.length() == 0);
  use.wrote(150);
  CHECK(use.length() == 50);
  use.merge_begun();
  use.merge_ended(std::nullopt);
  CHECK(use.held() == 70);
  CHECK(use.length() == 0);
  use.wrote(200);
  use.merge_begun();
  use.merge_ended(200);
  CHECK(use.held() == 0);
  // A reader that looks at the whole of it keeps nothing from being merged, and it from beginning anew.
  use.wrote(210);
  CHECK(use.length() == 10);
  use.merge_begun();
  use.merge_ended(210);
  use.wrote(5);
  CHECK(use.length() == 5);
}
