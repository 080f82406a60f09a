#include "tests/import/truth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/folder.h"

namespace muster::test {
namespace {

using J = nlohmann::json;

std::string decode64(const std::string& text) {
  static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (std::size_t i = 0; i + 4 <= text.size(); i += 4) {
    unsigned long group = 0;
    unsigned letters_here = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t value = letters.find(text[i + k]);
      if (value != letters.npos) ++letters_here;
      group = group * 64 + (value == letters.npos ? 0 : value);
    }
    for (unsigned k = 0; k + 1 < letters_here; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
  return bytes;
}

struct Source {
  std::filesystem::path file;
  J json;
  std::string chunk;  // the binary one of a .glb

  std::string bytes_of(std::size_t buffer) const {
    const std::string uri = json["buffers"][buffer].value("uri", "");
    if (uri.empty()) return chunk;
    if (const std::size_t comma = uri.find(";base64,"); uri.starts_with("data:"))
      return decode64(uri.substr(comma + 8));
    return read_file(file.parent_path() / uri);
  }
};

Source open(const std::filesystem::path& file) {
  Source source{file, {}, {}};
  std::string bytes = read_file(file);
  if (bytes.starts_with("glTF")) {
    unsigned size = 0, data = 0;
    std::memcpy(&size, bytes.data() + 12, 4);
    if (bytes.size() > 20 + size) std::memcpy(&data, bytes.data() + 20 + size, 4);
    if (data > 0) source.chunk = bytes.substr(28 + size, data);
    bytes = bytes.substr(20, size);
  }
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
  source.json = J::parse(bytes);
  return source;
}

double number_at(const std::string& bytes, std::size_t at, int type, bool normalized) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case 5120: return normalized ? std::max(as(std::int8_t{}) / 127, -1.0) : as(std::int8_t{});
    case 5121: return normalized ? as(std::uint8_t{}) / 255 : as(std::uint8_t{});
    case 5122: return normalized ? std::max(as(std::int16_t{}) / 32767, -1.0) : as(std::int16_t{});
    case 5123: return normalized ? as(std::uint16_t{}) / 65535 : as(std::uint16_t{});
    case 5125: return as(std::uint32_t{});
    case 5126: return as(float{});
    default: throw std::runtime_error("component type " + std::to_string(type));
  }
}

std::size_t size_of(int type) { return type < 5122 ? 1 : type < 5124 ? 2 : 4; }

using Rows = std::vector<std::vector<double>>;

/// Elements of a buffer view, which must not be compressed.
Rows rows(const Source& source, const J& view, std::size_t offset, int type, std::size_t width, std::size_t count,
          bool normalized) {
  const std::string bytes = source.bytes_of(view["buffer"]);
  const std::size_t step = view.value("byteStride", size_of(type) * width);
  Rows result(count, std::vector<double>(width));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k)
      result[i][k] =
          number_at(bytes, view.value("byteOffset", 0ul) + offset + i * step + k * size_of(type), type, normalized);
  return result;
}

Rows elements(const Source& source, const J& accessor, std::size_t width) {
  const int type = accessor["componentType"];
  const bool normalized = accessor.value("normalized", false);
  const std::size_t count = accessor["count"];
  Rows result(count, std::vector<double>(width));
  const J& views = source.json.contains("bufferViews") ? source.json["bufferViews"] : J::array();
  if (accessor.contains("bufferView"))
    result = rows(source, views[accessor["bufferView"].get<std::size_t>()], accessor.value("byteOffset", 0ul), type,
                  width, count, normalized);
  if (accessor.contains("sparse")) {
    const J& sparse = accessor["sparse"];
    const std::size_t many = sparse["count"];
    const Rows at = rows(source, views[sparse["indices"]["bufferView"].get<std::size_t>()], 0,
                         sparse["indices"]["componentType"], 1, many, false);
    const Rows values =
        rows(source, views[sparse["values"]["bufferView"].get<std::size_t>()], 0, type, width, many, normalized);
    for (std::size_t i = 0; i < many; ++i) result[static_cast<std::size_t>(at[i][0])] = values[i];
  }
  return result;
}

TrueBox box_of(const Source& source, const J& primitive) {
  const J& accessor = source.json["accessors"][primitive["attributes"]["POSITION"].get<std::size_t>()];
  const bool draco = primitive.contains("extensions") && primitive["extensions"].contains("KHR_draco_mesh_compression");
  const bool meshopt = accessor.contains("bufferView") &&
                       source.json["bufferViews"][accessor["bufferView"].get<std::size_t>()].contains("extensions");
  if (draco || meshopt) return {accessor["min"], accessor["max"]};
  TrueBox box{{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}};
  for (const auto& vertex : elements(source, accessor, 3))
    for (std::size_t i = 0; i < 3; ++i) {
      box.low[i] = std::min(box.low[i], vertex[i]);
      box.high[i] = std::max(box.high[i], vertex[i]);
    }
  return box;
}

Grid grid(const std::array<double, 3>& t, std::array<double, 4> q, const std::array<double, 3>& s) {
  const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (double& each : q) each /= length;
  const auto [x, y, z, w] = q;
  return {s[0] * (1 - 2 * (y * y + z * z)),
          s[0] * 2 * (x * y + z * w),
          s[0] * 2 * (x * z - y * w),
          0,
          s[1] * 2 * (x * y - z * w),
          s[1] * (1 - 2 * (x * x + z * z)),
          s[1] * 2 * (y * z + x * w),
          0,
          s[2] * 2 * (x * z + y * w),
          s[2] * 2 * (y * z - x * w),
          s[2] * (1 - 2 * (x * x + y * y)),
          0,
          t[0],
          t[1],
          t[2],
          1};
}

Grid local_of(const J& node) {
  if (node.contains("matrix")) return node["matrix"];
  return grid(node.value("translation", std::array<double, 3>{0, 0, 0}),
              node.value("rotation", std::array<double, 4>{0, 0, 0, 1}),
              node.value("scale", std::array<double, 3>{1, 1, 1}));
}

std::vector<Grid> instances_of(const Source& source, const J& node, const Grid& world) {
  if (!node.contains("extensions") || !node["extensions"].contains("EXT_mesh_gpu_instancing")) return {world};
  const J& attributes = node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
  const auto column = [&](const char* name, std::size_t width) {
    return attributes.contains(name)
               ? elements(source, source.json["accessors"][attributes[name].get<std::size_t>()], width)
               : Rows();
  };
  const Rows t = column("TRANSLATION", 3), r = column("ROTATION", 4), s = column("SCALE", 3);
  std::vector<Grid> result;
  for (std::size_t i = 0; i < std::max({t.size(), r.size(), s.size()}); ++i)
    result.push_back(multiply(
        world, grid(t.empty() ? std::array<double, 3>{0, 0, 0} : std::array{t[i][0], t[i][1], t[i][2]},
                    r.empty() ? std::array<double, 4>{0, 0, 0, 1} : std::array{r[i][0], r[i][1], r[i][2], r[i][3]},
                    s.empty() ? std::array<double, 3>{1, 1, 1} : std::array{s[i][0], s[i][1], s[i][2]})));
  return result;
}

std::optional<TrueLight> light_of(const Source& source, const J& node) {
  if (!node.contains("extensions") || !node["extensions"].contains("KHR_lights_punctual")) return {};
  const std::size_t index = node["extensions"]["KHR_lights_punctual"]["light"];
  const J& light = source.json["extensions"]["KHR_lights_punctual"]["lights"][index];
  const std::string kind = light.value("type", "");
  if (kind != "point" && kind != "spot" && kind != "directional") return {};
  const J cone = light.value("spot", J::object());
  return TrueLight{kind,
                   light.value("intensity", 1.0),
                   light.value("range", 0.0),
                   cone.value("innerConeAngle", 0.0),
                   cone.value("outerConeAngle", 0.78539816339744831),
                   light.value("color", std::array<double, 3>{1, 1, 1})};
}

std::optional<TrueCamera> camera_of(const Source& source, const J& node) {
  if (!node.contains("camera")) return {};
  const J& camera = source.json["cameras"][node["camera"].get<std::size_t>()];
  const bool orthographic = camera["type"] == "orthographic";
  const J& lens = camera[orthographic ? "orthographic" : "perspective"];
  return TrueCamera{orthographic,
                    lens["znear"],
                    lens.value("zfar", 1e9),
                    lens.value("yfov", 0.0),
                    lens.value("aspectRatio", 0.0),
                    lens.value("xmag", 0.0),
                    lens.value("ymag", 0.0)};
}

void add(const Source& source, std::size_t index, const Grid& above, std::size_t depth, std::vector<TrueNode>& nodes) {
  const J& node = source.json["nodes"][index];
  TrueNode made;
  made.name = node.value("name", "");
  made.depth = depth;
  made.world = multiply(above, local_of(node));
  if (node.contains("mesh")) {
    made.instances = instances_of(source, node, made.world);
    for (const J& primitive : source.json["meshes"][node["mesh"].get<std::size_t>()]["primitives"])
      made.boxes.push_back(box_of(source, primitive));
  }
  made.light = light_of(source, node);
  made.camera = camera_of(source, node);
  const Grid world = made.world;
  nodes.push_back(std::move(made));
  if (node.contains("children"))
    for (const std::size_t child : node["children"]) add(source, child, world, depth + 1, nodes);
}

}  // namespace

Grid multiply(const Grid& a, const Grid& b) {
  Grid c{};
  for (std::size_t column = 0; column < 4; ++column)
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t k = 0; k < 4; ++k) c[column * 4 + row] += a[k * 4 + row] * b[column * 4 + k];
  return c;
}

std::vector<TrueNode> truth_of(const std::filesystem::path& file) {
  const Source source = open(file);
  std::vector<std::size_t> roots;
  if (source.json.contains("scenes")) {
    roots = source.json["scenes"][source.json.value("scene", 0ul)]["nodes"].get<std::vector<std::size_t>>();
  } else {
    std::vector<bool> below(source.json["nodes"].size());
    for (const J& node : source.json["nodes"])
      if (node.contains("children"))
        for (const std::size_t child : node["children"]) below[child] = true;
    for (std::size_t i = 0; i < below.size(); ++i)
      if (!below[i]) roots.push_back(i);
  }
  std::vector<TrueNode> nodes;
  const Grid identity{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  for (const std::size_t root : roots) add(source, root, identity, 0, nodes);
  return nodes;
}

}  // namespace muster::test
