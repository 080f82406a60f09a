// Writes the file in which clients on this machine find the server of a world.
// client/cpp/address_file.h reads it and describes its contents.
#pragma once

#include <string>

namespace muster {

struct AddressEntry {
  std::string world, address, unix_path, token, server;
};

/// Exists from construction to destruction, readable by its owner only, and never partly written.
/// An existing file is replaced, because the world's lock determines which server may serve it. The
/// file is removed only if it is still the one written here.
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
