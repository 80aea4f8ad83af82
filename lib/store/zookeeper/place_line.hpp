// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: sequential nodes, and which of them hold.
#pragma once

#include "znodes.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::zookeeper
{

/** The places of a key in the order of their digits. Refers to the names it is made of. */
class PlaceLine
{
public:
    /** @param children  names of the key's children */
    explicit PlaceLine(std::vector<std::string> const& children);

    /** Other nodes, or places whose order other programs do not see as this one's. */
    [[nodiscard]] bool mixed(bool reads_or_writes) const;
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
    [[nodiscard]] std::string_view name(std::size_t at) const { return places_[at].name; }
    [[nodiscard]] backend::Share share(std::size_t at) const { return places_[at].place.share; }
    /** The index of the place with this name; `size()` if it is not among them. */
    [[nodiscard]] std::size_t find(std::string_view name) const;
    [[nodiscard]] bool holds(std::size_t at) const;
    [[nodiscard]] bool fits_behind(backend::Share const& next) const;
    /** The place whose end is waited for; empty: any of them. */
    [[nodiscard]] std::string_view blocker(std::size_t at) const;

private:
    struct Entry {
        PlaceName place;
        std::string_view name;
    };
    std::vector<Entry> places_;
    bool others_ = false;
};

} // namespace tenure::zookeeper
