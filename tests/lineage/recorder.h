// Keeps every input with its bytes, and the receipts.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "registry/delivery/input_sink.h"

namespace lineage {

struct Recorder final : muster::InputSink {
  struct Input {
    muster::Envelope envelope;
    std::vector<std::byte> bytes;
  };
  std::vector<Input> inputs;
  std::vector<std::pair<std::uint64_t, muster::Receipt>> receipts;  // by request
  void on_input(const muster::Envelope& envelope, std::span<const std::byte> batch) override {
    inputs.push_back({envelope, {batch.begin(), batch.end()}});
  }
  void on_receipt(const muster::Envelope& envelope, const muster::Receipt& receipt) noexcept override {
    receipts.emplace_back(envelope.request, receipt);
  }
};

}  // namespace lineage
