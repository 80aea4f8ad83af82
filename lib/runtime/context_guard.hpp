// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/execution_context.hpp>

#include <memory>

namespace tenure
{

/** An object that calls handlers in an execution context of its users. */
class ContextUser
{
public:
    /** The context is being destroyed: releases all its handlers and executors before this returns. Breaks the
     *  ownership cycle between handlers that wait in the context and the objects that they own. */
    virtual void context_ends() noexcept = 0;

protected:
    ~ContextUser() = default;
};

/** Notifies `user` when the context is destroyed. */
void notify_end_of(boost::asio::execution_context& context, std::weak_ptr<ContextUser> user);

} // namespace tenure
