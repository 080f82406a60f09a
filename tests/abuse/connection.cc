#include "tests/abuse/connection.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace muster::abuse {

namespace {

ByteStream connected(const std::string& address) {
  auto stream = ByteStream::connect(address, std::chrono::steady_clock::now() + std::chrono::seconds(20));
  if (!stream) throw std::runtime_error("no connection to " + address + ": " + stream.error().text);
  return std::move(*stream);
}

}  // namespace

Connection::Connection(const std::string& address, const std::string& token, const std::string& name)
    : stream_(connected(address)) {
  session::Hello hello;
  hello.protocol = session::protocol_newest;
  hello.protocol_oldest = session::protocol_oldest;
  hello.token = token;
  hello.name = name;
  hello.kind = "abuse";
  queue(hello, 1);
}

void Connection::queue(BatchBuilder& builder, std::uint64_t request) {
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
  }
  builder.for_each([&](BatchView batch) { append_frame(out_, batch.bytes(), request); });
  builder.clear();
}

void Connection::send(std::size_t bytes_max) {
  while (!lost_ && queued() > 0 && bytes_max > 0) {
    const auto sent = stream_.send_some(std::span(out_).subspan(sent_, std::min(queued(), bytes_max)));
    if (!sent) lost_ = true;
    if (!sent || *sent == 0) return;
    sent_ += *sent;
    bytes_max -= *sent;
  }
}

void Connection::receive(std::size_t bytes_max, const std::function<void(const WireFrame&)>& f) {
  while (!lost_ && bytes_max > 0) {
    const auto room = decoder_.room();
    const auto got = stream_.receive_some(room.first(std::min(room.size(), bytes_max)));
    if (!got) lost_ = true;
    if (!got || *got == 0) return;
    decoder_.received(*got);
    bytes_max -= *got;
    while (true) {
      auto frame = decoder_.next();
      if (!frame) throw std::runtime_error("the server sent a bad frame: " + frame.error().text);
      if (!*frame) break;
      if (BatchView((*frame)->batch).type() == TypeTraits<session::Welcome>::id) welcomed_ = true;
      f(**frame);
    }
  }
}

}  // namespace muster::abuse
