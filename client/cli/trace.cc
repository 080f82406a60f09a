// `muster trace` makes the server record what the world does, and writes the result to a local
// file.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/print.h"
#include "client/cli/remote_world.h"

namespace muster::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The output file for the trace. The file is removed unless all of it has been written.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) fail(Exit::bad_file, path_ + ": " + std::strerror(errno));
  }
  ~OutputFile() {
    if (file_) std::fclose(file_);
    std::error_code ignored;
    if (!written_ && std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::uint8_t> bytes) {
    int error = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? 0 : errno;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && error == 0) error = errno;
    if (error) fail(Exit::bad_file, path_ + ": " + std::strerror(error));
    written_ = true;
  }

 private:
  const std::string path_;
  std::FILE* file_;
  bool written_ = false;
};

}  // namespace

void trace(const Common& common, const std::string& path, double seconds, bool causes) {
  RemoteWorld world(connect(common.where));
  Client& client = world.client();
  must(client.ask(session::BeginTrace{.causes = causes}));
  OutputFile file(path);
  end_on_interrupt();
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  // This call keeps the session alive, and fails if the session has ended. It returns no frames
  // because no watch is open.
  for (auto left = until - Clock::now(); left.count() > 0 && !interrupted(); left = until - Clock::now())
    must(client.next(0, std::min<Clock::duration>(left, std::chrono::milliseconds(100))));
  const session::TraceText text = must(client.end_trace());
  file.write(text.bytes);
  if (common.json) {
    JsonWriter out;
    out.open_object().member("file", path).member("slices", text.slices).member("left_out", text.left_out);
    return print_line(out.close_object().text());
  }
  print_line(path + ": " + std::to_string(text.slices) + " slices, " + std::to_string(text.left_out) + " left out");
}

}  // namespace muster::cli
