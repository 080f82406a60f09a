// Changes to saved state as bytes, so that a fuzzer can make them. Each edit is
//
//   | op 1 | row 1 | offset 2 | length 2 | bytes length |
//
// The row is one of the good state's, counted around; what is missing at the end of the input is taken as zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/model/state_rows.h"

namespace fuzz {

enum class Op : std::uint8_t { overwrite, replace, cut, insert, drop, again };
constexpr unsigned ops = 6;

inline void put_edit(std::vector<std::byte>& out, Op op, std::uint8_t row, std::uint16_t offset,
                     std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint16_t>(bytes.size());
  out.push_back(static_cast<std::byte>(op));
  out.push_back(static_cast<std::byte>(row));
  for (const std::uint16_t number : {offset, length}) {
    out.push_back(static_cast<std::byte>(number & 255));
    out.push_back(static_cast<std::byte>(number >> 8));
  }
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// `good` with the edits of the input.
inline naive::StateRows edited(const naive::StateRows& good, std::span<const std::uint8_t> input) {
  naive::StateRows rows = good;
  const auto take = [&]() -> unsigned {
    if (input.empty()) return 0;
    const unsigned byte = input.front();
    input = input.subspan(1);
    return byte;
  };
  while (!input.empty()) {
    const Op op = static_cast<Op>(take() % ops);
    auto row = good.begin();
    std::advance(row, static_cast<std::ptrdiff_t>(take() % good.size()));
    const unsigned low = take(), high = take();
    const std::size_t offset = low | high << 8;
    const unsigned length_low = take(), length_high = take();
    const std::size_t length = std::min<std::size_t>(length_low | length_high << 8, input.size());
    const auto bytes = std::as_bytes(input.first(length));
    input = input.subspan(length);
    std::vector<std::byte>& at = rows[row->first];
    switch (op) {
      case Op::overwrite:
        if (at.size() < offset + length) at.resize(offset + length);
        std::copy(bytes.begin(), bytes.end(), at.begin() + static_cast<std::ptrdiff_t>(offset));
        break;
      case Op::replace: at.assign(bytes.begin(), bytes.end()); break;
      case Op::cut: at.resize(std::min(offset, at.size())); break;
      case Op::insert:
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(std::min(offset, at.size())), bytes.begin(), bytes.end());
        break;
      case Op::drop: rows.erase(row->first); break;
      case Op::again: {
        muster::StateKey key = row->first;
        key.key += offset;
        key.column += static_cast<std::uint32_t>(length);
        std::vector<std::byte> copy = at;
        rows[key] = std::move(copy);
        break;
      }
    }
  }
  return rows;
}

}  // namespace fuzz
