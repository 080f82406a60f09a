// write_config_seeds FOLDER: files that a server reads at its start, for fuzz_config.
#include <filesystem>
#include <fstream>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = std::string(arguments[1]) + "/fuzz_config";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  };
  write("config", std::string(1, '\0') +
                      "world = \"w.muster\"\nhz = 60\nschema = [\"a.fbs\"]\npaused = true\n[limits]\ntexts_max = 5\n"
                      "outgoing.data_bytes_max = 100000\n[[rule]]\nroles = [\"edit\"]\nusers = [\"ann\"]\n"
                      "deny = [\"game.*\", \"/\"]\nallow = \"/town\"\n");
  write("characters",
        std::string(1, '\0') + "# \u00e4 \ufe7f\nschema = \"\"\"\u00e4\\\n a \ufe7f\"\"\"\nkey\ufe7f = 1\n");
  write("users", std::string(1, '\1') + "muster-users 1\nnext 3\nworld 0123456789abcdef0123456789abcdef\n1 edit 0 " +
                     std::string(64, 'a') + " ann\n2 revoked 0 - bob\n");
  write("token", std::string(1, '\2') + "abcdefghijklmnopqrstuvwxyz\n");
}
