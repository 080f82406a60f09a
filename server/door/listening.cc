#include "server/door/listening.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <cerrno>
#include <charconv>

#include "server/access/server_error.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using error_code = boost::system::error_code;

tcp::endpoint parse_endpoint(const std::string& text, bool has_tls) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw ServerError("listen address '" + text + "': expected ADDRESS:PORT");
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const std::string port_text = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, failed] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (failed != std::errc{} || end != port_text.data() + port_text.size() || port > 65535)
    throw ServerError("listen address '" + text + "': '" + port_text + "' is not a port");
  error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) throw ServerError("listen address '" + text + "': '" + host + "' is not an IP address");
  if (!address.is_loopback() && !has_tls)
    throw ServerError("listen address '" + text +
                      "': only loopback addresses (127.0.0.1, ::1) are allowed without TLS. Encrypt connections with "
                      "--cert and --key, or with --self-signed");
  return {address, static_cast<asio::ip::port_type>(port)};
}

/// Returns true if a server is no longer listening on the socket. Throws if the path refers to a
/// file that is not a socket.
bool is_stale_socket(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    throw ServerError("socket path '" + path + "' is longer than " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                      " bytes");
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) return false;
  if (!S_ISSOCK(found.st_mode)) throw ServerError("socket path '" + path + "' exists and is not a socket");
  asio::io_context io{1};
  error_code refused;
  Local::socket probe(io);
  probe.connect(Local::endpoint(path), refused);
  if (!refused) throw ServerError("another server listens on '" + path + "'");
  return true;
}

}  // namespace

ListeningSocket listen_tcp(const std::string& listen, bool has_tls) {
  const tcp::endpoint endpoint = parse_endpoint(listen, has_tls);
  asio::io_context io{1};
  tcp::acceptor door(io);
  error_code error;
  door.open(endpoint.protocol(), error);
  if (!error) door.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) door.bind(endpoint, error);
  if (!error) door.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use)
    throw ServerError("cannot listen on " + listen + ": " + error.message() +
                          ". End the server that has this port, or set another one in ServerOptions::listen; 0 takes "
                          "any free port",
                      true);
  if (error) throw ServerError("cannot listen on " + listen + ": " + error.message());
  const tcp::endpoint bound = door.local_endpoint();
  const std::string host = bound.address().to_string();
  const bool is_v6 = bound.address().is_v6();
  const std::string address = (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(bound.port());
  return {door.release(), is_v6, bound.port(), address};
}

ListeningSocket listen_unix(const std::string& path) {
  if (is_stale_socket(path)) ::unlink(path.c_str());
  asio::io_context io{1};
  Local::acceptor door(io);
  error_code error;
  door.open(Local(), error);
  if (!error) door.bind(Local::endpoint(path), error);
  // Between bind and listen, no client can connect.
  if (!error && ::chmod(path.c_str(), 0600) != 0) error.assign(errno, boost::system::system_category());
  if (!error) door.listen(asio::socket_base::max_listen_connections, error);
  if (error) throw ServerError("cannot listen on '" + path + "': " + error.message());
  return {door.release(), false, 0, path};
}

void check_listening(const std::string& listen, const std::string& unix_path, bool has_tls) {
  if (!listen.empty()) ::close(listen_tcp(listen, has_tls).descriptor);
  if (unix_path.empty() || is_stale_socket(unix_path)) return;
  ::close(listen_unix(unix_path).descriptor);
  ::unlink(unix_path.c_str());
}

}  // namespace muster
