// Answers HTTP requests with their rights: the editor's page, files beside the world, figures, and
// the upgrade to a WebSocket. No sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/web/http_answer.h"
#include "server/web/http_request.h"
#include "server/web/page_files.h"
#include "server/web/world_files.h"

namespace muster {

/// Listener's thread only.
class Site {
 public:
  /// `is_token`: whether somebody with it may look at the world; takes equally long for every token
  /// of one length.
  Site(PageFiles page, WorldFiles files, std::uint16_t port, std::function<bool(std::string_view)> is_token);

  struct Reply {
    enum class Kind : std::uint8_t {
      answer,       ///< `answer` is one
      wrong_token,  ///< `answer` refuses a token: it waits as long as such answers do
      session,      ///< a WebSocket is asked for, and may be opened
      health,       ///< whether the world answers
      metrics,      ///< the world's figures
    };
    Kind kind = Kind::answer;
    HttpAnswer answer;
  };
  /// `is_local`: it came over the loopback interface.
  Reply reply(const HttpRequest& request, bool is_local) const;

 private:
  Reply judged(const HttpRequest& request, bool is_local) const;
  HttpAnswer page_file(const HttpRequest& request, const std::string& path) const;
  Reply world_file(const HttpRequest& request, const std::vector<std::string>& parts) const;

  PageFiles page_;
  WorldFiles files_;
  std::uint16_t port_;
  std::function<bool(std::string_view)> is_token_;
};

/// Fields of every answer: no other page shows it in a frame, reads it, or takes it for what it is
/// not.
void add_common_fields(HttpAnswer& answer);

}  // namespace muster
