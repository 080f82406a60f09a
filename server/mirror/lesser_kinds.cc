#include "server/mirror/lesser_kinds.h"

#include <algorithm>

namespace muster {

std::shared_ptr<const SeenKind> LesserKinds::of_row(const std::shared_ptr<const SeenKind>& whole,
                                                    std::span<const Said> said, std::uint32_t row) {
  types_.clear();
  auto next = said.begin();
  for (const TypeId type : whole->types) {
    const bool lacks = next != said.end() && next->type == type && next->rows[row] == 0;
    if (next != said.end() && next->type == type) ++next;
    if (!lacks) types_.push_back(type);
  }
  if (types_.size() == whole->types.size()) return whole;
  std::shared_ptr<const SeenKind>& known = known_[{whole->number, types_}];
  if (!known) known = std::make_shared<const SeenKind>(SeenKind{next_++, types_});
  return known;
}

/// Groups equal rows by refining the groups one column at a time. Takes time proportional to the
/// number of rows times the number of columns, regardless of the number of kinds.
std::shared_ptr<const SeenKinds::Each> LesserKinds::of_rows(const std::shared_ptr<const SeenKind>& whole,
                                                            std::span<const Said> said) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const auto rows = static_cast<std::uint32_t>(said.front().rows.size());
  auto made = std::make_shared<SeenKinds::Each>();
  made->of_row.assign(rows, 0);
  std::uint32_t kinds = 1;
  for (const Said& one : said) {
    next_of_.assign(std::size_t{2} * kinds, none);
    kinds = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      std::uint32_t& to = next_of_[2 * made->of_row[row] + (one.rows[row] != 0 ? 1 : 0)];
      if (to == none) to = kinds++;
      made->of_row[row] = to;
    }
  }
  made->kinds.resize(kinds);
  for (std::uint32_t row = 0; row < rows; ++row)
    if (std::shared_ptr<const SeenKind>& kind = made->kinds[made->of_row[row]]; !kind) kind = of_row(whole, said, row);
  return kinds == 1 && made->kinds.front() == whole ? nullptr : made;
}

void LesserKinds::forget_unused() {
  if (known_.size() <= 2 * used_ + 64) return;
  std::erase_if(known_, [](const auto& kind) { return kind.second.use_count() == 1; });
  used_ = known_.size();
}

}  // namespace muster
