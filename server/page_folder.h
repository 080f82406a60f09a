// The default folder of the editor's page.
#pragma once

#include <string>

namespace muster {

/// Returns the page built with the program if it runs in its build folder, otherwise the installed
/// page. Empty if there is none.
std::string default_page_folder();

}  // namespace muster
