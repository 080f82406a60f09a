// Result of a client call: either a value or an error.
#pragma once

#include <expected>
#include <string>

#include "messages/session.h"

namespace muster {

/// The reason why a call failed. If the server sent the reason as a Fault, `fault` contains that
/// Fault, and `text` contains the Fault's sentence.
struct ClientError {
  enum class Kind {
    refused,   ///< refused by the server or world; the session continues unless fault.closes is set
    lost,      ///< the connection could not be established or has ended
    late,      ///< no answer arrived in time; the answer may still arrive, and the message may have
               ///< been applied
    mistaken,  ///< an error in the call, such as an unknown type or field name
  };
  Kind kind = Kind::lost;
  std::string text;
  session::Fault fault;
};

template <class T>
using Result = std::expected<T, ClientError>;

inline std::unexpected<ClientError> mistaken(std::string text) {
  return std::unexpected(ClientError{ClientError::Kind::mistaken, std::move(text), {}});
}

}  // namespace muster
