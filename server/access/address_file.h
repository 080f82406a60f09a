// Writes the file that tells clients on this machine how to reach a world's server.
// client/cpp/address_file.h reads the file and describes its contents.
#pragma once

#include <string>

namespace muster {

struct AddressEntry {
  std::string world, address, unix_path, token, server;
  std::string fingerprint = {};  ///< fingerprint of the certificate, or empty without TLS
};

/// The file exists from construction to destruction, is readable only by its owner, and is never
/// visible in a partially written state. An existing file is replaced, because the world's lock,
/// not this file, determines which server may serve the world. The destructor removes the file only
/// if it is still the one that this object wrote.
class AddressFile {
 public:
  /// Writes the file. Throws ServerError on failure.
  AddressFile(std::string path, const AddressEntry& entry);
  /// Replaces the file's content. Throws ServerError on failure.
  void rewrite(const AddressEntry& entry);
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

 private:
  std::string path_;
  std::string written_;
};

}  // namespace muster
