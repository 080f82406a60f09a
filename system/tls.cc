#include "system/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "system/open_file.h"

namespace muster {
namespace {

template <auto free>
struct Freed {
  void operator()(auto* object) const noexcept { free(object); }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Bytes = std::unique_ptr<BIO, Freed<BIO_free>>;
using Connection = std::unique_ptr<SSL, Freed<SSL_free>>;

std::unexpected<std::string> fault(std::string text) { return std::unexpected(std::move(text)); }

/// Returns the reason of OpenSSL's most recent error.
std::string last_reason() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason ? reason : "unknown error";
}

bool is_ip(const std::string& host) {
  unsigned char address[16];
  return ::inet_pton(AF_INET, host.c_str(), address) == 1 || ::inet_pton(AF_INET6, host.c_str(), address) == 1;
}

std::string digest_of(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509_digest(certificate, EVP_sha256(), digest, &size);
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) text.append({digits[digest[i] >> 4], digits[digest[i] & 15]});
  return text;
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

std::string day_of(const ASN1_TIME* time) {
  std::tm parts{};
  char text[32] = "an unknown day";
  if (ASN1_TIME_to_tm(time, &parts) == 1) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> names;
  auto* const all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    const auto* const text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    names.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(all);
  return names;
}

// --- a socket for OpenSSL, whose own one lets SIGPIPE end the process

struct Socket {
  int descriptor = -1;
  int first = -1;  // the first byte that the peer has sent
};

int socket_write(BIO* bio, const char* bytes, int size) {
  const auto* const socket = static_cast<const Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket->descriptor, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int socket_read(BIO* bio, char* room, int size) {
  auto* const socket = static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket->descriptor, room, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got > 0 && socket->first < 0) socket->first = static_cast<unsigned char>(room[0]);
  return static_cast<int>(got);
}

long socket_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_write(made, socket_write);
    BIO_meth_set_read(made, socket_read);
    BIO_meth_set_ctrl(made, socket_control);
    return made;
  }();
  return method;
}

/// Sets what both sides require: TLS 1.3, and nothing that it makes optional.
Context context_for(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method));
  if (!context) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_max_early_data(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // An idle connection keeps no buffer, and a whole record is read at once.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

class Identity final : public TlsIdentity {
 public:
  Identity(Context context, Certificate certificate)
      : context_(std::move(context)),
        certificate_(std::move(certificate)),
        fingerprint_(digest_of(certificate_.get())),
        names_(names_of(certificate_.get())) {}
  const std::string& fingerprint() const noexcept override { return fingerprint_; }
  const std::vector<std::string>& names() const noexcept override { return names_; }
  bool is_for(const std::string& host) const override {
    if (is_ip(host)) return X509_check_ip_asc(certificate_.get(), host.c_str(), 0) == 1;
    return X509_check_host(certificate_.get(), host.data(), host.size(), 0, nullptr) == 1;
  }
  std::int64_t expires_s() const noexcept override { return seconds_of(X509_get0_notAfter(certificate_.get())); }
  SSL_CTX* context() const noexcept { return context_.get(); }

 private:
  Context context_;
  Certificate certificate_;
  std::string fingerprint_;
  std::vector<std::string> names_;
};

/// Reads a file that may be a link, as those of certificates often are.
std::expected<std::string, std::string> text_of(const std::string& path, const char* what) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat found{};
  std::string text(1u << 20, '\0');
  const bool is_file = file >= 0 && ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  const ssize_t bytes = is_file ? ::read(file, text.data(), text.size()) : -1;
  const std::string why = file >= 0 && !is_file ? "not a regular file" : std::strerror(errno);
  if (file >= 0) ::close(file);
  if (bytes < 0) return fault(path + ": the " + what + " cannot be read: " + why);
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

Bytes reader_of(const std::string& text) { return Bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

/// Returns true if there are lists of revoked certificates among the trusted ones.
bool has_revocations(SSL_CTX* context) {
  const auto* const all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i)
    if (X509_OBJECT_get_type(sk_X509_OBJECT_value(all, i)) == X509_LU_CRL) return true;
  return false;
}

/// Refuses to ask on the terminal for the password of an encrypted key.
int no_password(char*, int, int, void*) { return -1; }

class Channel final : public TlsChannel {
 public:
  Channel(Connection connection, int descriptor, TlsTrust trust)
      : trust_(std::move(trust)), is_client_(!SSL_is_server(connection.get())), ssl_(std::move(connection)) {
    socket_.descriptor = descriptor;
    BIO* const bio = BIO_new(socket_method());
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (is_client_)
      SSL_set_connect_state(ssl_.get());
    else
      SSL_set_accept_state(ssl_.get());
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Result shake_hands() override {
    if (is_open_) return {State::done, 0};
    if (!why_.empty()) return {};
    ERR_clear_error();
    errno = 0;
    const int done = SSL_do_handshake(ssl_.get());
    if (done != 1) return state_of(done);
    if (is_client_) why_ = distrust();
    if (!why_.empty()) return {};
    is_open_ = true;
    return {State::done, 0};
  }
  bool has_shaken_hands() const noexcept override { return is_open_; }

  Result read(std::span<std::byte> room) override {
    if (const Result shaken = shake_hands(); shaken.state != State::done) return shaken;
    ERR_clear_error();
    errno = 0;
    std::size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), room.data(), room.size(), &bytes);
    return done == 1 ? Result{State::done, bytes} : state_of(done);
  }

  Result write(std::span<const std::byte> bytes) override {
    if (const Result shaken = shake_hands(); shaken.state != State::done) return shaken;
    ERR_clear_error();
    errno = 0;
    std::size_t written = 0;
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return done == 1 ? Result{State::done, written} : state_of(done);
  }

  void end() override {
    ERR_clear_error();
    if (is_open_ && why_.empty()) SSL_shutdown(ssl_.get());
  }
  const std::string& why() const noexcept override { return why_; }

 private:
  Result state_of(int returned) {
    const int system = errno;
    switch (SSL_get_error(ssl_.get(), returned)) {
      case SSL_ERROR_WANT_READ: return {State::wants_read, 0};
      case SSL_ERROR_WANT_WRITE: return {State::wants_write, 0};
      case SSL_ERROR_ZERO_RETURN: return {State::ended, 0};
      default: break;
    }
    why_ = reason(system);
    return {};
  }

  std::string reason(int system) const {
    // Records of TLS begin with a number from 20 to 23.
    if (socket_.first >= 0 && (socket_.first < 20 || socket_.first > 23))
      return is_client_ ? "the server does not use TLS" : "the client does not use TLS";
    const int code = ERR_GET_REASON(ERR_peek_last_error());
    if (code == SSL_R_UNEXPECTED_EOF_WHILE_READING || (ERR_peek_last_error() == 0 && system == 0))
      return is_open_ ? "the connection was cut" : "the connection was closed during the TLS handshake";
    if (ERR_peek_last_error() == 0) return std::strerror(system);
    if (code == SSL_R_UNSUPPORTED_PROTOCOL || code == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION)
      return std::string("the ") + (is_client_ ? "server" : "client") + " does not support TLS 1.3";
    return "TLS: " + last_reason();
  }

  /// Returns the reason why a client must not trust the server, or an empty string.
  std::string distrust() const {
    const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()));
    if (!certificate) return "the server has no certificate";
    const std::string found = digest_of(certificate.get());
    if (!trust_.fingerprint.empty())
      return found == trust_.fingerprint
                 ? std::string()
                 : "the server's certificate has the fingerprint " + found + ", not " + trust_.fingerprint;
    switch (const long verdict = SSL_get_verify_result(ssl_.get())) {
      case X509_V_OK: return {};
      case X509_V_ERR_CERT_HAS_EXPIRED:
        return "the server's certificate expired on " + day_of(X509_get0_notAfter(certificate.get()));
      case X509_V_ERR_CERT_NOT_YET_VALID:
        return "the server's certificate is not valid before " + day_of(X509_get0_notBefore(certificate.get()));
      case X509_V_ERR_CERT_REVOKED: return "the server's certificate was revoked by its issuer";
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH: {
        std::string names;
        for (const std::string& name : names_of(certificate.get())) names += (names.empty() ? "" : ", ") + name;
        return "the server's certificate is not for " + trust_.host + (names.empty() ? "" : " but for " + names);
      }
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "the issuer of the server's certificate is not trusted; the certificate has the fingerprint " + found;
      default: return std::string("the server's certificate is not valid: ") + X509_verify_cert_error_string(verdict);
    }
  }

  const TlsTrust trust_;
  const bool is_client_;
  Socket socket_;  // must outlive the connection
  Connection ssl_;
  bool is_open_ = false;
  std::string why_;
};

}  // namespace

bool is_built_with_tls() noexcept { return true; }

std::expected<std::shared_ptr<const TlsIdentity>, std::string> TlsIdentity::read(const std::string& certificate_file,
                                                                                 const std::string& key_file) {
  const auto chain = text_of(certificate_file, "certificate");
  if (!chain) return fault(chain.error());
  const auto key_text = text_of(key_file, "key");
  if (!key_text) return fault(key_text.error());
  Context context = context_for(TLS_server_method());
  if (!context) return fault("TLS cannot be used: " + last_reason());
  ERR_clear_error();
  const Bytes certificates = reader_of(*chain);
  Certificate first(PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr));
  if (!first) return fault(certificate_file + ": there is no certificate in PEM format in it");
  if (SSL_CTX_use_certificate(context.get(), first.get()) != 1)
    return fault(certificate_file + ": the certificate cannot be used: " + last_reason());
  while (Certificate issuer{PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr)})
    if (SSL_CTX_add1_chain_cert(context.get(), issuer.get()) != 1)
      return fault(certificate_file + ": the certificate of an issuer cannot be used: " + last_reason());
  ERR_clear_error();
  const Key key(PEM_read_bio_PrivateKey(reader_of(*key_text).get(), nullptr, no_password, nullptr));
  if (!key)
    return fault(key_file + (key_text->find("ENCRYPTED") != std::string::npos
                                 ? ": the key is encrypted, and a server cannot ask for its password"
                                 : ": there is no private key in PEM format in it"));
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 || SSL_CTX_check_private_key(context.get()) != 1)
    return fault(key_file + ": the key does not belong to the certificate in " + certificate_file);
  return std::make_shared<const Identity>(std::move(context), std::move(first));
}

std::expected<void, std::string> make_self_signed(const std::string& path, const std::vector<std::string>& hosts) {
  struct stat there{};
  const auto failed = [&](const std::string& why) { return fault(path + ": a certificate cannot be made: " + why); };
  if (::lstat(path.c_str(), &there) == 0) {
    if (S_ISREG(there.st_mode)) return {};
    return failed("there is a file of this name that is not a regular file");
  }
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  unsigned char serial[16];
  if (!key || !made || RAND_bytes(serial, sizeof serial) != 1) return failed(last_reason());
  serial[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made.get()));
  X509_set_version(made.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -86400);
  X509_time_adj_ex(X509_getm_notAfter(made.get()), 3650, 0, nullptr);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>("muster-server"), -1, -1,
                             0);
  X509_set_issuer_name(made.get(), name);
  std::string alternatives;
  for (const std::string& host : hosts)
    alternatives += (alternatives.empty() ? "" : ",") + std::string(is_ip(host) ? "IP:" : "DNS:") + host;
  X509V3_CTX context{};
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, made.get(), made.get(), nullptr, nullptr, 0);
  for (const auto& [id, value] : {std::pair<int, const char*>{NID_subject_alt_name, alternatives.c_str()},
                                  {NID_basic_constraints, "critical,CA:FALSE"},
                                  {NID_key_usage, "critical,digitalSignature"},
                                  {NID_ext_key_usage, "serverAuth"}}) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
    if (!extension) return failed(last_reason());
    X509_add_ext(made.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(made.get(), key.get(), EVP_sha256()) == 0) return failed(last_reason());
  const Bytes text(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(text.get(), made.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  // Other processes see either no file or the whole file.
  const std::string beside = path + "-new";
  ::unlink(beside.c_str());
  const int file = open_file(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  errno = file < 0 ? errno : ENOSPC;
  const bool good = file >= 0 && ::write(file, bytes, static_cast<std::size_t>(size)) == size && ::fsync(file) == 0 &&
                    ::link(beside.c_str(), path.c_str()) == 0;
  const int why = errno;
  OPENSSL_cleanse(bytes, static_cast<std::size_t>(size));
  if (file >= 0) ::close(file);
  ::unlink(beside.c_str());
  if (!good && why != EEXIST) return failed(std::strerror(why));
  return {};
}

std::expected<std::unique_ptr<TlsChannel>, std::string> TlsChannel::accept(std::shared_ptr<const TlsIdentity> identity,
                                                                           int descriptor) {
  Connection made(SSL_new(static_cast<const Identity&>(*identity).context()));
  if (!made) return fault("TLS cannot be used: " + last_reason());
  SSL_set_accept_state(made.get());
  return std::make_unique<Channel>(std::move(made), descriptor, TlsTrust{});
}

std::expected<std::unique_ptr<TlsChannel>, std::string> TlsChannel::connect(const TlsTrust& trust, int descriptor) {
  const Context context = context_for(TLS_client_method());
  if (!context) return fault("TLS cannot be used: " + last_reason());
  ERR_clear_error();
  errno = 0;
  if (trust.fingerprint.empty()) {
    const int good = trust.ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                           : SSL_CTX_load_verify_file(context.get(), trust.ca_file.c_str());
    if (good != 1)
      return fault("the trusted issuers cannot be read from " +
                   (trust.ca_file.empty() ? "the system's files" : trust.ca_file) + ": " +
                   (errno == 0 ? last_reason() : std::strerror(errno)));
  }
  // The certificate is checked after the handshake, so that its fingerprint and dates can be named.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  Connection made(SSL_new(context.get()));
  if (!made) return fault("TLS cannot be used: " + last_reason());
  SSL_set_connect_state(made.get());
  if (has_revocations(context.get())) X509_VERIFY_PARAM_set_flags(SSL_get0_param(made.get()), X509_V_FLAG_CRL_CHECK);
  if (is_ip(trust.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(made.get()), trust.host.c_str());
  } else {
    SSL_set_hostflags(made.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(made.get(), trust.host.c_str());
    SSL_set_tlsext_host_name(made.get(), trust.host.c_str());
  }
  return std::make_unique<Channel>(std::move(made), descriptor, trust);
}

}  // namespace muster
