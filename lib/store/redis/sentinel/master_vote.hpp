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

/** Decides who the master is from the reports of several sentinels. Pure: answers and the time in, a verdict out.
 *
 *  A sentinel that was cut off together with the old master still names it, so the first answer is not taken: of all
 * that came the one with the greatest config epoch counts, once more than half of the sentinels have answered, or no
 * further answer can come, or a grace after the first is over. An epoch that is older than what was known before needs
 * more than half of them in any case.
 */
class MasterVote
{
public:
    struct Found {
        ServerAddress address;
        std::uint64_t config_epoch = 0;
        /// how many sentinels answered, of how many that there are
        std::size_t answered = 0;
        std::size_t sentinels = 0;
    };
    /** Undecided; the master; or why no master was found. */
    using Verdict = std::variant<std::monostate, Found, StreamError>;

    struct Rules {
        std::string master_name;
        /// how many sentinels the user named
        std::size_t configured = 0;
        /// the greatest epoch that was heard of before
        std::uint64_t known_epoch = 0;
        /// when the search ends in any case
        Instant limit;
        Instant::duration grace{};
    };
    explicit MasterVote(Rules rules);

    /** One more sentinel is asked; the number stands for it from now on. */
    std::size_t ask(ServerAddress sentinel);

    // -- what becomes of it; the first thing counts --
    void reported(std::size_t sentinel, MasterReport report, Instant now);
    void knows_no_such(std::size_t sentinel, Instant now);
    void failed(std::size_t sentinel, StreamError error);

    [[nodiscard]] Verdict verdict(Instant now) const;

    /** When there is a verdict even if nothing more comes. */
    [[nodiscard]] Instant decides_at() const noexcept;

    /** True if the sentinels that were asked can no longer be a majority: others have to be asked. */
    [[nodiscard]] bool needs_more() const noexcept;

    /** True if this sentinel is among the first `count` that were asked, under this address or another one. */
    [[nodiscard]] bool
    knows(SentinelEntry const& sentinel, std::size_t count = std::numeric_limits<std::size_t>::max()) const noexcept;

    [[nodiscard]] std::vector<ServerAddress> answered() const;
    /** Those that failed, or did not answer although they were given time to. */
    [[nodiscard]] std::vector<ServerAddress> silent(Instant now) const;

private:
    /// twice: another address of one that reported before
    enum class State { asked, reported, unknown_name, twice, failed };
    struct Asked {
        ServerAddress address;
        State state = State::asked;
        MasterReport report;
        StreamError error;
    };

    /** What is said of one address in one epoch. */
    struct Votes {
        std::size_t all = 0;
        std::size_t down = 0;
        bool is_objective = false;
    };

    [[nodiscard]] std::size_t count(State state) const noexcept;
    /// more than half of them have answered
    [[nodiscard]] bool has_most() const noexcept;
    /// how many sentinels there are, as far as is known
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
