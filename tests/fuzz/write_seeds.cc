// write_seeds FOLDER: the inputs that fuzzing starts from, one folder per target.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "messages/frame.h"
#include "tests/messages/good_batches.h"

namespace {

void write(const std::filesystem::path& folder, std::size_t number, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / std::to_string(number), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  std::size_t number = 0;
  for (const auto& batch : test::good_batches()) {
    write(folder / "fuzz_batch", number, batch);
    for (const bool envelope : {false, true}) {
      const std::size_t before = 1 + 16 + (envelope ? 32 : 0);
      std::vector<std::byte> stream(before + batch.size());
      stream[0] = envelope ? std::byte{0x83} : std::byte{3};
      const auto bytes = static_cast<std::uint32_t>(stream.size() - 1);
      const std::uint32_t flags = envelope ? muster::frame_envelope : 0;
      std::memcpy(stream.data() + 1, &bytes, sizeof bytes);
      std::memcpy(stream.data() + 5, &flags, sizeof flags);
      std::memcpy(stream.data() + before, batch.data(), batch.size());
      write(folder / "fuzz_frame", number * 2 + envelope, stream);
    }
    ++number;
  }
}
