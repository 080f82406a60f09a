// One mean session after another over one place in the crowd: each with its right, its patience and its end.
#pragma once

#include <chrono>
#include <optional>

#include "tests/abuse/abuse.h"
#include "tests/abuse/connection.h"
#include "tests/abuse/requests.h"

namespace muster::abuse {

/// Tokens of a server, by right: view, edit, control, admin.
using Tokens = std::array<std::string, 4>;

class Abuser {
 public:
  using Clock = std::chrono::steady_clock;

  Abuser(std::uint64_t seed, Knowledge& known, const std::string& address, const Tokens& tokens, AbuseReport& report)
      : random_(seed),
        requests_(Random(seed + 1), known, report.drawn),
        address_(address),
        tokens_(tokens),
        report_(report) {}

  /// Begins a session where there is none; draws up to `count` requests, sends and reads what goes now.
  void go_on(std::uint32_t count, bool large);
  void end() { connection_.reset(); }
  bool large() const noexcept { return connection_ && has_.large; }

 private:
  enum class Patience { reads_all, reads_slowly, reads_nothing };
  void begin(bool large);
  void hear(const WireFrame& frame);

  Random random_;
  Requests requests_;
  const std::string& address_;
  const Tokens& tokens_;
  AbuseReport& report_;
  std::optional<Connection> connection_;
  Belongings has_;
  Patience patience_ = Patience::reads_all;
  Clock::time_point ends_{};
  std::uint64_t next_request_ = 2;
};

}  // namespace muster::abuse
