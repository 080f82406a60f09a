// Defines the error that a command throws if it cannot do what the user requested. The code that
// detects the problem throws the error, and main() prints it once.
#pragma once

#include <string>
#include <utility>

#include "client/cpp/result.h"
#include "messages/value_text.h"

namespace muster::cli {

/// Exit codes; docs/cli.md lists them.
enum class Exit : int {
  done = 0,
  refused = 1,      ///< the world refused the request, or something named in it does not exist
  usage = 2,        ///< the command line is invalid
  unreachable = 3,  ///< there is no server, or the server does not accept the client
  bad_file = 4,     ///< a model or world file cannot be read, or a trace cannot be written
  unwritten = 5,    ///< the command was executed, but its output could not be written
  // 6: a replay that compared nothing, which muster-server reports
};

struct Failure {
  Exit exit;
  std::string text;   ///< one or more lines, without a trailing newline
  bool late = false;  ///< true if the server did not answer in time
  int signal = 0;     ///< signal that the program raises to terminate itself after printing the
                      ///< text
};

[[noreturn]] inline void fail(Exit exit, std::string text) { throw Failure{exit, std::move(text)}; }

Exit exit_of(const ClientError& error);

/// Returns the value of a result. If the result is an error, throws a Failure that ends the
/// command.
template <class T>
T must(Result<T>&& result) {
  if (!result)
    throw Failure{exit_of(result.error()), result.error().text, result.error().kind == ClientError::Kind::late};
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
template <class T>
T must(ValueResult<T>&& result) {
  if (!result)
    fail(result.error().kind == ValueError::Kind::malformed ? Exit::usage : Exit::refused, result.error().text);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace muster::cli
