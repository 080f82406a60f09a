// Reads FlatBuffers tables in place and encodes them, on behalf of generated classes. Only headers
// with tables include this file. This file does not include FlatBuffers' own headers, because they
// would add half a second to the compilation of every source file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

/// Reads one table in a verified buffer, which must be aligned to 16. Performs no checks. A
/// default-constructed reader behaves like a table without fields. The reader does not own the
/// buffer, and is valid only while the buffer exists.
class TableReader {
 public:
  TableReader() = default;
  explicit TableReader(const std::byte* table) noexcept : table_(table) {}
  /// Returns the root table of a buffer, or a table without fields if the buffer is empty.
  static TableReader root(std::span<const std::byte> buffer) noexcept {
    return buffer.empty() ? TableReader() : TableReader(follow(buffer.data()));
  }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// Returns a pointer to the field's value, or null if the field is absent.
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
  /// Returns a pointer to a struct in the buffer, or null if the field is absent.
  template <class T>
  const T* structure(std::uint32_t slot) const noexcept {
    return reinterpret_cast<const T*>(field(slot));
  }
  TableReader table(std::uint32_t slot) const noexcept { return TableReader(target(slot)); }
  std::string_view string(std::uint32_t slot) const noexcept {
    const std::byte* at = target(slot);
    return at == nullptr ? std::string_view() : string_at(at);
  }
  /// Returns a vector of scalars or structs in the buffer.
  template <class T>
  std::span<const T> vector(std::uint32_t slot) const noexcept {
    const std::byte* at = target(slot);
    if (at == nullptr) return {};
    return {reinterpret_cast<const T*>(at + 4), read<std::uint32_t>(at)};
  }
  /// Returns the target of an offset field, or null if the field is absent.
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

/// Memory that a TableEncoder uses while it writes. Encoders that use the same object one after
/// another do not allocate memory again.
class TableScratch {
 private:
  friend class TableEncoder;
  /// A table or a vector of offsets, with its nesting depth.
  struct Around {
    std::size_t begin;
    std::uint32_t depth;
  };
  std::vector<std::uint16_t> vtable_;
  std::vector<std::size_t> vtables_;
  std::vector<Around> around_;
};

/// Writes tables front to back: a table's fields, its vtable (unless an equal one exists), then the
/// targets of its fields. FlatBuffers accepts this order, although its own builder works back to
/// front. Alignment is relative to the start of the bytes, which must be aligned to 16 for reading.
/// Only one table is open at a time.
class TableEncoder {
 public:
  /// The position of an offset whose target has not been written yet.
  using Place = std::size_t;
  static constexpr Place absent = static_cast<Place>(-1);
  /// Limit on the nesting of tables, including the outermost. Readers do not accept deeper nesting.
  /// The encoder therefore stops the program at a deeper table, because a recorded table of that
  /// depth could never be read again.
  static constexpr std::uint32_t depth_max = 1024;

  /// Overwrites `out`, but keeps its capacity. `out` and `scratch` must outlive the encoder.
  TableEncoder(std::vector<std::byte>& out, TableScratch& scratch)
      : out_(out), vtable_(scratch.vtable_), vtables_(scratch.vtables_), around_(scratch.around_) {
    out_.clear();
    vtables_.clear();
    around_.clear();
    put(std::uint32_t{0});  // place 0 contains the root table's offset
  }
  TableEncoder(const TableEncoder&) = delete;
  TableEncoder& operator=(const TableEncoder&) = delete;

  /// Begins the table that `place` points to. `slots` is the number of fields of its type.
  void open(Place place, std::size_t slots) {
    begin(place, 4);
    enter(place, 1);
    table_ = out_.size();
    put(std::int32_t{0});  // offset of the table's vtable
    vtable_.assign(slots + 2, 0);
  }
  template <class T>
  void field(std::uint32_t slot, const T& value) {
    align(alignof(T));
    vtable_[slot / 2] = static_cast<std::uint16_t>(out_.size() - table_);
    put(value);
  }
  /// Writes a scalar or struct whose type is known only at run time.
  void field_bytes(std::uint32_t slot, std::span<const std::byte> value, std::size_t alignment) {
    align(alignment);
    vtable_[slot / 2] = static_cast<std::uint16_t>(out_.size() - table_);
    append(value.data(), value.size());
  }
  /// If `present` is true, writes the offset of a string, vector, or table that will be written
  /// after close(), and returns the place of the offset. Otherwise returns `absent`.
  Place offset(std::uint32_t slot, bool present) {
    if (!present) return absent;
    field(slot, std::uint32_t{0});
    return out_.size() - 4;
  }
  void close() {
    while (vtable_.size() > 2 && vtable_.back() == 0) vtable_.pop_back();
    vtable_[0] = static_cast<std::uint16_t>(vtable_.size() * 2);
    vtable_[1] = static_cast<std::uint16_t>(out_.size() - table_);
    const std::size_t at = place_vtable();
    set(table_, static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(table_) - static_cast<std::ptrdiff_t>(at)));
  }

  void string(Place place, std::string_view text) {
    if (place == absent) return;
    begin(place, 4);
    put(static_cast<std::uint32_t>(text.size()));
    append(text.data(), text.size());
    put('\0');
  }
  /// Writes a vector of scalars or structs.
  template <class T>
  void vector(Place place, const std::vector<T>& values) {
    vector_bytes(place, std::as_bytes(std::span(values)), values.size(), alignof(T));
  }
  /// Writes a vector of `count` elements whose type is known only at run time.
  void vector_bytes(Place place, std::span<const std::byte> values, std::size_t count, std::size_t alignment) {
    if (place == absent) return;
    while ((out_.size() + 4) % (alignment > 4 ? alignment : 4) != 0) out_.push_back(std::byte{0});
    begin(place, 4);
    put(static_cast<std::uint32_t>(count));
    append(values.data(), values.size());
  }
  /// Writes a vector of offsets. Returns the place of the first offset. The other offsets follow at
  /// intervals of 4 bytes.
  Place offsets(Place place, std::size_t count) {
    begin(place, 4);
    enter(place, 0);
    put(static_cast<std::uint32_t>(count));
    const Place first = out_.size();
    out_.resize(out_.size() + 4 * count);
    return first;
  }
  void strings(Place place, const std::vector<std::string>& values) {
    if (place == absent) return;
    Place each = offsets(place, values.size());
    for (const std::string& value : values) {
      string(each, value);
      each += 4;
    }
  }
  template <class T>
  void tables(Place place, const std::vector<T>& values) {
    if (place == absent) return;
    Place each = offsets(place, values.size());
    for (const T& value : values) {
      write_table(*this, value, each);
      each += 4;
    }
  }

 private:
  void append(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), from, from + bytes);
  }
  template <class T>
  void put(const T& value) {
    append(&value, sizeof value);
  }
  template <class T>
  void set(std::size_t at, T value) {
    std::memcpy(out_.data() + at, &value, sizeof value);
  }
  void align(std::size_t alignment) {
    while (out_.size() % alignment != 0) out_.push_back(std::byte{0});
  }
  void begin(Place place, std::size_t alignment) {
    align(alignment);
    set(place, static_cast<std::uint32_t>(out_.size() - place));
  }
  /// Begins an element to which the offset at `place` refers. Tables are written before their
  /// targets, so the most recently begun table or vector that starts at or before `place` contains
  /// it.
  void enter(Place place, std::uint32_t deeper) {
    while (!around_.empty() && around_.back().begin > place) around_.pop_back();
    const std::uint32_t depth = (around_.empty() ? 0 : around_.back().depth) + deeper;
    if (depth > depth_max) [[unlikely]] {
      std::fprintf(stderr, "muster: a message's tables are nested deeper than %u\n", depth_max);
      std::abort();
    }
    around_.push_back({out_.size(), depth});
  }
  /// Returns the position of an equal vtable if it is among the most recently written ones;
  /// otherwise, writes the vtable. Elements of a vector usually have equal vtables.
  std::size_t place_vtable() {
    const std::size_t bytes = vtable_.size() * 2;
    for (std::size_t i = 0; i < vtables_.size() && i < 8; ++i) {
      const std::size_t at = vtables_[vtables_.size() - 1 - i];
      if (out_.size() - at >= bytes && std::memcmp(out_.data() + at, vtable_.data(), bytes) == 0) return at;
    }
    align(2);
    vtables_.push_back(out_.size());
    append(vtable_.data(), bytes);
    return vtables_.back();
  }

  std::vector<std::byte>& out_;
  std::vector<std::uint16_t>& vtable_;
  std::vector<std::size_t>& vtables_;
  std::vector<TableScratch::Around>& around_;
  std::size_t table_ = 0;
};

/// A generated class that holds a table (such as Chat), rather than one that reads a table in place
/// (such as ChatView).
template <class T>
concept NativeTable = requires { typename TypeTraits<T>::Native; } && std::is_same_v<typename TypeTraits<T>::Native, T>;

/// Encodes a table into `out`, replacing the contents of `out`. The verifier and the views require
/// an alignment of 16, which the memory of a std::vector has. Empty strings and vectors are omitted
/// unless they are required.
template <NativeTable T>
void encode(const T& message, std::vector<std::byte>& out) {
  TableScratch scratch;
  TableEncoder encoder(out, scratch);
  write_table(encoder, message, 0);
}
template <NativeTable T>
[[nodiscard]] std::vector<std::byte> encode(const T& message) {
  std::vector<std::byte> out;
  encode(message, out);
  return out;
}

/// Encodes tables one after another into the same memory.
class TableBuffer {
 public:
  /// A table in the buffer. When this object is destroyed, the memory of a large table is released.
  class Encoded {
   public:
    explicit Encoded(std::vector<std::byte>& bytes) noexcept : bytes_(bytes) {}
    ~Encoded() {
      if (bytes_.capacity() > kept_max) std::vector<std::byte>().swap(bytes_);
    }
    Encoded(const Encoded&) = delete;
    Encoded& operator=(const Encoded&) = delete;
    operator std::span<const std::byte>() const noexcept { return bytes_; }

   private:
    static constexpr std::size_t kept_max = 64u << 10;  // limit on the memory that is kept
    std::vector<std::byte>& bytes_;
  };
  /// Returns the encoded table. The result must be destroyed before the next call.
  template <NativeTable T>
  Encoded encode(const T& message) {
    TableEncoder encoder(out_, scratch_);
    write_table(encoder, message, 0);
    return Encoded(out_);
  }

 private:
  std::vector<std::byte> out_;
  TableScratch scratch_;
};

}  // namespace muster
