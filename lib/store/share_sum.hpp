// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/share.hpp>

#include <algorithm>
#include <cstdint>

// For stores that compute themselves which places of a key hold.
namespace tenure
{

/// of a key, holders included
constexpr std::uint32_t most_places = 1024;

/** Adds up shares in the order of their places. */
class ShareSum
{
public:
    /** True if the next share holds. */
    bool add(backend::Share const& share) noexcept
    {
        weight_ += share.weight;
        capacity_ = std::min(capacity_, share.capacity);
        return weight_ <= capacity_;
    }

private:
    std::uint64_t weight_ = 0;
    std::uint32_t capacity_ = backend::Share::all;
};

} // namespace tenure
