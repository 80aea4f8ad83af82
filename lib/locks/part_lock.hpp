// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lock.hpp>
#include <tenure/store.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace tenure::locks
{

/** One of the locks of a composed lock: errors use the names of the composed lock's config. */
class PartLock : public Lock
{
public:
    /** @throws std::invalid_argument */
    PartLock(Store store, LockConfig config, std::string where, std::string_view key)
        : Lock(std::move(store), std::move(config), std::move(where), key)
    {
    }
};

} // namespace tenure::locks
