// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/execution_context.hpp>

#include <memory>

namespace tenure::engine
{

/** What calls handlers in an execution context that is not its own. */
class ContextUser
{
public:
    /** The context is being destroyed: lets go of all handlers and executors that belong to it before this returns.
     * Handlers that wait in the context may own what owns this, and nothing else would ever take this circle apart. */
    virtual void context_ends() noexcept = 0;

protected:
    ~ContextUser() = default;
};

/** Sees to it that `user` hears of the end of the context. */
void tell_end_of(boost::asio::execution_context& context, std::weak_ptr<ContextUser> user);

} // namespace tenure::engine
