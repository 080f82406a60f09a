// Writes two classes for each table: one that holds a table (Chat), and one that reads a table in
// place (ChatView).
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "schema/schemac/output.h"

namespace muster::schemac {
namespace {

// Not constexpr: GCC 12 rejects a constexpr initializer_list at namespace scope.
const std::initializer_list<std::string_view> view_members = {"decode", "table_"};

/// The order in which the tables of one schema are defined, and the fields that refer to a table
/// defined later.
struct TableOrder {
  std::vector<const TypeDescriptor*> order;  ///< Tables used as members come before their owners,
                                             ///< if possible.
  /// Fields whose table type is still incomplete where the field is declared.
  std::set<const FieldDescriptor*> back_edges;
};

struct Placer {
  const Output& out;
  const std::vector<const TypeDescriptor*>& tables;
  TableOrder result;
  std::set<const TypeDescriptor*> open, done;

  void place(const TypeDescriptor& type) {
    if (std::ranges::find(tables, &type) == tables.end() || done.contains(&type)) return;
    open.insert(&type);
    for (const FieldDescriptor& field : type.fields) {
      if (field.kind != FieldKind::table && !(field.kind == FieldKind::vector && field.element == FieldKind::table))
        continue;
      const TypeDescriptor& inner = out.type(field.type);
      if (open.contains(&inner))
        result.back_edges.insert(&field);
      else
        place(inner);
    }
    open.erase(&type);
    done.insert(&type);
    result.order.push_back(&type);
  }
};

/// The properties of one field, as needed by the functions below.
struct Member {
  const FieldDescriptor& field;
  std::string name;
  /// The C++ type of the scalar, struct, table, or vector element. Bools in vectors are bytes.
  std::string element;
  std::string absent;  ///< for scalars, the literal of the default
  bool by_pointer = false;
  bool is_vector() const { return field.kind == FieldKind::vector; }
  FieldKind kind() const { return is_vector() ? field.element : field.kind; }
};

std::string default_literal(const FieldDescriptor& field, std::string_view inside) {
  if (field.default_text.empty()) {
    const std::byte zero[8] = {};
    return cpp_literal(field.kind, field.enumeration, zero, inside);
  }
  if (field.enumeration)
    for (std::size_t i = 0; i < field.enumeration->values.size(); ++i)
      if (field.enumeration->values[i].name == field.default_text)
        return cpp_type_name(field.enumeration->name, inside) + "::" + value_names(*field.enumeration)[i];
  std::byte bytes[8] = {};
  const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
  const std::string& text = field.default_text;
  switch (field.kind) {
    case FieldKind::boolean: return text;
    case FieldKind::float32: put(std::strtof(text.c_str(), nullptr)); break;
    case FieldKind::float64: put(std::strtod(text.c_str(), nullptr)); break;
    case FieldKind::uint64: put(std::strtoull(text.c_str(), nullptr, 10)); break;
    // little-endian: the least significant byte comes first
    default: put(std::strtoll(text.c_str(), nullptr, 10)); break;
  }
  return cpp_literal(field.kind, field.enumeration, bytes, inside);
}

std::vector<Member> members_of(const Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::vector<std::string> names = field_names(type, view_members);
  std::vector<Member> members;
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const FieldDescriptor& field = type.fields[i];
    Member member{field, names[i], "", "", false};
    const FieldKind kind = member.kind();
    if (kind == FieldKind::string)
      member.element = "std::string";
    else if (kind == FieldKind::boolean && member.is_vector())
      member.element = "std::uint8_t";
    else
      member.element = cpp_element(kind, field.enumeration,
                                   field.type ? std::string_view(out.type(field.type).name) : "", out.space());
    const std::string full_name = field.enumeration         ? field.enumeration->name
                                  : kind == FieldKind::text ? "muster.Text"
                                  : field.type              ? out.type(field.type).name
                                                            : std::string();
    // Fields, parameters and variables hide types of the same name.
    const auto is_hidden = [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end() ||
             std::ranges::find(view_members, name) != view_members.end();
    };
    if (!full_name.empty() && (is_hidden(member.element) || is_hidden(member.element + "View") ||
                               cpp_name_in_function(full_name) != cpp_last_name(full_name)))
      member.element = cpp_absolute_name(full_name);
    if (kind <= FieldKind::float64 && !member.is_vector()) member.absent = default_literal(field, out.space());
    member.by_pointer = field.kind == FieldKind::table && order.back_edges.contains(&field);
    members.push_back(std::move(member));
  }
  return members;
}

void write_native(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::string name = cpp_last_name(type.name);
  out << doc_comment(type.doc, "") << "struct " << name << " {\n";
  bool pointers = false;
  const std::vector<Member> members = members_of(out, type, order);
  for (const Member& m : members) {
    out << field_doc(m.field);
    std::string held = m.element, value = "{}";
    if (m.is_vector()) {
      held = "std::vector<" + m.element + ">";
      // A field whose type is a class that is defined later has no initializer.
      if (order.back_edges.contains(&m.field) && m.field.type != type.id) value.clear();
    } else if (m.by_pointer) {
      held = "std::unique_ptr<" + m.element + ">";
      if (m.field.type != type.id) value.clear();
      pointers = true;
    } else if (m.field.kind == FieldKind::table || m.field.optional ||
               (m.field.kind == FieldKind::structure && !m.field.required)) {
      if (m.field.kind != FieldKind::table || !m.field.required) held = "std::optional<" + m.element + ">";
    } else if (!m.absent.empty()) {
      value = m.absent;
    }
    out << "  " << held << " " << m.name << (value.empty() ? "" : " = " + value) << ";\n";
  }
  if (!pointers) {
    out << "\n  friend bool operator==(const " << name << "&, const " << name << "&) = default;\n};\n\n";
    return;
  }
  out << "\n  friend bool operator==(const " << name << "& a, const " << name << "& b);\n};\n\n";
}

/// Writes the comparison operator of a native class that contains pointers. The operator compares
/// the values to which the pointers refer.
void write_comparison(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::vector<Member> members = members_of(out, type, order);
  if (std::ranges::none_of(members, &Member::by_pointer)) return;
  out.enter(cpp_namespace(type.name));
  const std::string name = cpp_name_in_function(type.name);
  out << "inline bool operator==(const " << name << "& a, const " << name << "& b) {\n  return ";
  bool first = true;
  for (const Member& m : members) {
    if (!first) out << " &&\n         ";
    first = false;
    const std::string a = "a." + m.name, b = "b." + m.name;
    if (m.by_pointer)
      out << "(" << a << " && " << b << " ? *" << a << " == *" << b << " : " << a << " == " << b << ")";
    else
      out << a << " == " << b;
  }
  out << ";\n}\n\n";
}

/// Returns the name of a table for use inside of its view, whose functions hide types.
std::string name_in_view(const TypeDescriptor& type) {
  const std::string name = cpp_last_name(type.name);
  const bool is_hidden = name == "from" || std::ranges::find(view_members, name) != view_members.end();
  return is_hidden ? cpp_absolute_name(type.name) : name;
}

void write_view(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::string name = cpp_last_name(type.name);
  const std::string view = name + "View";
  out << "/// Reads one " << name << " in place, from bytes that were verified.\nclass " << view << " {\n public:\n  "
      << view << "() = default;\n  explicit " << view << "(::muster::TableReader table) noexcept : table_(table) {}\n"
      << "  /// Owns nothing: valid as long as the bytes are, which must be aligned to 16.\n  static " << view
      << " from(std::span<const std::byte> verified) noexcept {\n    return " << view
      << "(::muster::TableReader::root(verified));\n  }\n"
      << "  /// False for a table that is absent; it reads as one without fields.\n"
      << "  explicit operator bool() const noexcept { return static_cast<bool>(table_); }\n"
      << "  /// A copy that lives on its own.\n  " << name_in_view(type) << " decode() const;\n\n";
  for (const Member& m : members_of(out, type, order)) {
    const std::string slot = std::to_string(m.field.slot);
    out << field_doc(m.field) << "  ";
    if (m.is_vector()) {
      if (m.kind() == FieldKind::string)
        out << "::muster::OffsetVector<std::string_view> " << m.name
            << "() const noexcept {\n    return ::muster::OffsetVector<std::string_view>(table_.target(" << slot
            << "));\n  }\n";
      else if (m.kind() == FieldKind::table)
        out << "::muster::OffsetVector<" << m.element << "View> " << m.name << "() const noexcept;\n";
      else
        out << "std::span<const " << m.element << "> " << m.name << "() const noexcept { return table_.vector<"
            << m.element << ">(" << slot << "); }\n";
      continue;
    }
    switch (m.field.kind) {
      case FieldKind::string:
        out << "std::string_view " << m.name << "() const noexcept { return table_.string(" << slot << "); }\n";
        break;
      case FieldKind::table: out << m.element << "View " << m.name << "() const noexcept;\n"; break;
      case FieldKind::structure:
        if (m.field.required)
          out << "const " << m.element << "& " << m.name << "() const noexcept { return *table_.structure<" << m.element
              << ">(" << slot << "); }\n";
        else
          out << "const " << m.element << "* " << m.name << "() const noexcept { return table_.structure<" << m.element
              << ">(" << slot << "); }\n";
        break;
      case FieldKind::entity:
      case FieldKind::text:
        out << m.element << " " << m.name << "() const noexcept { return table_.scalar<" << m.element << ">(" << slot
            << ", {}); }\n";
        break;
      default:
        if (m.field.optional)
          out << "std::optional<" << m.element << "> " << m.name << "() const noexcept { return table_.optional<"
              << m.element << ">(" << slot << "); }\n";
        else
          out << m.element << " " << m.name << "() const noexcept { return table_.scalar<" << m.element << ">(" << slot
              << ", " << m.absent << "); }\n";
    }
  }
  out << "\n private:\n  ::muster::TableReader table_;\n};\n\n";
}

/// Writes the accessors that return views of tables that are declared later.
void write_late_accessors(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::string view = cpp_last_name(type.name) + "View";
  for (const Member& m : members_of(out, type, order)) {
    if (m.kind() != FieldKind::table) continue;
    const std::string slot = std::to_string(m.field.slot);
    if (m.is_vector())
      out << "inline ::muster::OffsetVector<" << m.element << "View> " << view << "::" << m.name
          << "() const noexcept {\n  return ::muster::OffsetVector<" << m.element << "View>(table_.target(" << slot
          << "));\n}\n";
    else
      out << "inline " << m.element << "View " << view << "::" << m.name << "() const noexcept { return " << m.element
          << "View(table_.table(" << slot << ")); }\n";
  }
  out << "\n";
}

void write_decode(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::string name = cpp_last_name(type.name);
  const std::string inside = name_in_view(type);
  out << "inline " << name << " " << name << "View::decode() const {\n  "
      << (inside == name ? cpp_name_in_function(type.name) : inside) << " out;\n";
  for (const Member& m : members_of(out, type, order)) {
    const std::string to = "out." + m.name, from = "this->" + m.name + "()";
    if (m.is_vector()) {
      if (m.kind() == FieldKind::table)
        out << "  for (const " << m.element << "View element : " << from << ") " << to
            << ".push_back(element.decode());\n";
      else if (m.kind() == FieldKind::string)
        out << "  for (const std::string_view element : " << from << ") " << to << ".emplace_back(element);\n";
      else
        out << "  { const auto all = " << from << "; " << to << ".assign(all.begin(), all.end()); }\n";
      continue;
    }
    switch (m.field.kind) {
      case FieldKind::table:
        if (m.by_pointer)
          out << "  if (const auto inner = " << from << ") " << to << " = std::make_unique<" << m.element
              << ">(inner.decode());\n";
        else
          out << "  if (const auto inner = " << from << ") " << to << " = inner.decode();\n";
        break;
      case FieldKind::structure:
        if (m.field.required)
          out << "  " << to << " = " << from << ";\n";
        else
          out << "  if (const auto* inner = " << from << ") " << to << " = *inner;\n";
        break;
      default: out << "  " << to << " = " << from << ";\n";
    }
  }
  out << "  return out;\n}\n\n";
}

void write_encode(Output& out, const TypeDescriptor& type, const TableOrder& order) {
  const std::string name = cpp_name_in_function(type.name);
  const std::vector<Member> members = members_of(out, type, order);
  const std::size_t slots = type.fields.empty() ? 0 : type.fields.back().slot / 2u - 1;
  out << "inline void write_table(::muster::TableEncoder& to, const " << name << "&" << (members.empty() ? "" : " from")
      << ", std::size_t place) {\n  to.open(place, " << std::to_string(slots) << ");\n";
  // Large fields come first to minimize padding.
  std::vector<const Member*> sorted;
  std::map<const Member*, std::string> places;
  for (const std::uint32_t width : {8u, 4u, 2u, 1u})
    for (const Member& m : members) {
      const bool offset = m.is_vector() || m.field.kind == FieldKind::string || m.field.kind == FieldKind::table;
      if (offset) places[&m] = "at" + std::to_string(m.field.slot);
      if (width == (m.field.kind == FieldKind::structure ? 8u : offset ? 4u : m.field.size)) sorted.push_back(&m);
    }
  for (const Member* m : sorted) {
    const std::string value = "from." + m->name, slot = std::to_string(m->field.slot);
    if (const auto place = places.find(m); place != places.end()) {
      const bool held = m->field.kind == FieldKind::table && (m->by_pointer || !m->field.required);
      const std::string present = held                ? "static_cast<bool>(" + value + ")"
                                  : m->field.required ? "true"
                                                      : "!" + value + ".empty()";
      out << "  const auto " << place->second << " = to.offset(" << slot << ", " << present << ");\n";
      continue;
    }
    const bool optional = m->field.optional || (m->field.kind == FieldKind::structure && !m->field.required);
    std::string condition;
    if (optional || m->field.kind == FieldKind::entity || m->field.kind == FieldKind::text)
      condition = value;
    else if (!m->absent.empty())
      condition = value + " != " +
                  (m->absent == "{}"                          ? m->element + "{}"
                   : m->absent.find('|') != std::string::npos ? "(" + m->absent + ")"
                                                              : m->absent);
    if (m->field.required) condition.clear();
    out << "  " << (condition.empty() ? "" : "if (" + condition + ") ") << "to.field<" << m->element << ">(" << slot
        << ", " << (optional ? "*" : "") << value << ");\n";
  }
  out << "  to.close();\n";
  for (const Member& m : members) {
    const auto place = places.find(&m);
    if (place == places.end()) continue;
    const std::string value = "from." + m.name;
    if (m.is_vector())
      out << "  to."
          << (m.kind() == FieldKind::string  ? "strings"
              : m.kind() == FieldKind::table ? "tables"
                                             : "vector")
          << "(" << place->second << ", " << value << ");\n";
    else if (m.field.kind == FieldKind::string)
      out << "  to.string(" << place->second << ", " << value << ");\n";
    else if (m.by_pointer || !m.field.required)
      out << "  if (" << value << ") write_table(to, *" << value << ", " << place->second << ");\n";
    else
      out << "  write_table(to, " << value << ", " << place->second << ");\n";
  }
  out << "}\n\n";
}

}  // namespace

void write_tables(Output& out, const std::vector<const TypeDescriptor*>& tables) {
  Placer placer{out, tables, {}, {}, {}};
  for (const TypeDescriptor* type : tables) placer.place(*type);
  const TableOrder& order = placer.result;
  for (const TypeDescriptor* type : order.order) {
    out.enter(cpp_namespace(type->name));
    const std::string name = cpp_last_name(type->name);
    out << "struct " << name << ";\nclass " << name
        << "View;\ninline void write_table(::muster::TableEncoder& to, const " << cpp_name_in_function(type->name)
        << "& from, std::size_t place);\n";
  }
  out << "\n";
  const auto each = [&](auto writer) {
    for (const TypeDescriptor* type : order.order) {
      out.enter(cpp_namespace(type->name));
      writer(out, *type, order);
    }
  };
  each(write_native);
  each(write_comparison);
  each(write_view);
  each(write_late_accessors);
  each(write_decode);
  each(write_encode);
}

}  // namespace muster::schemac
