#include "client/import/collada_text.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <pugixml.hpp>
#include <sstream>

#include "messages/utf8.h"
#include "schema/scene.h"

namespace muster {
namespace {

constexpr double half_degree = std::numbers::pi / 360;

/// Returns the number in a child element, or nothing if it is not greater than 0.
std::optional<double> number(pugi::xml_node of, const char* name) {
  const double value = of.child(name).text().as_double(0);
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

void put(pugi::xml_node into, const char* name, std::optional<double> value) {
  into.remove_child(name);
  if (!value) return;
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer - 1, *value).ptr;
  *end = 0;
  into.append_child(name).text().set(buffer);
}

class Cameras {
 public:
  explicit Cameras(std::vector<std::string>& warnings) : warnings_(warnings) {}

  void rewrite(pugi::xml_node camera) {
    if (!*camera.attribute("name").value()) {
      camera.remove_attribute("name");
      camera.append_attribute("name") = camera.attribute("id").value();
    }
    name_ = valid_utf8(camera.attribute("name").value());
    pugi::xml_node technique = camera.child("optics").child("technique_common");
    if (pugi::xml_node flat = technique.child("orthographic"))
      rewrite_flat(flat);
    else if (pugi::xml_node perspective = technique.child("perspective"))
      rewrite_perspective(perspective);
  }

 private:
  void tell(const std::string& what) { warnings_.push_back("camera \"" + name_ + "\" " + what); }

  void rewrite_perspective(pugi::xml_node optics) {
    auto across = number(optics, "xfov");
    const auto up = number(optics, "yfov");
    auto aspect = number(optics, "aspect_ratio");
    if (across && up) {
      aspect = std::tan(*across * half_degree) / std::tan(*up * half_degree);
    } else if (up && aspect) {
      across = std::atan(std::tan(*up * half_degree) * *aspect) / half_degree;
    } else if (up) {
      across = up;
    } else if (across && !aspect) {
      tell("has a horizontal field of view and no aspect; that is taken as its vertical one.");
    } else if (!across) {
      tell("has no field of view; it gets the usual one.");
      across = static_cast<double>(scene::Camera().fov);
      aspect = {};
    }
    put(optics, "yfov", {});
    put(optics, "xfov", across);
    put(optics, "aspect_ratio", aspect);
  }

  void rewrite_flat(pugi::xml_node optics) {
    const auto across = number(optics, "xmag"), up = number(optics, "ymag");
    auto aspect = number(optics, "aspect_ratio");
    double height = 2;
    if (up) {
      height = 2 * *up;
      if (across) aspect = *across / *up;
    } else if (across) {
      height = 2 * *across / aspect.value_or(1);
      if (!aspect) tell("has a width and no aspect; the width is taken as its height.");
    } else {
      tell("has neither width nor height; it is taken as 2 units high.");
    }
    optics.set_name("perspective");
    put(optics, "xmag", {});
    put(optics, "ymag", {});
    put(optics, "xfov", height);
    put(optics, "aspect_ratio", aspect ? -*aspect : flat_aspect);
  }

  std::vector<std::string>& warnings_;
  std::string name_;
};

/// Calls f for each element with the given name.
template <class F>
void each(pugi::xml_node root, std::string_view name, const F& f) {
  for (pugi::xml_node at = root; at;) {
    if (name == at.name()) f(at);
    pugi::xml_node next = at.first_child();
    while (!next && at && at != root) {
      next = at.next_sibling();
      if (!next) at = at.parent();
    }
    at = next;
  }
}

}  // namespace

std::string readable_collada(std::string_view text, std::vector<std::string>& warnings) {
  pugi::xml_document document;
  const pugi::xml_node none;
  if (!document.load_buffer(text.data(), text.size()) || document.child("COLLADA") == none) return std::string(text);
  const pugi::xml_node root = document.child("COLLADA");
  Cameras cameras(warnings);
  for (const pugi::xml_node library : root.children("library_cameras"))
    for (const pugi::xml_node camera : library.children("camera")) cameras.rewrite(camera);
  std::vector<pugi::xml_node> skews;
  each(root, "skew", [&](pugi::xml_node skew) { skews.push_back(skew); });
  for (pugi::xml_node skew : skews) {
    pugi::xml_node node = skew.parent();
    const char* const name = node.attribute(*node.attribute("name").value() ? "name" : "id").value();
    warnings.push_back("node \"" + valid_utf8(name) + "\" has a <skew>; it is left out.");
    node.remove_child(skew);
  }
  std::ostringstream out;
  document.save(out, "", pugi::format_raw);
  return std::move(out).str();
}

}  // namespace muster
