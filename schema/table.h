// What generated classes of FlatBuffers tables are made of: reading a table in place, and encoding one. Only headers
// with tables include this.
#pragma once

#include <flatbuffers/flatbuffer_builder.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

/// One table in a buffer that was verified: nothing is checked here. A default-constructed one reads as a table without
/// fields. Owns nothing; valid as long as the buffer is, which must be aligned to 16.
class TableReader {
 public:
  TableReader() = default;
  explicit TableReader(const std::byte* table) noexcept : table_(table) {}
  /// The root of a buffer; of an empty one, a table without fields.
  static TableReader root(std::span<const std::byte> buffer) noexcept {
    return buffer.empty() ? TableReader() : TableReader(follow(buffer.data()));
  }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// Where the field's value is, or null if it is absent.
  const std::byte* field(std::uint32_t slot) const noexcept {
    if (table_ == nullptr) return nullptr;
    const std::byte* vtable = table_ - read<std::int32_t>(table_);
    if (slot >= read<std::uint16_t>(vtable)) return nullptr;
    const auto offset = read<std::uint16_t>(vtable + slot);
    return offset == 0 ? nullptr : table_ + offset;
  }
  template <class T>
  T scalar(std::uint32_t slot, T absent) const noexcept {
    const std::byte* at = field(slot);
    if (at == nullptr) return absent;
    if constexpr (std::is_same_v<T, bool>)
      return *at != std::byte{0};
    else
      return read<T>(at);
  }
  template <class T>
  std::optional<T> optional(std::uint32_t slot) const noexcept {
    if (field(slot) == nullptr) return std::nullopt;
    return scalar<T>(slot, T{});
  }
  /// In place; null if absent.
  template <class T>
  const T* structure(std::uint32_t slot) const noexcept {
    return reinterpret_cast<const T*>(field(slot));
  }
  TableReader table(std::uint32_t slot) const noexcept { return TableReader(target(slot)); }
  std::string_view string(std::uint32_t slot) const noexcept {
    const std::byte* at = target(slot);
    return at == nullptr ? std::string_view() : string_at(at);
  }
  /// Scalars and structs, in place.
  template <class T>
  std::span<const T> vector(std::uint32_t slot) const noexcept {
    const std::byte* at = target(slot);
    if (at == nullptr) return {};
    return {reinterpret_cast<const T*>(at + 4), read<std::uint32_t>(at)};
  }
  /// What an offset field points to; null if absent.
  const std::byte* target(std::uint32_t slot) const noexcept {
    const std::byte* at = field(slot);
    return at == nullptr ? nullptr : follow(at);
  }

  template <class T>
  static T read(const std::byte* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static const std::byte* follow(const std::byte* at) noexcept { return at + read<std::uint32_t>(at); }
  static std::string_view string_at(const std::byte* at) noexcept {
    return {reinterpret_cast<const char*>(at + 4), read<std::uint32_t>(at)};
  }

 private:
  const std::byte* table_ = nullptr;
};

/// A vector of strings (Element: std::string_view) or of tables (Element: a View), read in place.
template <class Element>
class OffsetVector {
 public:
  OffsetVector() = default;
  explicit OffsetVector(const std::byte* vector) noexcept : vector_(vector) {}

  std::size_t size() const noexcept { return vector_ == nullptr ? 0 : TableReader::read<std::uint32_t>(vector_); }
  bool empty() const noexcept { return size() == 0; }
  Element operator[](std::size_t i) const noexcept {
    const std::byte* at = TableReader::follow(vector_ + 4 + 4 * i);
    if constexpr (std::is_same_v<Element, std::string_view>)
      return TableReader::string_at(at);
    else
      return Element(TableReader(at));
  }

  class iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using pointer = void;
    using reference = Element;
    iterator() = default;
    iterator(const std::byte* vector, std::size_t i) noexcept : vector_(vector), i_(i) {}
    Element operator*() const noexcept { return OffsetVector(vector_)[i_]; }
    iterator& operator++() noexcept {
      ++i_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++i_;
      return before;
    }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    const std::byte* vector_ = nullptr;
    std::size_t i_ = 0;
  };
  iterator begin() const noexcept { return {vector_, 0}; }
  iterator end() const noexcept { return {vector_, size()}; }

 private:
  const std::byte* vector_ = nullptr;
};

/// A generated class that holds a table (Chat, not ChatView).
template <class T>
concept NativeTable = requires { typename TypeTraits<T>::Native; } && std::is_same_v<typename TypeTraits<T>::Native, T>;

/// Encodes into a builder, whatever it held before. The bytes are the builder's, until it is used again; they need not
/// be aligned to 16 where they lie, and must be before they are read.
template <NativeTable T>
std::span<const std::byte> encode(flatbuffers::FlatBufferBuilder& builder, const T& message) {
  builder.Clear();
  builder.Finish(write_table(builder, message));
  return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
}

/// Encodes into memory of its own, which is aligned to 16 as the verifier and the views want it.
template <NativeTable T>
[[nodiscard]] std::vector<std::byte> encode(const T& message) {
  flatbuffers::FlatBufferBuilder builder;
  const std::span<const std::byte> bytes = encode(builder, message);
  return {bytes.begin(), bytes.end()};
}

/// For generated code: the offset of a vector that is written only where it says something.
template <class T>
flatbuffers::Offset<flatbuffers::Vector<T>> write_scalars(flatbuffers::FlatBufferBuilder& builder,
                                                          const std::vector<T>& values, bool required) {
  if (values.empty() && !required) return {};
  return builder.CreateVector(values.data(), values.size());
}
template <class T>
flatbuffers::Offset<flatbuffers::Vector<const T*>> write_structs(flatbuffers::FlatBufferBuilder& builder,
                                                                 const std::vector<T>& values, bool required) {
  if (values.empty() && !required) return {};
  return builder.CreateVectorOfStructs(values.data(), values.size());
}
inline flatbuffers::Offset<flatbuffers::String> write_string(flatbuffers::FlatBufferBuilder& builder,
                                                             const std::string& value, bool required) {
  if (value.empty() && !required) return {};
  return builder.CreateString(value);
}
inline flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> write_strings(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<std::string>& values, bool required) {
  if (values.empty() && !required) return {};
  return builder.CreateVectorOfStrings(values);
}
template <class T>
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<void>>> write_tables(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<T>& values, bool required) {
  if (values.empty() && !required) return {};
  std::vector<flatbuffers::Offset<void>> offsets;
  offsets.reserve(values.size());
  for (const T& value : values) offsets.push_back(write_table(builder, value));
  return builder.CreateVector(offsets);
}

}  // namespace muster
