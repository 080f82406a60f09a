// How a command ends when it cannot do what was asked. Thrown by whoever notices, printed once, in
// main.
#pragma once

#include <string>
#include <utility>

#include "client/cpp/result.h"
#include "messages/value_text.h"

namespace muster::cli {

/// Exit codes; docs/cli.md lists them.
enum class Exit : int {
  done = 0,
  refused = 1,      ///< the world said no, or what was named is not there
  usage = 2,        ///< the command line makes no sense
  unreachable = 3,  ///< no server, or it does not let us in
  bad_file = 4,     ///< a model or a world file cannot be read, a trace not written
  unwritten = 5,    ///< it was done, and its output could not be written
};

struct Failure {
  Exit exit;
  std::string text;   ///< one or more lines, without a newline at the end
  bool late = false;  ///< no answer came in time
  int signal = 0;     ///< that the program dies of once the text is written
};

[[noreturn]] inline void fail(Exit exit, std::string text) { throw Failure{exit, std::move(text)}; }

Exit exit_of(const ClientError& error);

/// The value, or the end of the command.
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
