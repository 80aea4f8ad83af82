// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requirements on every store that depends on a majority, under partitions.
#include "system/support/consensus_partitions.hpp"

#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "system/support/partition_load.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;
using Link = MemberNetworks::Link;

enum class Fault {
    leader_killed,
    leader_stopped,
    /// and its clients reach it: it still acts as leader for a while, without followers
    leader_without_peers,
    leader_without_clients,
    leader_alone,
    /// no member hears another, and clients reach them all
    no_majority
};
constexpr std::size_t faults = 6;
constexpr std::array<char const*, faults> names{
    "leader killed",           "leader stopped", "leader cut off from its peers", "leader cut off from clients",
    "leader cut off from all", "no majority"};

/// how late a token may be, and the delay that two cores full of servers may add
constexpr std::chrono::nanoseconds latest_firing = 20ms + 200ms;
/// time for answers to requests that were written before the members were cut off from each other
constexpr std::chrono::nanoseconds last_answers = 500ms;
/// an election, a new connection and the renewals, on a machine that does other things too
constexpr auto patience = 60s;

/** One fault, undone when this goes at the latest. */
class Strike : Immovable
{
public:
    Strike(ClusterNodes& members, Fault fault, std::size_t leader)
        : members_(members)
        , fault_(fault)
        , leader_(leader)
    {
        began_ = boottime_ns();
        switch (fault_) {
        case Fault::leader_killed:
            members_.kill(leader_);
            break;
        case Fault::leader_stopped:
            members_.pause(leader_);
            break;
        default:
            for_each_link([&](std::size_t member, Link link) { members_.networks().cut(member, link); });
        }
    }
    ~Strike()
    {
        try {
            undo();
        } catch (std::exception const& error) {
            std::cerr << "what was done to a cluster cannot be undone: " << error.what() << "\n";
        }
    }

    void undo()
    {
        if (std::exchange(undone_, true))
            return;
        switch (fault_) {
        case Fault::leader_killed:
            members_.start(leader_);
            break;
        case Fault::leader_stopped:
            members_.resume(leader_);
            break;
        default:
            for_each_link([&](std::size_t member, Link link) { members_.networks().mend(member, link); });
        }
    }

    [[nodiscard]] std::int64_t began() const noexcept { return began_; }
    [[nodiscard]] bool lasts(std::chrono::nanoseconds time) const { return boottime_ns() > began_ + time.count(); }

private:
    template <class Action>
    void for_each_link(Action action) const
    {
        if (fault_ == Fault::leader_without_peers || fault_ == Fault::leader_alone || fault_ == Fault::no_majority)
            action(leader_, Link::peers);
        if (fault_ == Fault::leader_without_clients || fault_ == Fault::leader_alone)
            action(leader_, Link::clients);
        if (fault_ == Fault::no_majority)
            action((leader_ + 1) % 3, Link::peers);
    }

    ClusterNodes& members_;
    Fault fault_;
    std::size_t leader_;
    std::int64_t began_ = 0;
    bool undone_ = false;
};

/** The effects of each kind of fault. */
struct Seen {
    int times = 0;
    /// how often leases were held all through it
    int kept = 0;
    Observed leases;
    /// from its beginning until the others were seen to follow another
    std::chrono::nanoseconds longest_election{0};
    /// from the end of it until all leases were held again
    std::chrono::nanoseconds longest_recovery{0};
};

class Trial
{
public:
    Trial(ClusterNodes& members, std::chrono::milliseconds ttl)
        : members_(members)
        , ttl_(ttl)
        , load_(members.url(), ttl)
    {
    }

    /** @param lasting  for longer than the ttl, whatever the kind */
    void strike(Fault fault, bool lasting)
    {
        INFO(names[static_cast<std::size_t>(fault)]);
        std::optional<std::size_t> leader;
        REQUIRE(eventually(
            [&] { return all_well() && (leader = members_.leader({})) && members_.networks().settled(); }, patience,
            100ms));
        load_.take_observed();
        Strike strike{members_, fault, *leader};
        std::chrono::nanoseconds election{0};
        if (fault == Fault::no_majority) {
            lose_all(strike);
        } else {
            // otherwise the fault had no effect; and no lease can survive longer than the others are without a leader
            if (fault != Fault::leader_without_clients) {
                CHECK(eventually([&] { return another_leads(*leader); }, patience, 50ms));
                election = std::chrono::nanoseconds{boottime_ns() - strike.began()};
            }
            keep_all(strike, lasting ? std::chrono::nanoseconds{ttl_ + 2s} : 0ns);
        }
        auto const undone = boottime_ns();
        strike.undo();
        REQUIRE(eventually([&] { return all_well() && members_.leader({}); }, patience + 2 * ttl_, 50ms));
        note(fault, election, std::chrono::nanoseconds{boottime_ns() - undone});
    }

    /** At the end. */
    void judge()
    {
        auto const violations = load_.audit().violations();
        for (auto const& violation : violations)
            UNSCOPED_INFO(violation.describe());
        CHECK(violations.empty());
        CHECK(load_.audit().tokens_out_of_order() == 0);
        WARN(report(violations.size(), load_.audit().tokens_out_of_order()));
    }

private:
    /** So that what follows strikes leases which were renewed in time. */
    [[nodiscard]] bool all_well() const
    {
        return load_.all_valid_beyond(boottime_ns() + std::chrono::nanoseconds{ttl_ / 2}.count());
    }

    [[nodiscard]] bool another_leads(std::size_t than) const
    {
        auto const leader = members_.leader(than);
        return leader && *leader != than;
    }

    void keep_all(Strike const& strike, std::chrono::nanoseconds least)
    {
        // valid for longer than a whole ttl from the beginning: renewed since then, and not by the member that is cut
        // off
        auto const renewed = [&] {
            return load_.all_valid_beyond(strike.began() + std::chrono::nanoseconds{ttl_}.count());
        };
        auto const goes_on = [&] {
            auto const last = load_.observed().last_grant;
            return last > strike.began() + std::chrono::nanoseconds{1s}.count() && last > boottime_ns() - 1'000'000'000;
        };
        CHECK(eventually([&] { return strike.lasts(least) && renewed() && goes_on(); }, patience, 20ms));
    }

    void lose_all(Strike const& strike)
    {
        CHECK(eventually([&] { return strike.lasts(ttl_ + 2s); }, ttl_ + 10s));
        auto const seen = load_.observed();
        CHECK(seen.expired == held_keys);
        CHECK(seen.last_grant < strike.began() + last_answers.count());
    }

    void note(Fault fault, std::chrono::nanoseconds election, std::chrono::nanoseconds recovery)
    {
        auto const leases = load_.take_observed();
        INFO(
            "another was seen to lead after " << election / 1ms << " ms, and no lease was granted for "
                                              << leases.longest_without_grant / 1ms << " ms");
        auto& seen = seen_.at(static_cast<std::size_t>(fault));
        CHECK(leases.lost == 0);
        CHECK(leases.untold == 0);
        if (fault == Fault::no_majority) {
            CHECK(leases.latest_firing <= latest_firing);
            CHECK(leases.least_left > 0ns);
        } else {
            CHECK(leases.expired == 0);
            CHECK(leases.taken == 0);
        }
        ++seen.times;
        seen.kept += leases.lost + leases.expired + leases.taken == 0 ? 1 : 0;
        seen.leases.add(leases);
        seen.longest_election = std::max(seen.longest_election, election);
        seen.longest_recovery = std::max(seen.longest_recovery, recovery);
    }

    [[nodiscard]] std::string report(std::size_t violations, std::size_t out_of_order) const
    {
        auto const ms = [](std::chrono::nanoseconds time) {
            return time == Observed::never ? std::string("-") : std::to_string(time / 1ms);
        };
        std::ostringstream text;
        text << "ttl " << ttl_.count() << " ms, " << held_keys << " held leases; times in ms\n";
        Observed all;
        int times = 0;
        for (std::size_t i = 0; i < faults; ++i) {
            auto const& seen = seen_.at(i);
            all.add(seen.leases);
            times += seen.times;
            text << "  " << std::left << std::setw(30) << names.at(i) << std::right << std::setw(3) << seen.times
                 << " times, all kept " << std::setw(3) << seen.kept << "; another led after "
                 << ms(seen.longest_election) << "; lost " << seen.leases.lost << ", expired " << seen.leases.expired
                 << ", taken by others " << seen.leases.taken << "; grants " << seen.leases.grants
                 << ", longest without " << ms(seen.leases.longest_without_grant)
                 << "; least validity left at a renewal " << ms(seen.leases.least_margin) << ", at a firing "
                 << ms(seen.leases.least_left) << ", latest firing " << ms(seen.leases.latest_firing)
                 << "; all well again after " << ms(seen.longest_recovery) << "\n";
        }
        text << "  " << times << " faults, " << all.grants << " grants, " << violations << " violations, "
             << out_of_order << " tokens out of order";
        return text.str();
    }

    ClusterNodes& members_;
    std::chrono::milliseconds ttl_;
    PartitionLoad load_;
    std::array<Seen, faults> seen_;
};

/** Zero: each fault once. */
std::chrono::seconds time_wanted()
{
    char const* const minutes = std::getenv("TENURE_PARTITION_MINUTES");
    return std::chrono::seconds{minutes != nullptr ? static_cast<int>(std::atof(minutes) * 60) : 0};
}

} // namespace

void survive_partitions(ClusterNodes& members, std::chrono::milliseconds ttl)
{
    Trial trial{members, ttl};
    auto const end = boottime_ns() + std::chrono::nanoseconds{time_wanted()}.count();
    bool lasting = false;
    do {
        for (std::size_t fault = 0; fault < faults; ++fault) {
            // faults with a change of leader, after which a client may rely on the old leader for too long
            bool const always = static_cast<Fault>(fault) == Fault::leader_stopped ||
                                static_cast<Fault>(fault) == Fault::leader_without_peers;
            trial.strike(static_cast<Fault>(fault), always || lasting);
        }
        lasting = !lasting;
    } while (boottime_ns() < end);
    trial.judge();
}

} // namespace tenure::test
