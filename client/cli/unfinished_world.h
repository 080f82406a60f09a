// Creates a world in a temporary place, and moves it to its final path when it is complete.
#pragma once

#include <string>

namespace muster::cli {

/// A temporary directory next to the world to be created. The destructor removes the directory and
/// everything in it.
class UnfinishedWorld {
 public:
  /// Returns true if `world` can be created in a temporary directory, which is the case only if
  /// neither the world file nor any companion file of SQLite already exists.
  static bool fits(const std::string& world);

  /// Creates the directory WORLD-unfinished-XXXXXX. Fails with Exit::bad_file.
  explicit UnfinishedWorld(std::string world);
  ~UnfinishedWorld();
  UnfinishedWorld(const UnfinishedWorld&) = delete;
  UnfinishedWorld& operator=(const UnfinishedWorld&) = delete;

  /// Returns the temporary path at which a server must create the world.
  const std::string& path() const noexcept { return path_; }
  /// Gives the world file its final name. Must be called after the world's server has exited
  /// successfully. Fails with Exit::refused if another file has taken that name in the meantime.
  void finish();
  /// Returns `text` with path() replaced by the final path of the world.
  std::string renamed(std::string text) const;

 private:
  std::string world_, folder_, path_;
};

}  // namespace muster::cli
