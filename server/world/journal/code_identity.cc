#include "server/world/journal/code_identity.h"

#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "registry/entity_registry.h"
#include "registry/handlers/handler_table.h"
#include "registry/host.h"
#include "schema/hash.h"
#include "schema/hex.h"

namespace muster {
namespace {

/// Returns the build-id note, which contains a digest that the linker computed from its output.
/// Returns an empty string if there is none.
std::string build_id() {
  std::string found;
  const auto look = [](dl_phdr_info* program, std::size_t, void* into) {
    for (std::size_t i = 0; i < program->dlpi_phnum; ++i) {
      const auto& part = program->dlpi_phdr[i];
      if (part.p_type != PT_NOTE) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives the address as a number
      const auto* at = reinterpret_cast<const unsigned char*>(program->dlpi_addr + part.p_vaddr);
      const auto* const end = at + part.p_memsz;
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        const auto* const name = at + sizeof note;
        const auto* const value = name + ((note.n_namesz + 3) & ~std::size_t{3});
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
          *static_cast<std::string*>(into) = hex({value, note.n_descsz});
        at = value + ((note.n_descsz + 3) & ~std::size_t{3});
      }
    }
    return 1;  // stop after the first entry, which is the program itself
  };
  ::dl_iterate_phdr(look, &found);
  return found;
}

constexpr std::string_view architecture =
#if defined(__x86_64__)
    "x86_64";
#elif defined(__aarch64__)
    "aarch64";
#else
    "another processor";
#endif

}  // namespace

std::string code_identity(std::string_view host, const EntityRegistry& registry) {
  std::vector<TypeId> messages;
  for (const Handler* const handler : registry.host().handlers().handlers()) messages.push_back(handler->message);
  std::ranges::sort(messages);
  messages.erase(std::ranges::unique(messages).begin(), messages.end());
  std::size_t count = 0;
  std::uint64_t digest = hash64("");
  for (const TypeId message : messages) {
    const MessageRoute* const route = registry.host().handlers().route(message);
    if (!route) continue;
    digest = hash64(std::to_string(message), digest);
    for (const Handler* const handler : route->order) {
      digest = hash64(handler->name, digest);
      digest = hash64("/", digest);
      ++count;
    }
  }
  std::string text(host);
  const std::string build = build_id();
  text += "; build " + (build.empty() ? std::string("unknown") : build) + "; " __VERSION__ "; ";
  text += architecture;
  text += "; " + std::to_string(count) + " handlers " + hex(digest);
  return text;
}

std::string_view handlers_part(std::string_view identity) noexcept {
  const std::size_t at = identity.rfind("; ");
  return at == std::string_view::npos ? std::string_view() : identity.substr(at + 2);
}

}  // namespace muster
