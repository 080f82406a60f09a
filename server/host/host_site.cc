#include "server/host/host_site.h"

#include <utility>

#include "messages/json_writer.h"
#include "server/assets/asset_requests.h"
#include "server/figures/figures.h"
#include "server/host/start_page.h"
#include "server/host/world_name.h"
#include "server/web/web_address.h"
#include "system/percent_encoding.h"

namespace muster::hosting {
namespace {

using Kind = Site::Reply::Kind;

Site::Reply sentence(unsigned status, std::string text) {
  return {Kind::answer, http_sentence(status, std::move(text))};
}

HttpAnswer json(std::string text) {
  HttpAnswer answer;
  answer.fields = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  answer.text = std::move(text) + "\n";
  return answer;
}

HttpAnswer answer_of(const std::expected<void, HostFault>& result, const std::string& done) {
  return result ? http_sentence(200, done) : http_sentence(result.error().status, result.error().text);
}

/// Returns a label's value for the Prometheus text format.
std::string label(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  return out + "\"";
}

std::string metrics_of(const std::vector<WorldFacts>& worlds, std::uint32_t connections) {
  std::string text;
  const auto head = [&](const char* name, const char* type, const char* help) {
    text += std::string("# HELP muster_host_") + name + " " + help + "\n# TYPE muster_host_" + name + " " + type + "\n";
  };
  const auto each = [&](const char* name, const char* type, const char* help, auto&& value) {
    head(name, type, help);
    for (const WorldFacts& world : worlds)
      text += std::string("muster_host_") + name + "{world=" + label(world.disk.name) + "} " + value(world) + "\n";
  };
  head("connections", "gauge", "Open connections.");
  text += "muster_host_connections " + std::to_string(connections) + "\n";
  head("memory_bytes", "gauge", "Memory of the host itself.");
  text += "muster_host_memory_bytes " + std::to_string(resident_bytes()) + "\n";
  using Facts = const WorldFacts&;
  each("world_awake", "gauge", "1 if the world has a process.",
       [](Facts world) { return std::string(world.state == WorldState::asleep ? "0" : "1"); });
  each("world_visitors", "gauge", "Open connections to the world.",
       [](Facts world) { return std::to_string(world.visitors); });
  each("world_file_bytes", "gauge", "Size of the world's file and journal.",
       [](Facts world) { return std::to_string(world.disk.bytes); });
  each("world_memory_bytes", "gauge", "Memory of the world's process.",
       [](Facts world) { return std::to_string(world.process.memory_bytes); });
  each("world_processor_ns", "gauge", "Processor time of the world's current process.",
       [](Facts world) { return std::to_string(world.process.processor_ns); });
  each("world_wakes_total", "counter", "Times that the world was woken.",
       [](Facts world) { return std::to_string(world.wakes); });
  each("world_failures_total", "counter", "Times that the world's process failed.",
       [](Facts world) { return std::to_string(world.failures); });
  return text;
}

std::string lines_of(const std::vector<WorldFacts>& worlds) {
  std::string text;
  for (const WorldFacts& world : worlds)
    text += world.disk.name + "\t" + text_of(world.state) + "\t" + std::to_string(world.visitors) + "\t" +
            std::to_string(world.disk.bytes) + "\t" + world.error + "\n";
  return text;
}

/// Returns the path of the world's page.
std::string path_to(const std::string& name) { return "/w/" + escaped(name) + "/"; }

}  // namespace

HostSite::HostSite(Reception& reception, PageFiles page, HostRules rules, std::function<std::uint32_t()> connections)
    : reception_(reception), page_(std::move(page)), rules_(std::move(rules)), connections_(std::move(connections)) {}

Site::Reply HostSite::reply(const HttpRequest& request, const RequestSource& source) {
  Site::Reply reply = judged(request, source);
  reply.answer.head_only = request.method == "HEAD";
  reply.answer.closes = request.has_body || !request.keeps_alive;
  return reply;
}

Site::Reply HostSite::judged(const HttpRequest& request, const RequestSource& source) {
  if (auto fault = source_fault(request, source, rules_)) return {Kind::answer, std::move(*fault)};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  // The page of a world is a folder.
  const std::string target = request.target.substr(0, request.target.find('?'));
  const bool is_folder = target.size() > 1 && target.ends_with('/');
  const auto path = path_of(is_folder ? target.substr(0, target.size() - 1) : target);
  if (!path) return sentence(400, "the request's target is not a path");
  if (path->size() >= 3 && path->front() == "w" && (*path)[2] == "files") return assets_of_world(request, *path);
  if (request.has_body) return sentence(400, "requests with a body are not supported");
  if (!path->empty() && path->front() == "w" && path->size() >= 2) {
    if (!reads) return {Kind::answer, wrong_method("GET, HEAD")};
    if (path->size() == 2 && !is_folder) {
      Site::Reply moved = sentence(308, "the world's page is at " + path_to((*path)[1]));
      moved.answer.fields.emplace_back("Location", path_to((*path)[1]));
      return moved;
    }
    return of_world(request, source, *path);
  }
  if (!path->empty() && (path->front() == "worlds" || path->front() == "deleted")) return act(request, *path);
  if (!reads) return {Kind::answer, wrong_method("GET, HEAD")};
  if (path->size() == 1 && (path->front() == "health" || path->front() == "metrics")) {
    const bool metrics = path->front() == "metrics";
    if (!source.is_local())
      return for_owner(request, [this, metrics](const Then& then) { tell_figures(metrics, then); });
    Site::Reply reply{Kind::later, {}};
    reply.ask = [this, metrics](const Then& then) { tell_figures(metrics, then); };
    return reply;
  }
  if (path->empty()) return {Kind::answer, start_page_file("index.html")};
  if (path->size() == 1) return {Kind::answer, start_page_file(path->front())};
  return sentence(404, "there is no such file");
}

Site::Reply HostSite::of_world(const HttpRequest& request, const RequestSource& source,
                               const std::vector<std::string>& path) {
  const std::string& world = path[1];
  if (path.size() == 2) return {Kind::answer, page_file(page_, request, "index.html", source.is_secure)};
  if (path.size() == 3 && path[2] == "session") {
    Site::Reply reply = session_reply(request);
    reply.world = world;
    return reply;
  }
  if (path.size() == 3 && path[2] == "slice") return slice_of_world(request, world);
  if (path[2] != "world") {
    std::string name = path[2];
    for (std::size_t i = 3; i < path.size(); ++i) name += "/" + path[i];
    return {Kind::answer, page_file(page_, request, name, source.is_secure)};
  }
  const auto token = bearer_token(request);
  if (!token) return refused_token(false);
  // Opened on the thread for files, although users are read on another: the list is small.
  Site::Reply reply{Kind::file, {}};
  reply.open = [folders = reception_.folders, world, token = std::string(*token), admissions = reception_.admissions,
                parts = std::vector<std::string>(path.begin() + 3, path.end())] {
    if (!admissions->opens(world, token)) return refused_token(true).answer;
    const auto files = std::make_shared<const WorldFiles>(folders.folder_of(world), world + ".muster");
    return world_file_reply(files, parts).open();
  };
  return reply;
}

Site::Reply HostSite::assets_of_world(const HttpRequest& request, const std::vector<std::string>& path) {
  const auto token = bearer_token(request);
  if (!token) return refused_token(false);
  auto folder = std::make_shared<const AssetFolder>(reception_.folders.folder_of(path[1]));
  return asset_reply(std::move(folder), request, {path.begin() + 3, path.end()},
                     [admissions = reception_.admissions, world = path[1], token = std::string(*token),
                      changes = changes_assets(request)]() -> std::optional<HttpAnswer> {
                       if (!admissions->opens(world, token)) return refused_token(true).answer;
                       if (changes && !admissions->edits(world, token)) return refused_asset_change();
                       return std::nullopt;
                     });
}

Site::Reply HostSite::slice_of_world(const HttpRequest& request, const std::string& world) {
  if (request.method != "GET") return {Kind::answer, wrong_method("GET")};
  const auto token = bearer_token(request);
  if (!token) return refused_token(false);
  Site::Reply reply{Kind::later, {}};
  reply.ask = [this, world, token = std::string(*token)](const Then& then) {
    enum class May : std::uint8_t { nothing, view, control };
    auto may = std::make_shared<May>(May::nothing);
    reception_.loop.run_beside(
        Loop::Beside::users,
        [may, world, token, admissions = reception_.admissions] {
          *may = admissions->controls(world, token) ? May::control
                 : admissions->opens(world, token)  ? May::view
                                                    : May::nothing;
        },
        [this, may, world, then] {
          if (*may == May::nothing) return then(refused_token(true).answer);
          if (*may == May::view) return then(refused_slice());
          reception_.slices.make(reception_.folders.file_of(world), then);
        });
  };
  return reply;
}

Site::Reply HostSite::for_owner(const HttpRequest& request, std::function<void(Then)> then) {
  const auto token = bearer_token(request);
  if (!token) return refused_token(false);
  if (!reception_.admissions->is_hosts(*token)) return refused_token(true);
  Site::Reply reply{Kind::later, {}};
  reply.ask = std::move(then);
  return reply;
}

Site::Reply HostSite::act(const HttpRequest& request, const std::vector<std::string>& path) {
  Worlds& worlds = reception_.worlds;
  const std::string& method = request.method;
  if (path.front() == "deleted") {
    if (path.size() != 3 || path[2] != "restore") return sentence(404, "there is no such action");
    if (method != "POST") return {Kind::answer, wrong_method("POST")};
    return for_owner(request, [&worlds, id = path[1]](const Then& then) {
      worlds.restore(id, [then](const auto& result) { then(answer_of(result, "restored")); });
    });
  }
  if (path.size() == 1) {
    if (method != "GET" && method != "HEAD") return {Kind::answer, wrong_method("GET, HEAD")};
    const auto token = bearer_token(request);
    if (!token) return refused_token(false);
    Site::Reply reply{Kind::later, {}};
    const bool as_text = request.target.ends_with("?text");
    reply.ask = [this, token = std::string(*token), as_text](const Then& then) { list(token, as_text, then); };
    return reply;
  }
  const std::string& world = path[1];
  if (path.size() == 2) {
    if (method == "PUT")
      return for_owner(request, [&worlds, world](const Then& then) {
        worlds.create(world, [then](const auto& result) { then(answer_of(result, "created")); });
      });
    if (method == "DELETE")
      return for_owner(request, [&worlds, world](const Then& then) {
        worlds.remove(world, [then](const auto& result) { then(answer_of(result, "deleted")); });
      });
    return {Kind::answer, wrong_method("PUT, DELETE")};
  }
  const std::string& action = path[2];
  const bool is_copy = action == "copy" && path.size() == 4;
  if (!is_copy && (path.size() != 3 || (action != "sleep" && action != "wake")))
    return sentence(404, "there is no such action");
  if (method != "POST") return {Kind::answer, wrong_method("POST")};
  if (is_copy)
    return for_owner(request, [&worlds, world, to = path[3]](const Then& then) {
      worlds.copy(world, to, [then](const auto& result) { then(answer_of(result, "copied")); });
    });
  return for_owner(request, [this, &worlds, world, action](const Then& then) {
    auto exists = std::make_shared<bool>(false);
    reception_.loop.run_beside(
        Loop::Beside::files, [exists, folders = reception_.folders, world] { *exists = folders.has(world); },
        [&worlds, world, action, then, exists] {
          if (!*exists) return then(http_sentence(404, "there is no world " + shown_name(world)));
          if (action == "sleep")
            return worlds.put_to_sleep(world, [then](const auto& result) { then(answer_of(result, "asleep")); });
          worlds.wake(world, [then](const std::expected<int, session::Fault>& woken) {
            if (woken) ::close(*woken);
            then(woken ? http_sentence(200, "awake") : http_sentence(503, woken.error().text));
          });
        });
  });
}

void HostSite::list(const std::string& token, bool as_text, const Then& then) {
  reception_.worlds.list(
      [this, token, as_text, then](std::vector<WorldFacts> worlds, std::vector<DeletedWorld> deleted) {
        struct Opened {
          std::vector<WorldFacts> worlds;
          bool is_owner = false;
        };
        auto opened = std::make_shared<Opened>();
        reception_.loop.run_beside(
            Loop::Beside::users,
            [opened, token, admissions = reception_.admissions, worlds = std::move(worlds)]() mutable {
              opened->is_owner = admissions->is_hosts(token);
              for (WorldFacts& world : worlds)
                if (opened->is_owner || admissions->opens(world.disk.name, token))
                  opened->worlds.push_back(std::move(world));
            },
            [opened, as_text, then, deleted = std::move(deleted)] {
              if (!opened->is_owner && opened->worlds.empty()) {
                HttpAnswer refused = refused_token(true).answer;
                return then(std::move(refused));
              }
              if (as_text) return then(http_sentence(200, lines_of(opened->worlds)));
              JsonWriter out;
              out.open_object().member("owner", opened->is_owner).key("worlds").open_array();
              for (const WorldFacts& world : opened->worlds) {
                out.open_object().member("name", world.disk.name).member("path", path_to(world.disk.name));
                out.member("state", text_of(world.state)).member("visitors", world.visitors);
                out.member("bytes", world.disk.bytes).member("changed_s", world.disk.changed_s);
                out.member("memory_bytes", world.process.memory_bytes).member("wakes", world.wakes);
                out.member("failures", world.failures).member("error", world.error).close_object();
              }
              out.close_array().key("deleted").open_array();
              if (opened->is_owner)
                for (const DeletedWorld& world : deleted)
                  out.open_object()
                      .member("id", world.id)
                      .member("name", world.name)
                      .member("deleted_s", world.deleted_s)
                      .close_object();
              out.close_array().close_object();
              then(json(out.text()));
            });
      });
}

void HostSite::tell_figures(bool metrics, const Then& then) {
  if (!metrics) return then(http_sentence(200, "ok"));
  reception_.worlds.list([this, then](const std::vector<WorldFacts>& worlds, const auto&) {
    HttpAnswer answer;
    answer.fields = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}, {"Cache-Control", "no-store"}};
    answer.text = metrics_of(worlds, connections_());
    then(std::move(answer));
  });
}

}  // namespace muster::hosting
