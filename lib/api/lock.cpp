// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lock: the public class over a LeaseTarget of one key.
#include <tenure/lock.hpp>

#include "engine/lease_target.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

std::shared_ptr<engine::LeaseTarget>
target_of(std::shared_ptr<engine::Handle> store, LockConfig config, std::string where, std::string_view key)
{
    check_key(where + "::" + std::string(key), config.key);
    if (config.fair && config.reuse_after != std::chrono::milliseconds{0})
        throw std::invalid_argument(
            where + "::reuse_after is " + std::to_string(config.reuse_after.count()) +
            " ms: a fair lock has none; leave it out, or set fair to false");
    auto range = config.fair ? shared_key(std::move(config.key)) : named_key(std::move(config.key));
    auto const share = config.fair ? std::optional(Share()) : std::nullopt;
    return std::make_shared<engine::LeaseTarget>(
        std::move(store), std::move(range), std::move(where), config.ttl, config.lease, config.note, config.reuse_after,
        share);
}

} // namespace

Lock::Lock(Store store, LockConfig config)
    : Lock(std::move(store), std::move(config), "LockConfig", "key")
{
}

Lock::Lock(Store store, LockConfig config, std::string where, std::string_view key)
    : AcquirableKeys(target_of(store.handle_, std::move(config), std::move(where), key))
{
}

std::string const& Lock::key() const noexcept
{
    return state_for()->range()->prefix;
}

} // namespace tenure
