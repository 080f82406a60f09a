#include "server/web/site.h"

#include <optional>
#include <utility>

#include "server/web/web_address.h"

namespace muster {
namespace {

using Kind = Site::Reply::Kind;

Site::Reply sentence(unsigned status, std::string text) {
  return {Kind::answer, http_sentence(status, std::move(text))};
}

/// Disallows third-party sources and inline code. `blob:` and `data:` are allowed because models
/// embed resources.
std::string content_policy(const std::string& host, bool is_secure) {
  const std::string scheme = is_secure ? "wss://" : "ws://";
  return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; "
         "connect-src 'self' " +
         scheme + host + " blob: data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

/// Returns true if gzip is among the accepted encodings with a weight other than 0.
bool accepts_gzip(std::string_view accepted) {
  while (!accepted.empty()) {
    std::string_view one = accepted.substr(0, accepted.find(','));
    accepted.remove_prefix(std::min(accepted.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!one.starts_with("gzip")) continue;
    one.remove_prefix(4);
    if (!one.empty() && one.front() != ';' && one.front() != ' ') continue;
    const std::size_t weight = one.find("q=");
    return weight == std::string_view::npos || one.substr(weight + 2).find_first_of("123456789") != one.npos;
  }
  return false;
}

}  // namespace

std::optional<std::string_view> bearer_token(const HttpRequest& request) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view authorization = request.authorization;
  if (!authorization.starts_with(scheme)) return std::nullopt;
  return authorization.substr(scheme.size());
}

Site::Reply refused_token(bool was_one) {
  Site::Reply reply =
      sentence(401, was_one ? "the token is not valid here" : "the token is needed: Authorization: Bearer TOKEN");
  reply.answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (was_one) reply.kind = Kind::wrong_token;
  return reply;
}

HttpAnswer wrong_method(const char* allowed) {
  std::string methods = allowed;
  const bool several = methods.find(", ") != std::string::npos;
  if (several) methods.replace(methods.find(", "), 2, " and ");
  HttpAnswer answer = http_sentence(405, "only " + methods + (several ? " are" : " is") + " supported");
  answer.fields.emplace_back("Allow", allowed);
  return answer;
}

void add_common_fields(HttpAnswer& answer) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"X-Content-Type-Options", "nosniff"},
                                                                  {"X-Frame-Options", "DENY"},
                                                                  {"Referrer-Policy", "no-referrer"},
                                                                  {"Cross-Origin-Resource-Policy", "same-origin"},
                                                                  {"Cross-Origin-Opener-Policy", "same-origin"}})
    answer.fields.emplace_back(name, value);
  for (const auto& [name, value] : answer.fields)
    if (name == "Content-Security-Policy") return;
  answer.fields.emplace_back("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
}

Site::Site(PageFiles page, WorldFiles files, HostRules rules, std::function<bool(std::string_view)> is_token,
           AskFigures ask_figures, Slices slices, Assets assets, std::function<bool(std::string_view)> sees_all)
    : page_(std::move(page)),
      files_(std::make_shared<const WorldFiles>(std::move(files))),
      rules_(std::move(rules)),
      is_token_(std::move(is_token)),
      ask_figures_(std::move(ask_figures)),
      slices_(std::move(slices)),
      assets_(std::move(assets)),
      sees_all_(std::move(sees_all)) {}

Site::Reply Site::reply(const HttpRequest& request, const RequestSource& source) const {
  Reply reply = judged(request, source);
  reply.answer.head_only = request.method == "HEAD";
  reply.answer.closes = request.has_body || !request.keeps_alive;
  return reply;
}

std::optional<HttpAnswer> source_fault(const HttpRequest& request, const RequestSource& source,
                                       const HostRules& rules) {
  if (request.hosts.size() != 1) return http_sentence(400, "a request must have exactly one Host");
  const std::string& host = request.hosts.front();
  // A proxy serves only its own names.
  if (!source.is_forwarded && !rules.is_own(host))
    return http_sentence(421, rules.is_secure ? "use a name of this server's certificate, or its address, with its port"
                                              : "use localhost or the loopback address, with this server's port");
  if (request.origins.size() > 1) return http_sentence(400, "a request must have at most one Origin");
  if (!request.origins.empty() && request.origins.front() != (source.is_secure ? "https://" : "http://") + host)
    return http_sentence(403, "pages of other origins are not allowed");
  return std::nullopt;
}

Site::Reply session_reply(const HttpRequest& request) {
  if (!request.upgrades || request.web_version != "13") {
    Site::Reply reply = sentence(426, "a WebSocket of version 13 is needed here");
    reply.answer.fields.emplace_back("Upgrade", "websocket");
    reply.answer.fields.emplace_back("Sec-WebSocket-Version", "13");
    return reply;
  }
  if (request.web_key.size() != 24) return sentence(400, "Sec-WebSocket-Key must be 16 bytes in base64");
  return {Kind::session, {}};
}

Site::Reply Site::judged(const HttpRequest& request, const RequestSource& source) const {
  if (auto fault = source_fault(request, source, rules_)) return {Kind::answer, std::move(*fault)};
  const auto path = path_of(request.target);
  if (!path) return sentence(400, "the request's target is not a path");
  if (!path->empty() && path->front() == "files" && assets_) return assets_(request, {path->begin() + 1, path->end()});
  if (request.method != "GET" && request.method != "HEAD") return {Kind::answer, wrong_method("GET, HEAD")};
  if (request.has_body) return sentence(400, "requests with a body are not supported");

  if (path->empty()) return {Kind::answer, page_file(page_, request, "index.html", source.is_secure)};
  const std::string& first = path->front();
  if (first == "world") return world_file(request, {path->begin() + 1, path->end()});
  if (path->size() == 1 && first == "session") return session_reply(request);
  if (path->size() == 1 && (first == "health" || first == "metrics")) {
    const auto token = bearer_token(request);
    const bool needs_token = rules_.private_figures || !source.is_local();
    if (token ? !is_token_(*token) : needs_token) return refused_token(token.has_value());
    if (token && sees_all_ && !sees_all_(*token))
      return sentence(403, "figures count everything in the world: they need a user from whom nothing is hidden");
    Reply reply{Kind::later, {}};
    reply.ask = [ask = ask_figures_, metrics = first == "metrics"](auto then) { ask(metrics, std::move(then)); };
    return reply;
  }
  if (path->size() == 1 && first == "slice" && slices_.may_ask) {
    const auto token = bearer_token(request);
    if (!token || !is_token_(*token)) return refused_token(token.has_value());
    if (!slices_.may_ask(*token)) return {Kind::answer, refused_slice()};
    if (request.method != "GET") return {Kind::answer, wrong_method("GET")};
    Reply reply{Kind::later, {}};
    reply.ask = slices_.ask;
    return reply;
  }
  std::string name = first;
  for (std::size_t i = 1; i < path->size(); ++i) name += "/" + (*path)[i];
  return {Kind::answer, page_file(page_, request, name, source.is_secure)};
}

HttpAnswer refused_slice() {
  return http_sentence(403,
                       "a slice contains everything in the world: it needs the right to control, and that no rule "
                       "hides anything from the user");
}

HttpAnswer page_file(const PageFiles& page, const HttpRequest& request, const std::string& path, bool is_secure) {
  if (page.empty())
    return http_sentence(404, "this server has no page: it was built without the editor, and no folder was named");
  const PageFiles::File* file = page.find(path);
  if (!file) return http_sentence(404, "there is no such file");
  const bool gzip = file->gzip && accepts_gzip(request.accept_encoding);
  const std::string tag = "\"" + file->tag + (gzip ? "-gzip\"" : "\"");
  HttpAnswer answer;
  answer.fields = {{"Content-Type", file->type},
                   {"ETag", tag},
                   {"Cache-Control", "no-cache"},
                   {"Vary", "Accept-Encoding"},
                   {"Content-Security-Policy", content_policy(request.hosts.front(), is_secure)}};
  if (request.if_none_match.find(tag) != std::string::npos) {
    answer.status = 304;
    return answer;
  }
  if (gzip) answer.fields.emplace_back("Content-Encoding", "gzip");
  answer.kept = gzip ? file->gzip : file->bytes;
  return answer;
}

Site::Reply world_file_reply(std::shared_ptr<const WorldFiles> files, std::vector<std::string> parts) {
  Site::Reply reply{Kind::file, {}};
  reply.open = [files = std::move(files), parts = std::move(parts)] {
    auto file = files->open(parts);
    if (!file) return std::move(file.error());
    HttpAnswer answer;
    answer.fields = {{"Content-Type", std::string(media_type_of(suffix_of(parts.back())))},
                     {"Cache-Control", "no-store"}};
    answer.file = std::move(*file);
    return answer;
  };
  return reply;
}

Site::Reply Site::world_file(const HttpRequest& request, const std::vector<std::string>& parts) const {
  const auto token = bearer_token(request);
  if (!token || !is_token_(*token)) return refused_token(token.has_value());
  return world_file_reply(files_, parts);
}

}  // namespace muster
