// Answers the HTTP requests to a host:
//
//   GET  /                        the page that lists the worlds
//   GET  /w/NAME/...              the editor's page, the files next to the world, and its session
//        /w/NAME/files...         the assets of the world (server/assets/asset_requests.h)
//   GET  /w/NAME/slice            a slice of the world, for tokens that may control it
//   GET  /worlds                  the worlds that the token opens, as JSON, or, for /worlds?text, as
//                                 lines of name, state, visitors, bytes and error between tabs
//   PUT  /worlds/NAME             creates a world; of these, all need the host's token
//   POST /worlds/NAME/copy/TO     copies a world
//   POST /worlds/NAME/sleep       ends the world's process, after a save
//   POST /worlds/NAME/wake        starts the world's process
//   DELETE /worlds/NAME           deletes a world, which can be restored for a while
//   POST /deleted/ID/restore      restores it
//   GET  /health, /metrics        for this machine, or with the host's token
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/host/visitor.h"
#include "server/web/host_rules.h"
#include "server/web/page_files.h"
#include "server/web/site.h"

namespace muster::hosting {

/// Must be used only on the loop's thread.
class HostSite {
 public:
  /// `page` is the editor's page and may be empty. `connections` returns the number of open
  /// connections. The reception must outlive the site.
  HostSite(Reception& reception, PageFiles page, HostRules rules, std::function<std::uint32_t()> connections);

  const HostRules& rules() const noexcept { return rules_; }
  Site::Reply reply(const HttpRequest& request, const RequestSource& source);

 private:
  using Then = std::function<void(HttpAnswer)>;
  Site::Reply judged(const HttpRequest& request, const RequestSource& source);
  Site::Reply of_world(const HttpRequest& request, const RequestSource& source, const std::vector<std::string>& path);
  Site::Reply assets_of_world(const HttpRequest& request, const std::vector<std::string>& path);
  Site::Reply slice_of_world(const HttpRequest& request, const std::string& world);
  Site::Reply act(const HttpRequest& request, const std::vector<std::string>& path);
  void list(const std::string& token, bool as_text, const Then& then);
  void tell_figures(bool metrics, const Then& then);
  /// Calls `then` if the token is the host's, and answers otherwise.
  Site::Reply for_owner(const HttpRequest& request, std::function<void(Then)> then);

  Reception& reception_;
  PageFiles page_;
  HostRules rules_;
  std::function<std::uint32_t()> connections_;
};

}  // namespace muster::hosting
