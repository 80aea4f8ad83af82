// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReadWriteLock: two locks on shares of one key.
#include <tenure/read_write_lock.hpp>

#include "engine/lease_target.hpp"

#include <utility>

namespace tenure
{

namespace
{

constexpr Share reader{.weight = 1, .capacity = Share::all};
constexpr Share writer{.weight = Share::all, .capacity = Share::all};

std::shared_ptr<engine::LeaseTarget>
side(std::shared_ptr<engine::Handle> store, ReadWriteLockConfig const& config, KeyRangePtr range, Share const& share)
{
    return std::make_shared<engine::LeaseTarget>(
        std::move(store), std::move(range), "ReadWriteLockConfig", config.ttl, config.lease, config.note,
        std::chrono::milliseconds{0}, share);
}

KeyRangePtr checked(std::string const& key)
{
    check_key("ReadWriteLockConfig::key", key);
    return shared_key(key);
}

} // namespace

ReadWriteLock::ReadWriteLock(Store store, ReadWriteLockConfig config)
    : ReadWriteLock(store, config, checked(config.key))
{
}

ReadWriteLock::ReadWriteLock(Store const& store, ReadWriteLockConfig const& config, KeyRangePtr const& range)
    : read_(side(store.handle_, config, range, reader))
    , write_(side(store.handle_, config, range, writer))
{
}

} // namespace tenure
