// Proofs that a client and a server know the same token, without sending it. docs/protocol.md gives
// the formulas for clients in other languages. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace muster {

/// SHA-256 of a token. Servers store it instead of the token.
using TokenHash = std::array<unsigned char, 32>;
using TokenId = std::array<std::uint8_t, 16>;
using ProofNonce = std::array<std::uint8_t, 32>;
using TokenProof = std::array<std::uint8_t, 32>;

TokenHash hash_of_token(std::string_view token) noexcept;
/// Returns the number by which a server finds the token. The token cannot be computed from it.
TokenId id_of_token(const TokenHash& hash) noexcept;
/// Returns random bytes that must be used for one proof only.
ProofNonce draw_nonce();

enum class Prover : std::uint8_t { client, server };
/// Returns the proof of one side. The proof of one side is useless for the other side and for any
/// other nonces.
TokenProof proof_of(Prover prover, const TokenHash& hash, std::span<const std::uint8_t> client_nonce,
                    std::span<const std::uint8_t> server_nonce);
/// Compares two proofs or hashes. Takes equally long for all values of the same size.
bool equal_in_constant_time(std::span<const std::uint8_t> one, std::span<const std::uint8_t> other) noexcept;

}  // namespace muster
