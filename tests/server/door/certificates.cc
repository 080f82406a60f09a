#include "tests/server/door/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <stdexcept>

namespace muster::testing {
namespace {

void need(bool good) {
  if (!good) throw std::runtime_error("a certificate for a test cannot be made");
}

std::string content_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void add_extension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  need(made && X509_add_ext(certificate, made, -1) == 1);
  X509_EXTENSION_free(made);
}

}  // namespace

struct Certified::Impl {
  EVP_PKEY* key = nullptr;
  X509* certificate = X509_new();
  std::string issuers;
  bool is_issued = false;
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    EVP_PKEY_free(key);
    X509_free(certificate);
  }
};

Certified::Certified(const Options& options) : impl_(std::make_shared<Impl>()) {
  static long serial = 1000;
  X509* const made = impl_->certificate;
  impl_->key = options.has_rsa_key ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
  need(made && impl_->key);
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
  X509_time_adj_ex(X509_getm_notBefore(made), options.from_days, 0, nullptr);
  X509_time_adj_ex(X509_getm_notAfter(made), options.to_days, 0, nullptr);
  X509_set_pubkey(made, impl_->key);
  const std::string own_name = (options.is_issuer ? "issuer " : "server ") + std::to_string(serial);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(own_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made, X509_get_subject_name(options.issuer ? options.issuer->impl_->certificate : made));
  std::string hosts;
  for (const std::string& name : options.names) hosts += (hosts.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : options.addresses) hosts += (hosts.empty() ? "IP:" : ",IP:") + address;
  if (!hosts.empty() && !options.is_issuer) add_extension(made, NID_subject_alt_name, hosts);
  add_extension(made, NID_basic_constraints, options.is_issuer ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (options.issuer && options.issuer->impl_->is_issued) impl_->issuers = options.issuer->certificate();
  impl_->is_issued = options.issuer != nullptr;
  need(X509_sign(made, options.issuer ? options.issuer->impl_->key : impl_->key, EVP_sha256()) != 0);
}

std::string Certified::certificate() const {
  BIO* const text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, impl_->certificate);
  return content_of(text) + impl_->issuers;
}

std::string Certified::revocation_of(const Certified& revoked) const {
  X509_CRL* const list = X509_CRL_new();
  X509_CRL_set_version(list, 1);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(impl_->certificate));
  ASN1_TIME* const time = X509_gmtime_adj(nullptr, -3600);
  X509_CRL_set1_lastUpdate(list, time);
  X509_REVOKED* const one = X509_REVOKED_new();
  X509_REVOKED_set_serialNumber(one, X509_get_serialNumber(revoked.impl_->certificate));
  X509_REVOKED_set_revocationDate(one, time);
  X509_CRL_add0_revoked(list, one);
  X509_gmtime_adj(time, 86'400);
  X509_CRL_set1_nextUpdate(list, time);
  need(X509_CRL_sign(list, impl_->key, EVP_sha256()) != 0);
  BIO* const text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509_CRL(text, list);
  ASN1_TIME_free(time);
  X509_CRL_free(list);
  return content_of(text);
}

std::string Certified::key(const std::string& password) const {
  BIO* const text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(text, impl_->key, password.empty() ? nullptr : EVP_aes_128_cbc(),
                           password.empty() ? nullptr : reinterpret_cast<const unsigned char*>(password.data()),
                           static_cast<int>(password.size()), nullptr, nullptr);
  return content_of(text);
}

std::string Certified::fingerprint() const {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509_digest(impl_->certificate, EVP_sha256(), digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", digest[i]);
    text += two;
  }
  return text;
}

}  // namespace muster::testing
