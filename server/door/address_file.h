// Writes where clients on this machine find the server of a world; client/cpp/address_file.h reads it and says what is in it.
#pragma once

#include <string>

namespace muster {

struct AddressEntry {
  std::string world, address, unix_path, token, server;
};

/// Present from construction to destruction, readable by its owner only, never half written. One that is there already is
/// replaced: the world's own lock says which server may serve it. Removed only if it is still the one written here.
class AddressFile {
 public:
  /// Throws ServerError.
  AddressFile(std::string path, const AddressEntry& entry);
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  std::string path_;
  std::string written_;
};

}  // namespace muster
