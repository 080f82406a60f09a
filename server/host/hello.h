// Reads the Hello with which a visitor's connection begins, before the host decides whether the
// visitor may wake the world. The bytes are kept, and the world's server gets them as they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "messages/session.h"
#include "messages/type_table.h"

namespace muster::hosting {

/// Must be used by only one thread at a time.
class HelloReader {
 public:
  /// Limit on the size of the frame with the Hello.
  static constexpr std::size_t hello_bytes_max = 4096;

  HelloReader();

  enum class State : std::uint8_t { incomplete, complete, wrong };
  /// Takes the next bytes of the connection.
  State add(std::span<const std::byte> bytes);
  /// Everything that was taken.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// The Hello, after State::complete.
  const session::Hello& hello() const noexcept { return hello_; }
  std::uint64_t request() const noexcept { return request_; }  ///< its request id
  /// The reason to refuse the visitor, after State::wrong.
  const session::Fault& fault() const noexcept { return fault_; }

 private:
  State judged(std::span<const std::byte> frame);
  State wrong(session::FaultCode code, const char* reason, std::string text);

  TypeTable types_;
  std::vector<std::byte> bytes_;
  session::Hello hello_;
  session::Fault fault_;
  std::uint64_t request_ = 0;
};

/// Returns a Fault that ends the connection.
session::Fault ending_fault(session::FaultCode code, const char* reason, std::string text);

/// Returns the frame that tells a visitor why it is refused.
std::vector<std::byte> refusal_frame(const session::Fault& fault, std::uint64_t request);

/// Looks at the bytes with which a world's server answers a Hello.
enum class FirstAnswer : std::uint8_t {
  incomplete,  ///< more bytes are needed
  stopping,    ///< the server is stopping, so the world must be woken again
  other,       ///< the visitor must get the answer
};
FirstAnswer first_answer(std::span<const std::byte> bytes);

}  // namespace muster::hosting
