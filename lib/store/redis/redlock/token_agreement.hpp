// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <store/redis/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::redlock
{

/** Finds a fencing token that a majority of those that granted accepts: pure state. Any two majorities share a node, so
 * a later holder's token is greater. */
class TokenAgreement
{
public:
    /** What an answer has come to. */
    enum class State {
        /// more answers can decide it
        open,
        accepted,
        /// a node has seen a greater one: a new proposal is due
        too_low,
        /// too many nodes have lost the claim or are silent: no majority can accept
        failed
    };

    explicit TokenAgreement(Quorum const& quorum);

    /** Greater than all that came with the grants. */
    [[nodiscard]] static std::uint64_t first_token(Votes<ClaimReply> const& grants);

    /** Begins a round, with all nodes that have granted by now. @returns its number */
    std::uint64_t propose(std::uint64_t token, Votes<ClaimReply> const& grants);

    [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
    [[nodiscard]] bool is_asked(std::size_t node) const { return asked_[node]; }

    /** An answer; those of earlier rounds change nothing. */
    [[nodiscard]] State cast(std::size_t node, std::uint64_t round, redis::TokenReply reply);

    /** After `too_low`: what to propose next. */
    [[nodiscard]] std::uint64_t next_token() const;

    /** What became of the node's grant, for a person. */
    [[nodiscard]] char const* words(std::size_t node) const;

private:
    std::size_t majority_;
    std::uint64_t round_ = 0;
    std::uint64_t token_ = 0;
    /// nodes that this round asks
    std::vector<bool> asked_;
    Votes<redis::TokenReply> answers_;
};

} // namespace tenure::redlock
