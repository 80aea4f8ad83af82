// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "sentinel_reply.hpp"
#include "store/redis/link/stream.hpp"

#include <tenure/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenure::redis
{

/** Decides which server is the master from the reports of several sentinels. Pure: takes answers and the time, returns
 *  a verdict.
 *
 *  A sentinel that was cut off together with the old master still names it, so the first answer does not decide. The
 *  report with the greatest config epoch counts, once more than half of the sentinels have answered, no further answer
 *  can come, or a grace after the first answer is over. An epoch older than the known one always needs more than half.
 */
class MasterVote
{
public:
    struct Found {
        ServerAddress address;
        std::uint64_t config_epoch = 0;
        /// number of sentinels that answered, and the known total
        std::size_t answered = 0;
        std::size_t sentinels = 0;
    };
    /** Undecided; the master; or why no master was found. */
    using Verdict = std::variant<std::monostate, Found, StreamError>;

    struct Rules {
        std::string master_name;
        /// number of sentinels in the config
        std::size_t configured = 0;
        /// the greatest known epoch
        std::uint64_t known_epoch = 0;
        /// when the vote ends in any case
        Instant limit;
        Instant::duration grace{};
    };
    explicit MasterVote(Rules rules);

    /** Adds a sentinel to the vote.
     *  @returns its number */
    std::size_t ask(ServerAddress sentinel);

    // -- outcome of a sentinel; the first one counts --
    void reported(std::size_t sentinel, MasterReport report, Instant now);
    void knows_no_such(std::size_t sentinel, Instant now);
    void failed(std::size_t sentinel, StreamError error);

    [[nodiscard]] Verdict verdict(Instant now) const;

    /** When there is a verdict without further answers. */
    [[nodiscard]] Instant decides_at() const noexcept;

    /** True if the asked sentinels can no longer form a majority, so that others must be asked. */
    [[nodiscard]] bool needs_more() const noexcept;

    /** True if this sentinel is among the first `count`, at this or another address. */
    [[nodiscard]] bool
    knows(SentinelEntry const& sentinel, std::size_t count = std::numeric_limits<std::size_t>::max()) const noexcept;

    [[nodiscard]] std::vector<ServerAddress> answered() const;
    /** Sentinels that failed, or did not answer in time. */
    [[nodiscard]] std::vector<ServerAddress> silent(Instant now) const;

private:
    /// twice: another address of a sentinel that has reported
    enum class State { asked, reported, unknown_name, twice, failed };
    struct Asked {
        ServerAddress address;
        State state = State::asked;
        MasterReport report;
        StreamError error;
    };

    /** Votes for one address in one epoch. */
    struct Votes {
        std::size_t all = 0;
        std::size_t down = 0;
        bool is_objective = false;
    };

    [[nodiscard]] std::size_t count(State state) const noexcept;
    /// more than half of them have answered
    [[nodiscard]] bool has_most() const noexcept;
    /// the number of sentinels, as far as known
    [[nodiscard]] std::size_t sentinels() const noexcept;
    [[nodiscard]] Votes votes_for(MasterReport const& candidate) const noexcept;
    [[nodiscard]] Verdict judge() const;
    [[nodiscard]] StreamError nobody_reported() const;
    [[nodiscard]] StreamError nobody_answered() const;

    Rules rules_;
    std::optional<Instant> first_answer_;
    std::vector<Asked> asked_;
};

} // namespace tenure::redis
