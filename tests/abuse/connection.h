// A connection that never waits: bytes are queued, and go and come when the socket lets them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/byte_stream.h"
#include "messages/batch_builder.h"
#include "messages/frame.h"
#include "messages/session.h"

namespace muster::abuse {

class Connection {
 public:
  /// Connects and queues the Hello. `address`: as ClientOptions says.
  Connection(const std::string& address, const std::string& token, const std::string& name);

  /// Every batch of the builder as a frame of its own. Clears the builder.
  void queue(BatchBuilder& builder, std::uint64_t request);
  template <GeneratedType M>
  void queue(const M& message, std::uint64_t request) {
    BatchBuilder builder;
    session::append(builder, message);
    queue(builder, request);
  }
  /// Bytes that need not be a frame.
  void queue_bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  std::size_t queued() const noexcept { return out_.size() - sent_; }
  /// Sends what goes, for about `bytes_max`.
  void send(std::size_t bytes_max);
  /// Reads what has come, for about `bytes_max`, and calls f for each frame.
  void receive(std::size_t bytes_max, const std::function<void(const WireFrame&)>& f);
  /// The server has closed it.
  bool lost() const noexcept { return lost_; }
  bool welcomed() const noexcept { return welcomed_; }
  int descriptor() const noexcept { return stream_.descriptor(); }

 private:
  ByteStream stream_;
  FrameDecoder decoder_{256u << 20, true};
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
  bool lost_ = false, welcomed_ = false;
};

}  // namespace muster::abuse
