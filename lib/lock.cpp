// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/lock.hpp>

#include "engine/start_acquisition.hpp"

#include <utility>

namespace tenure
{

Lock::Lock(Store store, LockConfig config)
{
    check_key("LockConfig::key", config.key);
    contest_ = std::make_shared<engine::Contest>(
        store.handle(), named_key(std::move(config.key)), "LockConfig", config.ttl, config.lease, config.note);
}

Lock::executor_type Lock::get_executor() const noexcept
{
    return executor_of(contest_);
}

asio::any_io_executor const& Lock::executor_of(ContestPtr const& contest) noexcept
{
    return contest->handle()->core()->runtime()->executor();
}

std::string const& Lock::key() const noexcept
{
    return contest_->range()->prefix;
}

void Lock::start_acquire(
    ContestPtr const& contest, AcquireOptions const& options, bool only_try, AcquireHandler handler)
{
    engine::start_acquisition<Lease>(contest, options, only_try, std::move(handler));
}

} // namespace tenure
