// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/acquisitions.hpp"
#include "fleet/client.hpp"
#include "fleet/row.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure::fleet
{

/** Measures one case, and judges it by the rules that all cases share (RELIABILITY: F1, F2, F4). */
class Measure
{
public:
    explicit Measure(Client& client);

    /** Adds acquisitions and their errors to the row. */
    void add(Endings const& endings);
    /** Notes a broken rule. */
    void broken(std::string rule) { row_.breaches.push_back(std::move(rule)); }
    /** Adds to what is printed below a broken rule. */
    void explain(std::string const& text) { row_.evidence.push_back(text); }
    void note(std::string text) { row_.note += (row_.note.empty() ? "" : ", ") + std::move(text); }
    /** All of these must have been granted. */
    void check_all_granted(Endings const& endings, std::size_t asked);
    /** More demand must not make the store slower: at least half as many grants as a control run at this rate makes
     * before the waits end. All others end by then, with `timed_out` or `store_unavailable`. */
    void check_capacity(Endings const& endings, std::size_t asked, double control_rate);
    /** The row, with the figures of the store since the constructor. @param leases  that the case held */
    [[nodiscard]] Row finish(std::size_t leases);

private:
    Client& client_;
    Instant began_ = Clock::now();
    std::chrono::nanoseconds cpu_began_;
    Row row_;
};

/** "12 of 34 leases". */
[[nodiscard]] std::string part_of(std::uint64_t part, std::uint64_t whole, std::string const& things);
/** Seconds with one decimal. */
[[nodiscard]] std::string in_seconds(std::chrono::nanoseconds time);
/** Grants a second, as a whole number. */
[[nodiscard]] std::string per_second(double rate);

} // namespace tenure::fleet
