#include "server/plugins/plugin_copy.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "schema/hash.h"

namespace muster {
namespace {

std::string reason() { return std::strerror(errno); }

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// Reads the whole file. If another process writes to the file in the meantime, its length or time
/// of modification changes, which is reported as an error.
std::expected<std::vector<char>, std::string> read_whole(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat before{}, after{};
  if (file.number < 0 || ::fstat(file.number, &before) != 0) return std::unexpected("cannot be read: " + reason());
  if (!S_ISREG(before.st_mode)) return std::unexpected("is not a file");
  // One extra byte makes it possible to detect that the file has grown.
  std::vector<char> bytes(static_cast<std::size_t>(before.st_size) + 1);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.number, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected("cannot be read: " + reason());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (::fstat(file.number, &after) != 0 || size != static_cast<std::size_t>(before.st_size) ||
      after.st_mtim.tv_sec != before.st_mtim.tv_sec || after.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
    return std::unexpected("changed while it was read: another program is writing it");
  bytes.resize(size);
  return bytes;
}

/// Checks the headers. Returns a description of the fault, or an empty string if there is none.
/// This check is necessary because the system's loader maps the ranges that the headers specify
/// without checking that the file contains them, and an access to a missing range would kill the
/// program.
std::string look_at(const std::vector<char>& bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return "is not a shared library";
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return "is not a shared library for this machine";
  const std::uint64_t size = bytes.size();
  const auto within = [&](std::uint64_t offset, std::uint64_t count) {
    return offset <= size && count <= size - offset;
  };
  const auto cut_off = [&] {
    return "is cut off: it has " + std::to_string(size) + " bytes, fewer than its headers say";
  };
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !within(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) ||
      !within(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize))
    return cut_off();
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, bytes.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (!within(part.p_offset, part.p_filesz)) return cut_off();
  }
  return {};
}

/// Returns true if a file that has passed the check contains unique symbols. A library without
/// section headers is assumed to contain none.
bool has_unique_symbols(const std::vector<char>& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (unsigned i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM || section.sh_offset > bytes.size() ||
        section.sh_size > bytes.size() - section.sh_offset)
      continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE && symbol.st_shndx != SHN_UNDEF) return true;
    }
  }
  return false;
}

/// Removes each copy in `folder` whose name begins with `prefix` and whose process has ended.
void remove_left_over(const std::string& folder, const std::string& prefix) {
  DIR* open = ::opendir(folder.c_str());
  if (!open) return;
  std::vector<std::string> left;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    pid_t process = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), process);
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) left.push_back(folder + "/" + entry->d_name);
  }
  ::closedir(open);
  for (const std::string& path : left) ::unlink(path.c_str());
}

/// Writes a new file. If the file cannot be created in the given directory, returns false and sets
/// errno.
bool write_new(const std::string& path, const std::vector<char>& bytes) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700)};
  if (file.number < 0) return false;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file.number, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int why = errno;
      ::unlink(path.c_str());
      errno = why;
      return false;
    }
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace

std::expected<PluginCopy, std::string> PluginCopy::make(const std::string& path) {
  static std::atomic<unsigned> copies = 0;  // used only to generate names
  auto bytes = read_whole(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (const std::string wrong = look_at(*bytes); !wrong.empty()) return std::unexpected(wrong);

  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string prefix = "." + (slash == std::string::npos ? path : path.substr(slash + 1)) + ".muster-";
  remove_left_over(folder, prefix);
  const std::string name = prefix + std::to_string(::getpid()) + "-" + std::to_string(++copies);
  const char* temporary = std::getenv("TMPDIR");
  PluginCopy copy;
  copy.unique_ = muster::has_unique_symbols(*bytes);
  copy.digest_ = hash64(std::string_view(bytes->data(), bytes->size()));
  for (const std::string& where : {folder, std::string(temporary && *temporary ? temporary : "/tmp")}) {
    copy.path_ = where + "/" + name;
    if (write_new(copy.path_, *bytes)) return copy;
  }
  copy.path_.clear();
  return std::unexpected("it cannot be copied: " + reason());
}

PluginCopy::~PluginCopy() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace muster
