#include "system/token_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace muster {
namespace {

TokenProof keyed_hash(const TokenHash& key, std::string_view text) noexcept {
  TokenProof made{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), made.data(), &size);
  return made;
}

}  // namespace

TokenHash hash_of_token(std::string_view token) noexcept {
  TokenHash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

TokenId id_of_token(const TokenHash& hash) noexcept {
  TokenId id{};
  std::ranges::copy_n(keyed_hash(hash, "muster token id").begin(), id.size(), id.begin());
  return id;
}

ProofNonce draw_nonce() {
  ProofNonce nonce{};
  if (RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1) throw std::runtime_error("no random numbers");
  return nonce;
}

TokenProof proof_of(Prover prover, const TokenHash& hash, std::span<const std::uint8_t> client_nonce,
                    std::span<const std::uint8_t> server_nonce) {
  std::string text = prover == Prover::client ? "muster client proof" : "muster server proof";
  text.append(client_nonce.begin(), client_nonce.end());
  text.append(server_nonce.begin(), server_nonce.end());
  return keyed_hash(hash, text);
}

bool equal_in_constant_time(std::span<const std::uint8_t> one, std::span<const std::uint8_t> other) noexcept {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace muster
