#include "client/import/gltf_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "messages/utf8.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  std::string bytes(fs::file_size(file, error), '\0');
  if (error || !in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw ReadFailure("its file " + file.filename().string() + " cannot be read");
  return bytes;
}

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Returns a parser's error message without the error number. Shortens the message, because the
/// text that the message quotes may be arbitrarily long.
std::string json_fault(std::string_view what, const std::string& place = {}) {
  if (const auto at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
  constexpr std::string_view begins = "parse error at ";
  if (what.starts_with(begins)) what.remove_prefix(begins.size());
  constexpr std::size_t most = 200;
  std::string text = valid_utf8(what.substr(0, most));
  return "it is not valid JSON: " + place + text + (what.size() > most ? "..." : "");
}

/// Determines where parsing stopped, because the exception for a number that is too large does not
/// contain the position.
class FaultPlace : public nlohmann::json_sax<Json> {
 public:
  std::size_t at = 0;  ///< number of bytes read

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    at = position;
    return false;
  }
};

/// Returns the position of the number that cannot be read, such as "line 3, column 14: ".
std::string number_place(const std::string& json) {
  FaultPlace place;
  Json::sax_parse(json, &place);
  const std::string_view read = std::string_view(json).substr(0, place.at);
  const std::size_t line_begin = read.rfind('\n') + 1;  // 0 if there is no earlier newline
  return "line " + std::to_string(1 + std::ranges::count(read, '\n')) + ", column " +
         std::to_string(read.size() - line_begin) + ": ";
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

/// Returns true if the head of a data URI declares the data as base64, as in
/// "data:application/octet-stream;base64".
bool says_base64(std::string_view head) {
  std::string last = lower(head.substr(std::min(head.rfind(';'), head.size())));
  std::erase_if(last, [](char c) { return c == ' ' || c == '\t'; });
  return last == ";base64";
}

std::string percent_decoded(std::string_view uri) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string text;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size() && digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0) {
      text += static_cast<char>(digit(uri[i + 1]) * 16 + digit(uri[i + 2]));
      i += 2;
    } else {
      text += uri[i];
    }
  }
  return text;
}

/// Decodes base64 in either alphabet, with or without trailing "=", and with white space anywhere.
/// Returns nothing if the text contains any other character.
std::optional<std::string> base64_decoded(std::string_view text) {
  constexpr std::string_view space = " \t\r\n\f";
  text = text.substr(0, text.find_last_not_of("= \t\r\n\f") + 1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    if (space.find(c) != space.npos) continue;
    std::uint32_t value;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<std::uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<std::uint32_t>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      value = static_cast<std::uint32_t>(c - '0') + 52;
    else if (c == '+' || c == '-')
      value = 62;
    else if (c == '/' || c == '_')
      value = 63;
    else
      return {};
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xff);
  }
  return bytes;
}

bool begins_with_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  return colon != uri.npos && colon > 1 && std::ranges::all_of(uri.substr(0, colon), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
                  c == '.';
         });
}

struct NumberType {
  std::size_t code, bytes;
  double most;  ///< largest integer of the type if values are normalized, or 0 if this type is
                ///< never normalized
};
constexpr std::array number_types{NumberType{5120, 1, 127},   NumberType{5121, 1, 255}, NumberType{5122, 2, 32767},
                                  NumberType{5123, 2, 65535}, NumberType{5125, 4, 0},   NumberType{5126, 4, 0}};

NumberType number_type(const Json& of, const std::string& place) {
  const Json* const code = member(of, "componentType");
  const std::size_t value = code ? whole(*code, place + ".componentType") : 0;
  for (const NumberType& type : number_types)
    if (type.code == value) return type;
  throw ReadFailure(place + ".componentType is " + std::to_string(value) + ", which glTF does not define");
}

double component(const unsigned char* at, const NumberType& type) {
  std::uint32_t bits = 0;
  for (std::size_t i = type.bytes; i-- > 0;) bits = bits << 8 | at[i];
  switch (type.code) {
    case 5120: return static_cast<std::int8_t>(bits);
    case 5122: return static_cast<std::int16_t>(bits);
    case 5126: return static_cast<double>(std::bit_cast<float>(bits));
    default: return bits;
  }
}

bool is_normalized(const Json& accessor) {
  const Json* const normalized = member(accessor, "normalized");
  return normalized && normalized->is_boolean() && normalized->get<bool>();
}

double normalized_value(double value, const NumberType& type) { return std::max(value / type.most, -1.0); }

bool is_compressed(const Json& view) {
  const Json* const extensions = member(view, "extensions");
  return extensions &&
         (member(*extensions, "EXT_meshopt_compression") || member(*extensions, "KHR_meshopt_compression"));
}

std::size_t whole_or(const Json& of, const char* name, const std::string& place, std::size_t otherwise) {
  const Json* const value = member(of, name);
  return value ? whole(*value, place + "." + name) : otherwise;
}

}  // namespace

std::string place_text(const char* list, std::size_t index, const char* member) {
  return std::string(list) + '[' + std::to_string(index) + ']' + (*member ? "." : "") + member;
}

const Json* member(const Json& of, const char* name) {
  if (!of.is_object()) return nullptr;
  const auto found = of.find(name);
  return found == of.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& of, const char* name) {
  const Json* const text = member(of, name);
  return text && text->is_string() ? text->get_ref<const std::string&>() : std::string();
}

std::optional<double> number_of(const Json& of, const char* name, const std::string& place) {
  const Json* const value = member(of, name);
  if (!value) return {};
  if (!value->is_number()) throw ReadFailure(place + "." + name + " is not a number");
  return value->get<double>();
}

std::size_t whole(const Json& value, const std::string& place) {
  if (value.is_number()) {
    // Some exporters write integers as 3.0. Above 2^53, a double is not a valid index.
    const double number = value.get<double>();
    if (number >= 0 && number <= 9007199254740992 && std::floor(number) == number)
      return static_cast<std::size_t>(number);
  }
  throw ReadFailure(place + " is not a whole number of at least 0");
}

GltfParts parts_of(const fs::path& file) {
  GltfParts parts;
  std::string bytes = slurp(file);
  if (!bytes.starts_with("glTF")) {
    if (is_utf16(bytes)) throw ReadFailure("it is UTF-16; glTF is UTF-8");
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
    parts.json = std::move(bytes);
    return parts;
  }
  parts.is_binary = true;
  if (bytes.size() < 20) throw ReadFailure("the file is cut off: a .glb has 20 bytes before its JSON");
  parts.version = word(bytes, 4);
  if (parts.version == 1) parts.json = bytes.substr(20, word(bytes, 12));
  if (parts.version != 2) return parts;
  constexpr std::uint32_t json_chunk = 0x4e4f534a, data_chunk = 0x004e4942;
  if (word(bytes, 16) != json_chunk) throw ReadFailure("its first chunk is not JSON");
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::size_t size = word(bytes, at), kind = word(bytes, at + 4), begin = at + 8;
    if (size > bytes.size() - begin)
      throw ReadFailure("the file is cut off: its chunk at byte " + std::to_string(at) + " has " +
                        std::to_string(size) + " bytes, and " + std::to_string(bytes.size() - begin) + " are there");
    if (at == 12) parts.json = bytes.substr(begin, size);
    if (kind == data_chunk && parts.data_at == 0) parts.data_at = begin, parts.data_bytes = size;
    at = begin + size;
  }
  return parts;
}

GltfFile::GltfFile(fs::path file) : file_(std::move(file)), parts_(parts_of(file_)) {
  if (parts_.is_binary && parts_.version != 1 && parts_.version != 2)
    throw ReadFailure("it is a .glb of version " + std::to_string(parts_.version) + "; 2 is read");
  try {
    json_ = Json::parse(parts_.json);
  } catch (const Json::out_of_range& exception) {
    throw ReadFailure(json_fault(exception.what(), number_place(parts_.json)));
  } catch (const Json::exception& exception) {
    throw ReadFailure(json_fault(exception.what()));
  }
  parts_.json.clear();
  if (!json_.is_object()) throw ReadFailure("its JSON is not an object");
  if (is_gltf_1()) return;
  check_version();
  for (const char* name : {"nodes", "scenes", "meshes", "cameras", "materials", "accessors", "bufferViews", "buffers"})
    (void)list(name);
  buffers_.resize(list("buffers").size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) check_buffer(i);
}

bool GltfFile::is_gltf_1() const {
  if (parts_.is_binary) return parts_.version == 1;
  const Json* const asset = member(json_, "asset");
  // In glTF 1.0, `nodes` is an object, and the version is optional.
  const Json* const nodes = member(json_, "nodes");
  const std::string version = asset ? text_of(*asset, "version") : "";
  return version.starts_with("1.") || (version.empty() && nodes && nodes->is_object());
}

void GltfFile::check_version() const {
  const Json* const asset = member(json_, "asset");
  const std::string version = asset ? text_of(*asset, "version") : "";
  if (version.empty()) throw ReadFailure("it has no asset.version, which glTF must have");
  if (!version.starts_with("2.")) throw ReadFailure("it is glTF " + version + "; 2.0 is read");
  const std::string least = text_of(*asset, "minVersion");
  if (!least.empty() && least != "2.0") throw ReadFailure("it needs a reader of glTF " + least + "; 2.0 is read");
}

const Json& GltfFile::list(const char* name) const {
  static const Json none = Json::array();
  const Json* const found = member(json_, name);
  if (!found) return none;
  if (!found->is_array()) throw ReadFailure(std::string(name) + " is not a list");
  return *found;
}

const Json& GltfFile::at(const char* name, std::size_t index, const std::string& from) const {
  const Json& all = list(name);
  if (index >= all.size())
    throw ReadFailure(from + " is " + std::to_string(index) + ", and there are " + std::to_string(all.size()) + " " +
                      name);
  if (!all[index].is_object()) throw ReadFailure(place_text(name, index) + " is not an object");
  return all[index];
}

std::optional<std::size_t> GltfFile::index_of(const Json& of, const char* name, const char* of_list,
                                              const std::string& place) const {
  const Json* const value = member(of, name);
  if (!value) return {};
  const std::string from = place + "." + name;
  const std::size_t index = whole(*value, from);
  (void)at(of_list, index, from);
  return index;
}

fs::path GltfFile::path_of(const std::string& uri, const std::string& place) const {
  if (begins_with_scheme(uri)) throw ReadFailure(place + " is \"" + uri.substr(0, 60) + "\"; only files are read");
  const fs::path folder = file_.parent_path();
  for (const std::string& name : {uri, percent_decoded(uri)}) {
    std::error_code error;
    if (name.empty() || name.find('\0') != name.npos) continue;
    const auto status = fs::status(folder / name, error);
    if (!fs::exists(status)) continue;
    if (!fs::is_regular_file(status)) throw ReadFailure(place + ": " + name + " is not a regular file");
    return folder / name;
  }
  throw ReadFailure(place + ": there is no file " + percent_decoded(uri));
}

void GltfFile::check_buffer(std::size_t index) {
  const std::string place = place_text("buffers", index);
  const Json& buffer = at("buffers", index, place);
  const Json* const bytes = member(buffer, "byteLength");
  if (!bytes) throw ReadFailure(place + " has no byteLength");
  const std::uint64_t said = whole(*bytes, place + ".byteLength");
  const std::string uri = text_of(buffer, "uri");
  std::uint64_t there = 0;
  if (lower(uri.substr(0, 5)) == "data:") {
    buffers_[index] = [&] {
      const std::size_t comma = uri.find(',');
      if (comma == uri.npos) throw ReadFailure(place + ".uri has no data");
      const std::string_view kind = std::string_view(uri).substr(0, comma);
      std::string data = percent_decoded(std::string_view(uri).substr(comma + 1));
      if (!says_base64(kind)) return data;
      auto decoded = base64_decoded(data);
      if (!decoded) throw ReadFailure(place + ".uri is not base64");
      return std::move(*decoded);
    }();
    there = buffers_[index]->size();
  } else if (!uri.empty()) {
    std::error_code error;
    there = fs::file_size(path_of(uri, place), error);
    if (error) throw ReadFailure(place + ": " + error.message());
  } else if (parts_.is_binary && index == 0 && parts_.data_at != 0) {
    there = parts_.data_bytes;
  } else {
    return;  // the buffer is used only by an extension, or not at all
  }
  if (there < said)
    throw ReadFailure(place + (uri.empty() || uri.starts_with("data:") ? "" : " (" + uri + ")") +
                      " is cut off: it should have " + std::to_string(said) + " bytes, and has " +
                      std::to_string(there));
}

const std::string& GltfFile::buffer(std::size_t index) const {
  auto& bytes = buffers_[index];
  if (!bytes) {
    const std::string place = place_text("buffers", index);
    const std::string uri = text_of(list("buffers")[index], "uri");
    if (!uri.empty())
      bytes = slurp(path_of(uri, place));
    else if (parts_.is_binary && index == 0)
      bytes = slurp(file_).substr(parts_.data_at, parts_.data_bytes);
    else
      throw ReadFailure(place + " has no bytes");
  }
  return *bytes;
}

const unsigned char* GltfFile::bytes(const Span& span, const std::string& place) const {
  const std::string view_place = place_text("bufferViews", span.view);
  const Json& view = at("bufferViews", span.view, place);
  const auto buffer_index = index_of(view, "buffer", "buffers", view_place);
  if (!buffer_index) throw ReadFailure(view_place + " has no buffer");
  const std::string& all = buffer(*buffer_index);
  const std::size_t begin = whole_or(view, "byteOffset", view_place, 0);
  const std::size_t size = whole_or(view, "byteLength", view_place, 0);
  if (begin > all.size() || size > all.size() - begin)
    throw ReadFailure(view_place + " reaches beyond its buffer, which has " + std::to_string(all.size()) + " bytes");
  // Count and stride are at most 2^53. The comparison uses division to avoid overflow.
  const bool fits =
      span.count == 0 ||
      (span.offset <= size && span.element <= size - span.offset &&
       (span.count == 1 || span.stride == 0 || span.count - 1 <= (size - span.offset - span.element) / span.stride));
  if (!fits) throw ReadFailure(place + " reaches beyond bufferViews[" + std::to_string(span.view) + "]");
  return reinterpret_cast<const unsigned char*>(all.data()) + begin + span.offset;
}

bool GltfFile::is_readable(std::size_t accessor) const {
  const std::string place = place_text("accessors", accessor);
  const Json& from = list("accessors")[accessor];
  const auto view = index_of(from, "bufferView", "bufferViews", place);
  if (!view) return true;
  const Json& of = list("bufferViews")[*view];
  if (is_compressed(of)) return false;
  const auto index = index_of(of, "buffer", "buffers", place_text("bufferViews", *view));
  return index && (buffers_[*index] || !text_of(list("buffers")[*index], "uri").empty() ||
                   (parts_.is_binary && *index == 0 && parts_.data_at != 0));
}

std::optional<Box> GltfFile::said_box(std::size_t accessor) const {
  const std::string place = place_text("accessors", accessor);
  const Json& from = list("accessors")[accessor];
  const auto low = numbers_of<3>(from, "min", place), high = numbers_of<3>(from, "max", place);
  if (!low || !high) return {};
  Box box{*low, *high};
  const NumberType type = number_type(from, place);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(std::abs(box.low[i]) <= 3.4e38 && std::abs(box.high[i]) <= 3.4e38 && box.low[i] <= box.high[i])) return {};
    if (!is_normalized(from) || type.most == 0) continue;
    box.low[i] = normalized_value(box.low[i], type);
    box.high[i] = normalized_value(box.high[i], type);
  }
  return box;
}

std::size_t GltfFile::count(std::size_t accessor) const {
  return whole_or(list("accessors")[accessor], "count", place_text("accessors", accessor), 0);
}

std::vector<double> GltfFile::values(std::size_t accessor, const char* type, std::size_t components) const {
  const std::string place = place_text("accessors", accessor);
  const Json& from = list("accessors")[accessor];
  if (text_of(from, "type") != type) throw ReadFailure(place + ".type is not " + type);
  const NumberType number = number_type(from, place);
  const std::size_t many = count(accessor);
  std::vector<double> values;
  if (const auto view = index_of(from, "bufferView", "bufferViews", place)) {
    const std::size_t element = number.bytes * components;
    const std::size_t stride =
        whole_or(list("bufferViews")[*view], "byteStride", place_text("bufferViews", *view), element);
    if (stride < element)
      throw ReadFailure(place_text("bufferViews", *view) + ".byteStride is less than an element of " + place);
    const unsigned char* const begin =
        bytes({*view, whole_or(from, "byteOffset", place, 0), stride, element, many}, place);
    values.reserve(many * components);
    for (std::size_t i = 0; i < many; ++i)
      for (std::size_t c = 0; c < components; ++c)
        values.push_back(component(begin + i * stride + c * number.bytes, number));
  } else {
    // Without a bufferView, all values are 0. The file's size does not limit the number of elements
    // in this case, so limit the number here.
    constexpr std::size_t most = 10'000'000;
    if (many > most)
      throw ReadFailure(place + " has more than " + std::to_string(most) + " elements without a bufferView");
    values.resize(many * components);
  }
  apply_sparse(from, place, components, values);
  if (is_normalized(from) && number.most > 0)
    for (double& value : values) value = normalized_value(value, number);
  return values;
}

void GltfFile::apply_sparse(const Json& accessor, const std::string& place, std::size_t components,
                            std::vector<double>& values) const {
  const Json* const sparse = member(accessor, "sparse");
  if (!sparse) return;
  const Json* const indices = member(*sparse, "indices");
  const Json* const replaced = member(*sparse, "values");
  const std::string at_indices = place + ".sparse.indices", at_values = place + ".sparse.values";
  const auto index_view = indices ? index_of(*indices, "bufferView", "bufferViews", at_indices) : std::nullopt;
  const auto value_view = replaced ? index_of(*replaced, "bufferView", "bufferViews", at_values) : std::nullopt;
  if (!index_view || !value_view) throw ReadFailure(place + ".sparse has no indices or no values");
  const NumberType index_type = number_type(*indices, at_indices), type = number_type(accessor, place);
  const std::size_t many = whole_or(*sparse, "count", place + ".sparse", 0), element = type.bytes * components;
  const unsigned char* const index =
      bytes({*index_view, whole_or(*indices, "byteOffset", at_indices, 0), index_type.bytes, index_type.bytes, many},
            at_indices);
  const unsigned char* const value =
      bytes({*value_view, whole_or(*replaced, "byteOffset", at_values, 0), element, element, many}, at_values);
  const std::size_t elements = values.size() / components;
  for (std::size_t i = 0; i < many; ++i) {
    const auto target = component(index + i * index_type.bytes, index_type);
    if (!(target >= 0 && target < static_cast<double>(elements)))
      throw ReadFailure(at_indices + " refer to an element that does not exist");
    for (std::size_t c = 0; c < components; ++c)
      values[static_cast<std::size_t>(target) * components + c] = component(value + i * element + c * type.bytes, type);
  }
}

}  // namespace muster
