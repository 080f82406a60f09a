// write_watch_seeds FOLDER: programs of watches, for fuzz_watch and fuzz_resume.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path root = arguments[1];
  for (const char* target : {"fuzz_watch", "fuzz_resume"}) std::filesystem::create_directories(root / target);
  std::uint64_t state = 88172645463325252ull;
  for (int seed = 0; seed < 40; ++seed) {
    std::string bytes;
    for (int i = 0; i < 40 + seed * 20; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bytes += static_cast<char>(state >> 32);
    }
    for (const char* target : {"fuzz_watch", "fuzz_resume"}) {
      std::FILE* const file = std::fopen((root / target / std::to_string(seed)).c_str(), "wb");
      if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file) != 0) return 1;
    }
  }
  return 0;
}
