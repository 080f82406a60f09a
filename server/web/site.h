// Answers HTTP requests according to their rights. Serves the editor's page, files next to the
// world, and statistics, and accepts upgrades to a WebSocket. Does not use sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/web/http_answer.h"
#include "server/web/http_request.h"
#include "server/web/page_files.h"
#include "server/web/world_files.h"

namespace muster {

/// Must be used only on the listener's thread.
class Site {
 public:
  /// `is_token` returns true if a token allows viewing the world. It must take the same time for
  /// all tokens of the same length.
  Site(PageFiles page, WorldFiles files, std::uint16_t port, std::function<bool(std::string_view)> is_token);

  struct Reply {
    enum class Kind : std::uint8_t {
      answer,       ///< send `answer`
      wrong_token,  ///< send `answer`, which rejects a token, but only after a delay
      file,         ///< send the result of `open`
      session,      ///< open a WebSocket
      health,       ///< send the health of the world
      metrics,      ///< send the world's figures
    };
    Kind kind = Kind::answer;
    HttpAnswer answer;
    /// Opens the file that was requested. The call may wait for the disk, may be made on any
    /// thread, and does not need the site. `head_only` and `closes` of the result are not set; they
    /// are those of `answer`.
    std::function<HttpAnswer()> open = {};
  };
  /// `is_local` is true if the request arrived over the loopback interface, so that /metrics and
  /// /health need no token.
  Reply reply(const HttpRequest& request, bool is_local) const;

 private:
  Reply judged(const HttpRequest& request, bool is_local) const;
  HttpAnswer page_file(const HttpRequest& request, const std::string& path) const;
  Reply world_file(const HttpRequest& request, const std::vector<std::string>& parts) const;

  PageFiles page_;
  std::shared_ptr<const WorldFiles> files_;
  std::uint16_t port_;
  std::function<bool(std::string_view)> is_token_;
};

/// Adds the header fields that are common to all answers. The fields prevent other sites from
/// framing or reading the answer, and browsers from guessing its type.
void add_common_fields(HttpAnswer& answer);

}  // namespace muster
