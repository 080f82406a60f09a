#include "registry/observe/trace.h"

#include <algorithm>

#include "messages/causes.h"
#include "messages/json_writer.h"

namespace muster {

namespace {

/// Returns a message's number as shown to users: the number of the input, and the message's place
/// among those that the input caused.
std::string number(std::uint64_t message) {
  return std::to_string(message >> cause_place_bits) + "." + std::to_string(message & cause_place_max);
}

std::string microseconds(std::uint64_t ns) {
  std::string digits = std::to_string(ns % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return std::to_string(ns / 1000) + "." + digits;
}

}  // namespace

Trace::Trace(std::size_t slices_max) : slices_max_(std::max<std::size_t>(slices_max, 1)) {}

void Trace::clear() noexcept {
  slices_.clear();
  next_ = 0;
  left_out_ = 0;
}

void Trace::add_watching(std::uint64_t begin_ns, std::uint64_t ns, std::uint64_t count, bool beside) {
  add({.begin_ns = begin_ns,
       .ns = ns,
       .count = count,
       .name = name((std::uint64_t{3} << 62) | (beside ? 1 : 0), beside ? "telling" : "watching"),
       .track = beside ? watches_track : std::uint16_t{0},
       .kind = Kind::watching});
}

void Trace::add(const Slice& slice) {
  if (slice.track == watches_track)
    beside_ = true;
  else
    tracks_ = std::max<std::uint16_t>(tracks_, static_cast<std::uint16_t>(slice.track + 1));
  if (slices_.size() < slices_max_) {
    slices_.push_back(slice);
    return;
  }
  slices_[next_] = slice;
  next_ = (next_ + 1) % slices_max_;
  ++left_out_;
}

std::uint32_t Trace::name(std::uint64_t key, std::string_view text) {
  const auto [at, fresh] = name_of_.try_emplace(key, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.emplace_back(text);
  return at->second;
}

void Trace::write(const std::function<void(std::string_view)>& take) const {
  std::vector<const Slice*> slices;  // outer slices before inner ones
  for (const Slice& slice : slices_) slices.push_back(&slice);
  std::ranges::sort(slices, [](const Slice* a, const Slice* b) {
    if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns;
    if (a->ns != b->ns) return a->ns > b->ns;
    return a->kind < b->kind;
  });
  const std::uint64_t zero = slices.empty() ? 0 : slices.front()->begin_ns;
  std::vector<const Slice*> numbered;  // batches, sorted by the numbers of their messages
  for (const Slice* slice : slices)
    if (slice->message) numbered.push_back(slice);
  std::ranges::sort(numbered, {}, [](const Slice* slice) { return slice->message; });

  take(R"({"displayTimeUnit": "ns", "otherData": {"left_out": )" + std::to_string(left_out_) +
       "},\n\"traceEvents\": [\n");
  take(R"({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "muster"}})");
  const auto name_track = [&](std::uint32_t track, const std::string& name) {
    take(R"(,
{"ph": "M", "pid": 1, "tid": )" +
         std::to_string(track) + R"(, "name": "thread_name", "args": {"name": )" + json_string(name) + "}}");
  };
  for (std::uint32_t track = 0; track < tracks_; ++track)
    name_track(track, track == 0 ? "registry" : "worker " + std::to_string(track));
  if (beside_) name_track(watches_track, "watches");
  static constexpr const char* category[] = {"input", "batch", "handler", "watching"};
  static constexpr const char* counted[] = {"sequence", "messages", "rows", "chunks"};
  std::uint64_t arrow = 0;
  for (const Slice* slice : slices) {
    const std::size_t kind = static_cast<std::size_t>(slice->kind);
    const std::string at =
        R"("pid": 1, "tid": )" + std::to_string(slice->track) + R"(, "ts": )" + microseconds(slice->begin_ns - zero);
    std::string line = ",\n{\"ph\": \"X\", " + at + R"(, "dur": )" + microseconds(slice->ns) + R"(, "cat": ")" +
                       category[kind] + R"(", "name": )" + json_string(names_[slice->name]) + R"(, "args": {")" +
                       (slice->track == watches_track ? "watches" : counted[kind]) +
                       "\": " + std::to_string(slice->count);
    if (slice->message) line += R"(, "message": ")" + number(slice->message) + '"';
    if (slice->cause) line += R"(, "cause": ")" + number(slice->cause) + '"';
    if (slice->last_cause != slice->cause) line += R"(, "last_cause": ")" + number(slice->last_cause) + '"';
    line += "}}";
    if (slice->cause) {
      // Draws an arrow from the batch that contains the cause.
      const auto after =
          std::ranges::upper_bound(numbered, slice->cause, {}, [](const Slice* batch) { return batch->message; });
      if (after != numbered.begin())
        if (const Slice& from = **(after - 1); slice->cause < from.message + from.messages) {
          const std::string id = std::to_string(++arrow);
          line += ",\n{\"ph\": \"s\", \"pid\": 1, \"tid\": 0, \"ts\": " + microseconds(from.begin_ns - zero) +
                  R"(, "cat": "cause", "name": "cause", "id": )" + id + "}";
          line += ",\n{\"ph\": \"f\", \"bp\": \"e\", " + at + R"(, "cat": "cause", "name": "cause", "id": )" + id + "}";
        }
    }
    take(line);
  }
  take("\n]}\n");
}

std::string Trace::json() const {
  std::string all;
  write([&](std::string_view piece) { all += piece; });
  return all;
}

}  // namespace muster
