// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "context_guard.hpp"

#include "core.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

namespace asio = boost::asio;

class ContextGuard final : public asio::execution_context::service
{
public:
    using key_type = ContextGuard;
    static asio::execution_context::id id;

    explicit ContextGuard(asio::execution_context& context)
        : service(context)
    {
    }

    void add(std::weak_ptr<Core> core)
    {
        std::lock_guard const lock(mutex_);
        std::erase_if(cores_, [](auto const& old) { return old.expired(); });
        cores_.push_back(std::move(core));
    }

private:
    void shutdown() override
    {
        for (;;) {
            std::unique_lock lock(mutex_);
            auto const cores = std::exchange(cores_, {});
            lock.unlock();
            if (cores.empty())
                return;
            for (auto const& core : cores)
                if (auto const alive = core.lock())
                    alive->abandon();
        }
    }

    std::mutex mutex_;
    std::vector<std::weak_ptr<Core>> cores_;
};

asio::execution_context::id ContextGuard::id;

} // namespace

void abandon_with(asio::execution_context& context, std::weak_ptr<Core> core)
{
    asio::use_service<ContextGuard>(context).add(std::move(core));
}

} // namespace tenure::engine
