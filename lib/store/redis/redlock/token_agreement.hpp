// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <store/redis/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::redlock
{

/** Finds a fencing token that a majority accepts, among the nodes that granted: pure state. Two majorities share a
 *  node, so a later holder's token is greater. */
class TokenAgreement
{
public:
    /** State after an answer. */
    enum class State {
        /// more answers are needed
        open,
        accepted,
        /// a node knows a greater token: propose again
        too_low,
        /// too many nodes have lost the claim or are silent, so no majority can accept
        failed
    };

    explicit TokenAgreement(Quorum const& quorum);

    /** A token greater than all tokens of the grants. */
    [[nodiscard]] static std::uint64_t first_token(Votes<ClaimReply> const& grants);

    /** Begins a round with all nodes that have granted by now.
     *  @returns its number */
    std::uint64_t propose(std::uint64_t token, Votes<ClaimReply> const& grants);

    [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
    [[nodiscard]] bool is_asked(std::size_t node) const { return asked_[node]; }

    /** Adds an answer; answers of earlier rounds change nothing. */
    [[nodiscard]] State cast(std::size_t node, std::uint64_t round, redis::TokenReply reply);

    /** The next token to propose after `too_low`. */
    [[nodiscard]] std::uint64_t next_token() const;

    /** State of the node's grant, as text for people. */
    [[nodiscard]] char const* words(std::size_t node) const;

private:
    std::size_t majority_;
    std::uint64_t round_ = 0;
    std::uint64_t token_ = 0;
    /// nodes of this round
    std::vector<bool> asked_;
    Votes<redis::TokenReply> answers_;
};

} // namespace tenure::redlock
