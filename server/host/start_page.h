// The page that lists a host's worlds. Its files (server/host/page) are part of the program.
#pragma once

#include <string>

#include "server/web/http_answer.h"

namespace muster::hosting {

/// Returns a file of the page, such as "index.html", or an answer with status 404.
HttpAnswer start_page_file(const std::string& name);

}  // namespace muster::hosting
