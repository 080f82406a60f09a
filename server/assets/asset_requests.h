// Answers HTTP requests for the assets of a world:
//
//   GET  /files                 lists them, as JSON
//   PUT  /files/PATH            uploads one; with ?replace, also over an existing file
//   POST /files/PATH?to=PATH    renames one
//
// Paths are relative to the folder "assets". Files are read under /world/assets/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/assets/asset_folder.h"
#include "server/web/site.h"

namespace muster {

/// Returns the reply to a request whose path, without "files", has these parts. `refuses` returns a
/// refusal if the user may not do this, and is called on the thread for files.
Site::Reply asset_reply(std::shared_ptr<const AssetFolder> folder, const HttpRequest& request,
                        std::vector<std::string> parts, std::function<std::optional<HttpAnswer>()> refuses);
/// Returns true if a request changes an asset, which needs the right to edit.
bool changes_assets(const HttpRequest& request);
/// Refuses a change of an asset by a user without the right to edit.
HttpAnswer refused_asset_change();

}  // namespace muster
