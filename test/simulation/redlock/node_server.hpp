// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "../random.hpp"

#include <store/redis/backend.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tenure::simulation
{

/** One of the simulated servers: keys with owners, fencing tokens, and a clock of its own that may be wrong. It does
 * what the scripts of the Redis store do. */
class NodeServer
{
public:
    /** @param clock_error  by how much its clock is ahead of the world's */
    explicit NodeServer(Clock::duration clock_error) noexcept
        : clock_error_(clock_error)
    {
    }

    // -- requests, at the moment at which they arrive --
    [[nodiscard]] ClaimReply claim(ClaimRequest const& request, Instant now, Instant since);
    /** A first claim takes what is free and tells the last token, or the clock; it writes no token. */
    [[nodiscard]] ClaimReply claim_vote(ClaimRequest const& request, Instant now, Instant since);
    [[nodiscard]] RenewReply renew(RenewRequest const& request, Instant now, Instant since);
    [[nodiscard]] ReleaseReply release(ReleaseRequest const& request, Instant now);
    [[nodiscard]] WithdrawReply withdraw(WithdrawRequest const& request, Instant now);
    [[nodiscard]] InspectReply inspect(KeyRange const& range, Instant now);
    [[nodiscard]] redis::TokenReply accept(redis::TokenRequest const& request, Instant now);

    // -- what happens to it --
    /** Restarts without its data. */
    void lose_everything();
    /** Its clock is set to be so far ahead of the world's. */
    void set_clock(Clock::duration error) noexcept { clock_error_ = error; }
    /** Its clock is set back: what it holds expires later than it should. */
    void set_clock_back(Clock::duration by) noexcept { clock_error_ -= by; }

private:
    struct Key {
        std::string owner;
        /// on the server's clock
        Instant expires;
    };

    [[nodiscard]] Instant local(Instant now) const noexcept { return now + clock_error_; }
    /** The owner, or null for a key that is free. */
    [[nodiscard]] std::string const* owner_of(std::string const& key, Instant now);
    [[nodiscard]] std::uint64_t next_token(std::string const& key, Instant now);

    Clock::duration clock_error_;
    std::map<std::string, Key> keys_;
    std::map<std::string, std::uint64_t> fences_;
};

} // namespace tenure::simulation
