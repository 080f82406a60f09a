// Answers HTTP requests according to their rights. Serves the editor's page, files next to the
// world, and statistics, takes uploads, and accepts upgrades to a WebSocket. Does not use sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/web/host_rules.h"
#include "server/web/http_answer.h"
#include "server/web/http_request.h"
#include "server/web/page_files.h"
#include "server/web/world_files.h"

namespace muster {

/// Takes the body of a request. All calls are made on the thread for files, and so is the
/// destructor, unless the program ends.
class BodyTaker {
 public:
  virtual ~BodyTaker() = default;
  /// Takes the next bytes. Returns false if the rest is not needed.
  virtual bool take(std::span<const std::byte> bytes) = 0;
  /// Returns the answer. Called once, after all bytes or after take() has returned false.
  virtual HttpAnswer done() = 0;
};

/// Must be used only on the listener's thread.
class Site {
 public:
  /// Supplies /health, or /metrics if `metrics` is true; see Reply::ask.
  using AskFigures = std::function<void(bool metrics, std::function<void(HttpAnswer)>)>;
  /// Supplies /slice. If `may_ask` is null, there is none.
  struct Slices {
    std::function<bool(std::string_view token)> may_ask;
    std::function<void(std::function<void(HttpAnswer)>)> ask;  ///< see Reply::ask
  };
  struct Reply;
  /// Replies to requests whose path begins with "files"; gets the rest of the path. May be null.
  using Assets = std::function<Reply(const HttpRequest& request, std::vector<std::string> parts)>;
  /// `is_token` returns true if a token allows viewing the world. It must take the same time for
  /// all tokens of the same length. `sees_all` returns false for a valid token whose user has
  /// limited sight; if it is null, all users see everything.
  Site(PageFiles page, WorldFiles files, HostRules rules, std::function<bool(std::string_view)> is_token,
       AskFigures ask_figures, Slices slices = {}, Assets assets = {},
       std::function<bool(std::string_view)> sees_all = {});

  struct Reply {
    enum class Kind : std::uint8_t {
      answer,       ///< send `answer`
      wrong_token,  ///< send `answer`, which rejects a token, but only after a delay
      file,         ///< send the result of `open`
      session,      ///< open a WebSocket
      later,        ///< send what `ask` supplies
      body,         ///< pass the request's body, of HttpRequest::body_bytes, to `body`
    };
    Kind kind = Kind::answer;
    HttpAnswer answer;
    /// Opens the file that was requested. The call may wait for the disk, may be made on any
    /// thread, and does not need the site. `head_only` and `closes` of the result are not set; they
    /// are those of `answer`.
    std::function<HttpAnswer()> open = {};
    /// Calls its argument once with the answer, on any thread, except for `head_only` and `closes`.
    std::function<void(std::function<void(HttpAnswer)>)> ask = {};
    std::shared_ptr<BodyTaker> body = {};
    std::string world = {};  ///< the world whose session is opened, if the program has several
  };
  const HostRules& rules() const noexcept { return rules_; }
  /// `source` is the result of source_of() for the request.
  Reply reply(const HttpRequest& request, const RequestSource& source) const;

 private:
  Reply judged(const HttpRequest& request, const RequestSource& source) const;
  Reply world_file(const HttpRequest& request, const std::vector<std::string>& parts) const;

  PageFiles page_;
  std::shared_ptr<const WorldFiles> files_;
  HostRules rules_;
  std::function<bool(std::string_view)> is_token_;
  AskFigures ask_figures_;
  Slices slices_;
  Assets assets_;
  std::function<bool(std::string_view)> sees_all_;
};

/// Refuses a request for a slice by a token that may not have one.
HttpAnswer refused_slice();
/// Checks the host, the origin and the form of a request. A page from another site must not learn
/// anything, not even which files exist. Returns the refusal, or nothing if the request is allowed.
std::optional<HttpAnswer> source_fault(const HttpRequest& request, const RequestSource& source, const HostRules& rules);
/// Returns a file of the page, compressed if the client accepts that.
HttpAnswer page_file(const PageFiles& page, const HttpRequest& request, const std::string& path, bool is_secure);
/// Opens a WebSocket, if the request asks for one.
Site::Reply session_reply(const HttpRequest& request);
/// Opens a file next to a world, whose path has these parts.
Site::Reply world_file_reply(std::shared_ptr<const WorldFiles> files, std::vector<std::string> parts);
/// Returns the token after "Bearer", or nothing.
std::optional<std::string_view> bearer_token(const HttpRequest& request);
/// Refuses a request whose token is missing or, if `was_one` is true, not valid.
Site::Reply refused_token(bool was_one);
/// Returns the answer to a method that is not supported. `allowed` is the value of the field Allow.
HttpAnswer wrong_method(const char* allowed);

/// Adds the header fields that are common to all answers. The fields prevent other sites from
/// framing or reading the answer, and browsers from guessing its type.
void add_common_fields(HttpAnswer& answer);

}  // namespace muster
