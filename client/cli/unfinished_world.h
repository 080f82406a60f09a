// A world that is created under a different name until it is complete.
#pragma once

#include <string>

namespace muster::cli {

/// A separate directory next to the world to be created. The destructor removes the directory and
/// anything left in it.
class UnfinishedWorld {
 public:
  /// Returns true if `world` can be created in this way: neither it nor a file that SQLite would
  /// associate with it exists.
  static bool fits(const std::string& world);

  /// Creates the directory WORLD-unfinished-XXXXXX. Fails with Exit::bad_file.
  explicit UnfinishedWorld(std::string world);
  ~UnfinishedWorld();
  UnfinishedWorld(const UnfinishedWorld&) = delete;
  UnfinishedWorld& operator=(const UnfinishedWorld&) = delete;

  /// Returns the path at which a server creates the world.
  const std::string& path() const noexcept { return path_; }
  /// Gives the file its final name. Call this after its server has exited successfully. Fails with
  /// Exit::refused if a file of that name exists by then.
  void finish();
  /// Returns `text` with path() replaced by the world's final name.
  std::string renamed(std::string text) const;

 private:
  std::string world_, folder_, path_;
};

}  // namespace muster::cli
