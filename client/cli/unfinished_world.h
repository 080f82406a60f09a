// A world that is made under another name until it is whole.
#pragma once

#include <string>

namespace muster::cli {

/// A folder of its own beside the world that is to be made. Its destructor removes the folder with
/// what is left in it.
class UnfinishedWorld {
 public:
  /// Whether `world` can be made in this way: neither it nor a file that SQLite would take for its
  /// own is there.
  static bool fits(const std::string& world);

  /// Makes the folder WORLD-unfinished-XXXXXX. Fails with Exit::bad_file.
  explicit UnfinishedWorld(std::string world);
  ~UnfinishedWorld();
  UnfinishedWorld(const UnfinishedWorld&) = delete;
  UnfinishedWorld& operator=(const UnfinishedWorld&) = delete;

  /// Where a server makes the world.
  const std::string& path() const noexcept { return path_; }
  /// Gives the file its name, once its server has ended in good order. Fails with Exit::refused if
  /// there is such a file now.
  void finish();
  /// `text` with the world's own name for path().
  std::string renamed(std::string text) const;

 private:
  std::string world_, folder_, path_;
};

}  // namespace muster::cli
