// Writes the file with which clients on this machine find a world's server.
// client/cpp/address_file.h reads the file and describes its contents.
#pragma once

#include <string>

namespace muster {

struct AddressEntry {
  std::string world, address, unix_path, token, server;
};

/// The file exists from construction to destruction, is readable only by its owner, and is never
/// partially written. An existing file is replaced, because it is the world's lock that determines
/// which server may serve the world. The file is removed only if it is still the one written by
/// this object.
class AddressFile {
 public:
  /// Writes the file. Throws ServerError on failure.
  AddressFile(std::string path, const AddressEntry& entry);
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  std::string path_;
  std::string written_;
};

}  // namespace muster
