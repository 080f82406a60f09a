// write_state_seeds FOLDER: what fuzz_state starts from: for each row of the good state the edits that keep it as it is.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/state_edits.h"
#include "tests/model/state_life.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "fuzz_state";
  std::filesystem::create_directories(folder);
  const naive::StateRows good = naive::some_state(1);
  std::uint8_t number = 0;
  for (const auto& [key, bytes] : good) {
    if (key.section != muster::StateSection::schema && bytes.size() <= 4096) {
      std::vector<std::byte> seed;
      fuzz::put_edit(seed, fuzz::Op::replace, number, 0, bytes);
      fuzz::put_edit(seed, fuzz::Op::overwrite, number, 0,
                     std::span(bytes).first(std::min<std::size_t>(8, bytes.size())));
      std::ofstream file(folder / std::to_string(number), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    }
    if (++number == 255) break;
  }
}
