// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lock: the public class over a LeaseTarget of one key.
#include <tenure/lock.hpp>

#include "engine/lease_target.hpp"

#include <utility>

namespace tenure
{

namespace
{

std::shared_ptr<engine::LeaseTarget> target_of(std::shared_ptr<engine::Handle> store, LockConfig config)
{
    check_key("LockConfig::key", config.key);
    return std::make_shared<engine::LeaseTarget>(
        std::move(store), named_key(std::move(config.key)), "LockConfig", config.ttl, config.lease, config.note);
}

} // namespace

Lock::Lock(Store store, LockConfig config)
    : Acquirable(target_of(store.handle_, std::move(config)))
{
}

std::string const& Lock::key() const noexcept
{
    return target().range()->prefix;
}

} // namespace tenure
