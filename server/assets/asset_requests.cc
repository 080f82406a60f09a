#include "server/assets/asset_requests.h"

#include <functional>
#include <utility>

#include "messages/json_writer.h"
#include "server/web/web_address.h"

namespace muster {
namespace {

using Kind = Site::Reply::Kind;
using Refuses = std::function<std::optional<HttpAnswer>()>;

Site::Reply refusal(unsigned status, std::string text) {
  return {Kind::answer, http_sentence(status, std::move(text))};
}

HttpAnswer asset_answer(const AssetFault& fault) { return http_sentence(fault.status, fault.text); }

HttpAnswer asset_list(const AssetFolder& folder, const std::string& known) {
  const auto list = folder.list();
  if (!list) return asset_answer(list.error());
  JsonWriter out;
  out.open_object().member("bytes_max", asset_bytes_max).member("is_cut", list->is_cut).key("files").open_array();
  for (const Asset& file : list->files)
    out.open_object()
        .member("path", assets_name + ("/" + file.path))
        .member("bytes", file.bytes)
        .member("tag", std::to_string(file.changed_ns) + "-" + std::to_string(file.bytes))
        .close_object();
  out.close_array().close_object();
  HttpAnswer answer;
  answer.text = out.text() + "\n";
  const std::string tag = "\"" + std::to_string(std::hash<std::string>()(answer.text)) + "\"";
  answer.fields = {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache"}, {"ETag", tag}};
  if (known.find(tag) != std::string::npos) {
    answer.status = 304;
    answer.text.clear();
  }
  return answer;
}

/// Writes a body to a new file.
class UploadBody final : public BodyTaker {
 public:
  UploadBody(std::shared_ptr<const AssetFolder> folder, AssetFolder::Parts path, std::uint64_t bytes, bool replaces,
             Refuses refuses)
      : folder_(std::move(folder)),
        path_(std::move(path)),
        bytes_(bytes),
        replaces_(replaces),
        refuses_(std::move(refuses)) {}

  bool take(std::span<const std::byte> bytes) override {
    if (!has_begun_ && !begin()) return false;
    return keep(upload_->write(bytes));
  }
  HttpAnswer done() override {
    if (!refusal_ && (has_begun_ || begin()) && keep(upload_->finish())) refusal_ = http_sentence(200, "stored");
    upload_.reset();
    return std::move(*refusal_);
  }

 private:
  bool begin() {
    has_begun_ = true;
    if ((refusal_ = refuses_())) return false;
    auto begun = folder_->begin(path_, bytes_, replaces_);
    if (begun)
      upload_.emplace(std::move(*begun));
    else
      refusal_ = asset_answer(begun.error());
    return begun.has_value();
  }
  bool keep(const std::expected<void, AssetFault>& result) {
    if (!result) refusal_ = asset_answer(result.error());
    return result.has_value();
  }

  std::shared_ptr<const AssetFolder> folder_;
  AssetFolder::Parts path_;
  std::uint64_t bytes_;
  bool replaces_;
  Refuses refuses_;
  bool has_begun_ = false;
  std::optional<AssetUpload> upload_;
  std::optional<HttpAnswer> refusal_;
};

/// Returns the reply of a function that is called on the thread for files.
Site::Reply on_files_thread(std::function<HttpAnswer()> answer) {
  Site::Reply reply{Kind::file, {}};
  reply.open = std::move(answer);
  return reply;
}

}  // namespace

bool changes_assets(const HttpRequest& request) { return request.method != "GET" && request.method != "HEAD"; }

HttpAnswer refused_asset_change() { return http_sentence(403, "files are changed with the right to edit"); }

Site::Reply asset_reply(std::shared_ptr<const AssetFolder> folder, const HttpRequest& request,
                        std::vector<std::string> parts, Refuses refuses) {
  const std::string query = request.target.substr(std::min(request.target.find('?'), request.target.size()));
  if (parts.empty()) {
    if (changes_assets(request)) return {Kind::answer, wrong_method("GET, HEAD")};
    return on_files_thread([folder = std::move(folder), refuses = std::move(refuses), known = request.if_none_match] {
      auto refused = refuses();
      return refused ? std::move(*refused) : asset_list(*folder, known);
    });
  }
  if (request.method == "PUT") {
    if (!request.body_bytes) return refusal(411, "an upload needs a Content-Length");
    if (*request.body_bytes > asset_bytes_max)
      return refusal(413, "the file is larger than " + std::to_string(asset_bytes_max >> 20) + " MiB");
    if (const std::string fault = asset_path_fault(parts); !fault.empty()) return refusal(400, fault);
    Site::Reply reply{Kind::body, {}};
    reply.body = std::make_shared<UploadBody>(std::move(folder), std::move(parts), *request.body_bytes,
                                              query == "?replace", std::move(refuses));
    return reply;
  }
  if (request.method == "POST") {
    if (request.has_body) return refusal(400, "a rename has no body");
    constexpr std::string_view name = "?to=";
    const auto to = query.starts_with(name) ? path_of("/" + query.substr(name.size())) : std::nullopt;
    if (!to) return refusal(400, "a rename needs the new path: ?to=PATH");
    return on_files_thread(
        [folder = std::move(folder), refuses = std::move(refuses), from = std::move(parts), to = *to] {
          if (auto refused = refuses()) return std::move(*refused);
          const auto result = folder->rename(from, to);
          return result ? http_sentence(200, "renamed") : asset_answer(result.error());
        });
  }
  return {Kind::answer, wrong_method("PUT, POST")};
}

}  // namespace muster
