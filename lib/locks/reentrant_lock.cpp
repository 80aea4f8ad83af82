// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/reentrant_lock.hpp>

#include "held_key.hpp"

#include <utility>

namespace tenure
{

ReentrantLock::ReentrantLock(Store store, LockConfig config)
    : lock_(std::move(store), std::move(config))
{
}

void ReentrantLock::start(
    Lock const& lock, Holder const& holder, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, Hold)> handler)
{
    locks::HeldKey::acquire(holder.state_, lock, options, is_try, std::move(handler));
}

} // namespace tenure
