// `muster worlds` lists, creates, copies, and deletes the worlds of a muster-host, through HTTP
// requests to the host.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/print.h"
#include "client/cpp/byte_stream.h"
#include "messages/json_writer.h"
#include "system/percent_encoding.h"

namespace muster::cli {
namespace {

constexpr std::size_t answer_bytes_max = 64u << 20;

struct HttpResult {
  int status = 0;
  std::string body;
};

/// Sends one request to the host, and receives the whole answer.
HttpResult ask(const Where& where, const std::string& method, const std::string& path) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(where.seconds_max * 1e9));
  const std::string address = where.connect.substr(0, where.connect.find('/'));
  const auto lost = [&](const std::string& why) {
    fail(Exit::unreachable, "cannot ask the host at " + address + ": " + why);
  };
  auto stream =
      ByteStream::connect(address, until, {.host = {}, .fingerprint = where.fingerprint, .ca_file = where.ca_file});
  if (!stream) lost(stream.error().text);
  const std::string host = address.starts_with("tls:") ? address.substr(4) : address;
  const std::string request = method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " +
                              where.token + "\r\nConnection: close\r\n\r\n";
  std::span<const std::byte> rest = std::as_bytes(std::span(request));
  std::string answer;
  std::array<std::byte, 16384> room;
  while (answer.size() < answer_bytes_max) {
    if (stream->wait(until, !rest.empty()) == ByteStream::Ready::neither) lost("it did not answer in time");
    if (!rest.empty()) {
      const auto sent = stream->send_some(rest);
      if (!sent) lost(sent.error().text);
      rest = rest.subspan(*sent);
      continue;
    }
    const auto got = stream->receive_some(room);
    if (!got) break;  // the host ends the connection after its answer
    answer.append(reinterpret_cast<const char*>(room.data()), *got);
  }
  HttpResult result;
  const std::size_t head = answer.find("\r\n\r\n");
  constexpr std::string_view begin = "HTTP/1.1 ";
  if (head == std::string::npos || !answer.starts_with(begin) ||
      std::from_chars(answer.data() + begin.size(), answer.data() + head, result.status).ec != std::errc())
    lost("the program there is not a muster-host");
  result.body = answer.substr(head + 4);
  while (result.body.ends_with('\n') && method != "GET") result.body.pop_back();
  return result;
}

/// Returns the number of bytes as in "53 kB".
std::string size_text(const std::string& bytes) {
  std::uint64_t count = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), count);
  if (count < 1'000'000) return std::to_string((count + 999) / 1000) + " kB";
  return std::to_string(count / 1'000'000) + " MB";
}

void print_worlds(const std::string& lines) {
  Columns columns({"WORLD", "STATE", "VISITORS", "SIZE", "ERROR"});
  bool is_empty = true;
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    std::vector<std::string> cells;
    while (cells.size() < 5) {
      const std::size_t tab = std::min(line.find('\t'), line.size());
      cells.emplace_back(line.substr(0, tab));
      line.remove_prefix(std::min(line.size(), tab + 1));
    }
    if (cells[0].empty()) continue;
    cells[3] = size_text(cells[3]);
    columns.add(std::move(cells));
    is_empty = false;
  }
  if (is_empty)
    print_line("no worlds");
  else
    columns.print();
}

}  // namespace

void worlds(const Common& common, const WorldsOrder& order) {
  Where where = common.where;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (where.token.empty()) where.token = variable("MUSTER_TOKEN");
  if (where.connect.empty()) fail(Exit::usage, "muster worlds needs the host's address: --connect HOST:PORT");
  if (where.token.empty()) fail(Exit::usage, "muster worlds needs the host's token: --token, or MUSTER_TOKEN");
  if (order.what.empty() || order.what == "list") {
    const HttpResult result = ask(where, "GET", common.json ? "/worlds" : "/worlds?text");
    if (result.status != 200) fail(Exit::refused, result.body.substr(0, result.body.find('\n')));
    if (common.json)
      print_line(std::string_view(result.body).substr(0, result.body.find('\n')));
    else
      print_worlds(result.body);
    return;
  }
  if (order.name.empty()) fail(Exit::usage, "muster worlds " + order.what + " needs the name of a world");
  if (order.what == "copy" && order.to.empty())
    fail(Exit::usage, "muster worlds copy needs two names: that of the world, and that of the copy");
  if (order.what != "copy" && !order.to.empty()) fail(Exit::usage, "muster worlds " + order.what + " takes one name");
  const std::string world = "/worlds/" + escaped(order.name);
  const HttpResult result = order.what == "create"   ? ask(where, "PUT", world)
                            : order.what == "delete" ? ask(where, "DELETE", world)
                            : order.what == "copy"   ? ask(where, "POST", world + "/copy/" + escaped(order.to))
                            : order.what == "restore"
                                ? ask(where, "POST", "/deleted/" + escaped(order.name) + "/restore")
                                : ask(where, "POST", world + "/" + order.what);
  if (result.status != 200) fail(Exit::refused, result.body);
  if (common.json)
    print_line(JsonWriter().open_object().member("done", result.body).close_object().text());
  else
    print_line(order.name + ": " + result.body);
}

}  // namespace muster::cli
