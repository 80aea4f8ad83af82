// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Notification of the end of an execution context.
#include "context_guard.hpp"
#include "runtime/names.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace tenure
{

namespace
{

namespace asio = boost::asio;

/** Service of an execution context. Its shutdown notifies the users of the context. */
class ContextGuard final : public asio::execution_context::service
{
public:
    using key_type = ContextGuard;
    static asio::execution_context::id id;

    explicit ContextGuard(asio::execution_context& context)
        : service(context)
    {
    }

    void add(std::weak_ptr<ContextUser> user)
    {
        std::lock_guard const lock(mutex_);
        std::erase_if(users_, [](auto const& old) { return old.expired(); });
        users_.push_back(std::move(user));
    }

private:
    void shutdown() override
    {
        for (;;) {
            std::unique_lock lock(mutex_);
            auto const users = std::exchange(users_, {});
            lock.unlock();
            if (users.empty())
                return;
            for (auto const& user : users)
                if (auto const alive = user.lock())
                    alive->context_ends();
        }
    }

    std::mutex mutex_;
    std::vector<std::weak_ptr<ContextUser>> users_;
};

asio::execution_context::id ContextGuard::id;

} // namespace

void notify_end_of(asio::execution_context& context, std::weak_ptr<ContextUser> user)
{
    asio::use_service<ContextGuard>(context).add(std::move(user));
}

} // namespace tenure
