#include "server/host/start_page.h"

#include <memory>

#include "server/host/start_page_files.h"

namespace muster::hosting {

HttpAnswer start_page_file(const std::string& name) {
  for (const StartPageFile& file : start_page_files) {
    if (name != file.name) continue;
    HttpAnswer answer;
    answer.fields = {{"Content-Type", file.type},
                     {"Cache-Control", "no-cache"},
                     {"Content-Security-Policy",
                      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                      "form-action 'none'; frame-ancestors 'none'"}};
    answer.text = file.text;
    return answer;
  }
  return http_sentence(404, "there is no such file");
}

}  // namespace muster::hosting
