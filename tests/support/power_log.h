// Notes what this process does to the files of a folder, below SQLite and beside it, and makes of that what a power cut
// leaves: what was synced is there, the rest is lost, kept or torn.
//
// power_log.cc puts functions of its own in the place of the system's that write, truncate, sync, name and map files. So a
// test that is linked with it sees files that SQLite does not open, too: the lock, the work mark, lists of users. A file has the
// same inode and birth for statx in all that is made of it, as on a disk whose power comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace muster::test {

/// One at a time. Notes what all threads do, in the order in which the system did it. Nothing is synced in truth.
class PowerLog {
 public:
  struct Options {
    bool file_syncs = true;       ///< false: a disk that promises and does not: files' syncs count for nothing
    bool directory_syncs = true;  ///< the same of directories
    bool slow_syncs = false;      ///< a sync takes some time, in which other threads go on
  };

  /// From now on until its end. `folder` is absolute, exists and has no folders in it; what it holds is on the disk.
  PowerLog(std::string folder, Options options);
  explicit PowerLog(std::string folder) : PowerLog(std::move(folder), Options{}) {}
  /// Goes on where `before` was behind `events` events, in the folder that copy() made of that: the process was killed, and
  /// what it had not synced may still be lost. The events of before count.
  PowerLog(const PowerLog& before, std::size_t events, std::string folder, Options options);
  ~PowerLog();
  PowerLog(const PowerLog&) = delete;
  PowerLog& operator=(const PowerLog&) = delete;

  /// From now on nothing is noted.
  void end() noexcept;
  /// How many events there were. A cut may be behind any number of them.
  std::size_t events();
  /// Those numbers of events behind which a sync was over or a name was changed.
  std::vector<std::size_t> turning_points();
  /// Makes the empty folder `to` what is left of the folder if the power goes behind `events` events. `seed` decides what
  /// becomes of what was not synced.
  void cut(std::size_t events, std::uint64_t seed, const std::string& to);
  /// Makes the empty folder `to` what the folder held behind `events` events, as long as the power stays.
  void copy(std::size_t events, const std::string& to);
  /// The events before this number, the last `lines` of them, one a line: for people who look for a fault.
  std::string text(std::size_t events, std::size_t lines = 40);

  // What follows is for the functions in the system's place.
  enum class Kind : std::uint8_t { write, size, grow, sync, synced, name, directory_sync, directory_synced };
  struct Event {
    Kind kind;
    std::size_t file = 0;         // of an event that has one
    std::int64_t at = 0;          // offset, size, or of synced: the number of the event that began it
    std::string bytes = {};       // of a write
    std::string name = {};        // of a name: the one that is given to the file; empty: none
    std::string taken_away = {};  // of a name: the one that goes; empty: none
  };
  struct Mapping {
    const volatile unsigned char* at;
    std::size_t length;
    std::size_t file;
    std::string seen;
  };
  mutable std::recursive_mutex mutex;
  bool is_here(std::string_view path) const noexcept;
  std::string name_of(std::string_view path) const { return std::string(path.substr(folder_.size() + 1)); }
  /// The file that `fd` has open; false if it is none of the folder.
  bool find(int fd, std::size_t& file) const;
  bool is_folder(int fd) const;
  void opened(int fd, std::string_view path, bool is_new, bool is_cut);
  void add(Event event);
  void mapped(const void* at, std::size_t length, std::size_t file);
  void unmapped(const void* at);
  int sync(int fd);

 private:
  struct File {
    std::string first_name;
    std::string before;      // what it held when it was found
    std::uint64_t identity;  // its inode, as programs see it
  };
  void begin();
  std::map<std::string, std::size_t> names_behind(std::size_t events) const;
  /// Notes what was stored into mapped files since the last time.
  void look_at_mappings();
  void put(const std::map<std::string, std::size_t>& names, const std::map<std::size_t, std::string>& contents,
           std::mt19937_64& random, const std::string& to) const;

  const std::string folder_;
  const Options options_;
  std::uint64_t device_ = 0;
  std::vector<Event> events_;
  std::vector<File> files_;
  std::map<std::string, std::size_t> names_before_;
  std::map<std::uint64_t, std::size_t> by_inode_;
  std::vector<Mapping> mappings_;
};

}  // namespace muster::test
