// The default folder of the editor's page.
#pragma once

#include <string>

namespace muster {

/// If the program runs in its build folder, returns the page that was built with it. Otherwise,
/// returns the installed page. Returns an empty string if there is none.
std::string default_page_folder();

}  // namespace muster
