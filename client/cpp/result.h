// What a client call gives: a value, or why not.
#pragma once

#include <expected>
#include <string>

#include "messages/session.h"

namespace muster {

/// Why a call failed. Where the server said so, `fault` holds all it said and `text` is its sentence.
struct ClientError {
  enum class Kind {
    refused,   ///< the server or the world refused; the session goes on unless fault.closes
    lost,      ///< the connection could not be made or is gone
    late,      ///< no answer within the time allowed; it may still come, and the message may have been applied
    mistaken,  ///< the call itself makes no sense: an unknown type or field name
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
