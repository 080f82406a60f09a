// The result of a client call: a value or an error.
#pragma once

#include <expected>
#include <string>

#include "messages/session.h"

namespace muster {

/// The reason why a call failed. If it is from the server, `fault` holds the server's whole answer
/// and `text` its sentence.
struct ClientError {
  enum class Kind {
    refused,   ///< by the server or world; the session continues unless fault.closes
    lost,      ///< the connection could not be made or has ended
    late,      ///< no answer in time; it may still arrive, and the message may have been applied
    mistaken,  ///< an error in the call: an unknown type or field name
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
