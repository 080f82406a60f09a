// Takes the place of tls.cc in programs that are built without TLS.
#include "system/tls.h"

namespace muster {
namespace {

constexpr const char* without = "this program was built without TLS (option tls of its build)";

}  // namespace

bool is_built_with_tls() noexcept { return false; }

std::expected<std::shared_ptr<const TlsIdentity>, std::string> TlsIdentity::read(const std::string&,
                                                                                 const std::string&) {
  return std::unexpected(without);
}
std::expected<void, std::string> make_self_signed(const std::string&, const std::vector<std::string>&) {
  return std::unexpected(without);
}
std::expected<std::unique_ptr<TlsChannel>, std::string> TlsChannel::accept(std::shared_ptr<const TlsIdentity>, int) {
  return std::unexpected(without);
}
std::expected<std::unique_ptr<TlsChannel>, std::string> TlsChannel::connect(const TlsTrust&, int) {
  return std::unexpected(without);
}

}  // namespace muster
