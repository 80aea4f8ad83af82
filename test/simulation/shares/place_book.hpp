// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "locks/link.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tenure::simulation
{

/** The rule of shares, written once more: from the requests alone it knows all places, what each answer must be, and
 *  which places hold. */
class PlaceBook final : public Link::Witness
{
public:
    struct Place {
        std::string key;
        std::string owner;
        /// `StoreOptions::worker_name`
        std::string process;
        Share share;
        std::uint64_t number;
        Instant lapses;
        /// since it is known to hold; max: it waits
        Instant holds_since;
        [[nodiscard]] bool holds() const noexcept { return holds_since != Instant::max(); }
    };
    using Line = std::vector<Place>;

    explicit PlaceBook(testing::VirtualTime& time)
        : time_(time)
    {
    }

    void claimed(ClaimRequest const& request, ClaimReply const& reply) override;
    void renewed(RenewRequest const& request, RenewReply const& reply) override;
    void gave_back(KeyRange const& range, std::string const& owner) override;

    /** The places of the key that live now. */
    [[nodiscard]] Line const& line(std::string const& key);
    /** The living place of the owner; null: none. */
    [[nodiscard]] Place const* find(std::string const& key, std::string const& owner);

    /// a place has lapsed
    std::function<void(Place const&)> on_lapse;
    /// an owner is given back
    std::function<void(std::string const& owner)> on_give_back;
    /// a rule that does not hold
    std::function<void(char const* rule)> on_violation;

private:
    /** Drops what has lapsed, and adds up. */
    Line& settle(std::string const& key);
    void demand(bool holds, char const* rule) const;

    testing::VirtualTime& time_;
    std::map<std::string, Line> lines_;
    /// the greatest number of each key
    std::map<std::string, std::uint64_t> last_;
};

} // namespace tenure::simulation
