// A connection that carries frames to one of the host's worlds. The host reads the Hello, decides
// whether the token opens the world, wakes the world, and from then on passes all bytes on in both
// directions without looking at them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/access/refusals.h"
#include "server/door/loop.h"
#include "server/door/served_stream.h"
#include "server/door/slice_maker.h"
#include "server/door/wire_stream.h"
#include "server/host/admissions.h"
#include "server/host/worlds.h"

namespace boost::asio {
class io_context;
}

namespace muster::hosting {

/// The objects that all visitors of a host share. They must outlive the visitors.
struct Reception {
  boost::asio::io_context& io;
  Loop& loop;
  Worlds& worlds;
  const WorldFolders& folders;
  std::shared_ptr<Admissions> admissions;  ///< used by the thread for the users only
  Refusals& refusals;
  SliceMaker& slices;
};

/// Takes over a stream on which four bytes have arrived that begin an HTTP request. `came` starts
/// with them. The calling visitor then ends without calling `ended`.
using ToHttp = std::function<void(std::unique_ptr<WireStream> stream, std::span<const std::byte> came)>;

/// Serves the stream until it ends. The world is `world`, or, if that is empty, the one that the
/// Hello names. `address` is the client's address, for delays and the log. If `to_http` is null,
/// all bytes are taken for frames.
std::shared_ptr<ServedStream> open_visitor(std::unique_ptr<WireStream> stream, Reception& reception,
                                           std::string address, std::string world, ServedStreamEvents events,
                                           ToHttp to_http);

}  // namespace muster::hosting
