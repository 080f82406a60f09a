#include "server/host/hello.h"

#include <cstring>
#include <utility>

#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "server/session/judge.h"
#include "server/session/session.h"

namespace muster::hosting {
namespace {

/// Copies a frame's batch to memory that is aligned as batches must be.
class AlignedBatch {
 public:
  explicit AlignedBatch(std::span<const std::byte> frame)
      : words_((frame.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)),
        bytes_(frame.size() - sizeof(FrameHeader)) {
    static_assert(alignof(std::max_align_t) >= batch_alignment && sizeof(FrameHeader) % batch_alignment == 0);
    std::memcpy(words_.data(), frame.data() + sizeof(FrameHeader), bytes_);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(bytes_); }
  TypeId type() const {
    BatchHeader header;
    std::memcpy(static_cast<void*>(&header), words_.data(), sizeof header);
    return header.type;
  }

 private:
  std::vector<std::max_align_t> words_;
  std::size_t bytes_;
};

}  // namespace

HelloReader::HelloReader() { (void)types_.add<session::Hello>(); }

HelloReader::State HelloReader::wrong(session::FaultCode code, const char* reason, std::string text) {
  fault_ = ending_fault(code, reason, std::move(text));
  return State::wrong;
}

HelloReader::State HelloReader::add(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  FrameHeader header;
  if (bytes_.size() < sizeof header) return State::incomplete;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.bytes > hello_bytes_max || header.bytes % batch_alignment != 0 || header.bytes < frame_bytes_min ||
      header.flags != 0)
    return wrong(session::FaultCode::bad_frame, "hello_expected",
                 "the first frame must hold a Hello of at most " + std::to_string(hello_bytes_max) + " bytes");
  if (bytes_.size() < header.bytes) return State::incomplete;
  request_ = header.request;
  return judged(std::span(bytes_).first(header.bytes));
}

HelloReader::State HelloReader::judged(std::span<const std::byte> frame) {
  const AlignedBatch batch(frame);
  if (batch.type() != TypeTraits<session::Hello>::id)
    return wrong(session::FaultCode::hello_expected, "hello_expected",
                 "the first frame must hold a muster.session.Hello");
  const auto accepted = judge(batch.bytes(), types_, Rights{session::Role::view}, {.values = true});
  if (!accepted) {
    fault_ = accepted.error();
    fault_.closes = true;
    return State::wrong;
  }
  hello_ = session::read<session::Hello>(accepted->batch);
  return State::complete;
}

session::Fault ending_fault(session::FaultCode code, const char* reason, std::string text) {
  session::Fault fault = fault_of(code, reason, std::move(text));
  fault.closes = true;
  return fault;
}

std::vector<std::byte> refusal_frame(const session::Fault& fault, std::uint64_t request) {
  BatchBuilder builder;
  session::append(builder, fault);
  std::vector<std::byte> frame;
  append_frame(frame, builder.bytes(), request);
  return frame;
}

FirstAnswer first_answer(std::span<const std::byte> bytes) {
  FrameHeader header;
  BatchHeader batch;
  if (bytes.size() < sizeof header + sizeof batch) return FirstAnswer::incomplete;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(&batch, bytes.data() + sizeof header, sizeof batch);
  if (batch.type != TypeTraits<session::Fault>::id || header.flags != 0 || header.bytes < frame_bytes_min ||
      header.bytes > HelloReader::hello_bytes_max)
    return FirstAnswer::other;
  if (bytes.size() < header.bytes) return FirstAnswer::incomplete;
  const AlignedBatch whole(bytes.first(header.bytes));
  TypeTable types;
  (void)types.add<session::Fault>();
  if (!verify_batch(whole.bytes(), types, {.values = true})) return FirstAnswer::other;
  const auto fault = session::read<session::Fault>(BatchView(whole.bytes()));
  return fault.code == session::FaultCode::stopping ? FirstAnswer::stopping : FirstAnswer::other;
}

}  // namespace muster::hosting
