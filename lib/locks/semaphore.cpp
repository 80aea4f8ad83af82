// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Semaphore: a lock on shares of a key that count permits.
#include <tenure/semaphore.hpp>

#include "engine/lease_target.hpp"

#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

constexpr std::uint32_t most_permits = 1'000'000;

std::shared_ptr<engine::LeaseTarget> target_of(std::shared_ptr<engine::Handle> store, SemaphoreConfig config)
{
    check_key("SemaphoreConfig::key", config.key);
    if (config.permits == 0 || config.permits > most_permits)
        throw std::invalid_argument("SemaphoreConfig::permits is " + std::to_string(config.permits) + ": 1 to 1000000");
    auto target = std::make_shared<engine::LeaseTarget>(
        std::move(store), shared_key(std::move(config.key)), "SemaphoreConfig", config.ttl, config.lease, config.note,
        std::chrono::milliseconds{0}, Share{.weight = 1, .capacity = config.permits});
    target->set_permits(config.permits);
    return target;
}

} // namespace

Semaphore::Semaphore(Store store, SemaphoreConfig config)
    : AcquirableKeys(target_of(store.handle_, std::move(config)))
{
}

std::string const& Semaphore::key() const noexcept
{
    return state_for()->range()->prefix;
}

std::uint32_t Semaphore::permits() const noexcept
{
    return state_for()->permits();
}

} // namespace tenure
