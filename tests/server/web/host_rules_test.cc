// Which client a request behind a proxy comes from, and which hosts are the server's own.
#include <catch2/catch.hpp>

#include "server/web/host_rules.h"

namespace host_rules_test {

using namespace muster;

namespace {

HttpRequest forwarded(const std::string& from, const std::string& proto = "https",
                      const std::string& host = "studio.example") {
  HttpRequest request;
  request.hosts = {"127.0.0.1:7717"};
  request.forwarded_for = from;
  request.forwarded_proto = proto;
  request.forwarded_host = host;
  return request;
}

HostRules behind(std::vector<std::string> proxies) {
  HostRules rules(7717);
  rules.proxies = std::move(proxies);
  return rules;
}

}  // namespace

TEST_CASE("fields of a proxy are believed from the stated addresses only", "[site]") {
  for (const auto& rules : {behind({}), behind({"10.0.0.8"}), behind({"10.0.0.70"})}) {
    HttpRequest request = forwarded("192.0.2.1");
    const RequestSource source = source_of(request, "10.0.0.7", rules);
    CHECK(source.address == "10.0.0.7");
    CHECK_FALSE(source.is_secure);
    CHECK_FALSE(source.is_forwarded);
    CHECK(request.hosts == std::vector<std::string>{"127.0.0.1:7717"});
  }
  for (const char* same : {"10.0.0.7", "::ffff:10.0.0.7"}) {
    HttpRequest request = forwarded("192.0.2.1");
    const RequestSource source = source_of(request, same, behind({"10.0.0.7"}));
    CHECK(source.address == "192.0.2.1");
    CHECK(source.is_secure);
    CHECK(source.is_forwarded);
    CHECK(request.hosts == std::vector<std::string>{"studio.example"});
  }
  HttpRequest request = forwarded("192.0.2.1");
  CHECK(source_of(request, "fd00::7", behind({"FD00:0:0::7"})).is_forwarded);
}

TEST_CASE("of a list of addresses, the last that is not a proxy's own is the client's", "[site]") {
  const HostRules rules = behind({"127.0.0.1", "10.0.0.7"});
  const auto client = [&](const std::string& list) {
    HttpRequest request = forwarded(list);
    return source_of(request, "127.0.0.1", rules).address;
  };
  CHECK(client("192.0.2.1") == "192.0.2.1");
  CHECK(client("198.51.100.9, 192.0.2.1") == "192.0.2.1");  // the client made the first one up
  CHECK(client("127.0.0.1, 192.0.2.1,10.0.0.7") == "192.0.2.1");
  CHECK(client("2001:db8::1") == "2001:db8::1");
  CHECK(client("192.0.2.1, nonsense") == "behind 127.0.0.1");
  CHECK(client("127.0.0.1, \"><script>") == "behind 127.0.0.1");
  CHECK(client("") == "behind 127.0.0.1");
}

TEST_CASE("a request through a proxy is not one of this machine, whatever its fields say", "[site]") {
  const HostRules rules = behind({"127.0.0.1"});
  for (const char* list : {"", "127.0.0.1", "nonsense"}) {
    HttpRequest request = forwarded(list);
    CHECK_FALSE((source_of(request, "127.0.0.1", rules).is_local() && list[0] != '1'));
  }
  HttpRequest bare;
  bare.hosts = {"localhost:7717"};
  CHECK_FALSE(source_of(bare, "127.0.0.1", rules).is_local());
}

TEST_CASE("the last word on scheme and host is the nearest proxy's", "[site]") {
  const HostRules rules = behind({"10.0.0.7"});
  HttpRequest request = forwarded("192.0.2.1", "https, http", "evil.example, studio.example");
  const RequestSource source = source_of(request, "10.0.0.7", rules);
  CHECK_FALSE(source.is_secure);
  CHECK(request.hosts == std::vector<std::string>{"studio.example"});
}

TEST_CASE("with TLS, addresses and names of the certificate are ours, with our port", "[site]") {
  HostRules rules(7717);
  rules.is_secure = true;
  rules.is_certified = [](const std::string& name) { return name == "studio.example"; };
  for (const char* ours :
       {"localhost:7717", "10.0.0.7:7717", "[2001:db8::1]:7717", "[::1]:7717", "studio.example:7717"})
    CHECK(rules.is_own(ours));
  for (const char* other :
       {"", ":7717", "studio.example", "studio.example:443", "studio.example:07717", "evil.example:7717",
        "studio.example:7717:7717", "[studio.example]:7717x", "2001:db8::1", "user@studio.example:7717"})
    CHECK_FALSE(rules.is_own(other));
  rules.port = 443;
  CHECK(rules.is_own("studio.example"));
}

}  // namespace host_rules_test
