// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "observation.hpp"

#include <tenure/inspection.hpp>
#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenure::faults
{

/** Inspects the places of all keys, many times a second, and compares them with the rule of places and with the leases
 * that holders believe in (the auditor). The names of stores are the ids of their processes. */
class ShareWatcher : public Observation
{
public:
    struct Figures : Looks {
        /// most places of one key
        std::size_t most_places = 0;
    };

    ShareWatcher(Arena const& arena, test::Auditor const& auditor, StoreUnderAttack& store, Ledger& ledger);
    ~ShareWatcher();

    /** Ends the thread; what it has seen. */
    [[nodiscard]] Figures stop();

private:
    /** A place from the look that showed it first. */
    struct Known {
        pid_t process = 0;
        /// it was followed since then, with this number of places ahead
        std::int64_t since = 0;
        std::size_t ahead = 0;
        /// when it began to hold without a lease, and when it began to fit without holding; 0: it does not
        std::int64_t holds_unused = 0;
        std::int64_t fits_unheld = 0;
    };
    struct Memory {
        /// by number
        std::map<std::uint64_t, Known> places;
        /// all greater numbers are of newer places
        std::uint64_t greatest = 0;
        /// the rules that were reported since the key was last in order
        std::map<std::string, bool> complained;
    };
    /** One look at one key. */
    struct Look {
        std::uint32_t cell;
        std::int64_t asked;
        std::int64_t answered;
        /// sorted by number
        std::vector<Place> const& places;
        /// the live leases of all keys before and after it
        std::vector<test::Holding> const& before;
        std::vector<test::Holding> const& after;
    };

    boost::asio::awaitable<void> watch();
    boost::asio::awaitable<bool> look(std::uint32_t cell);
    void judge(Look const& look);
    void judge_order(Look const& look);
    void judge_numbers(Look const& look);
    void judge_leases(Look const& look);
    void judge_progress(Look const& look);
    [[nodiscard]] std::vector<test::Holding> live_leases(std::int64_t now) const;
    void expect(bool holds, Look const& look, std::string const& rule, std::string const& text);

    // of the thread, until it has ended
    boost::asio::io_context context_{1};
    Store inspected_;
    std::vector<Memory> memory_;
    Figures figures_;
};

} // namespace tenure::faults
