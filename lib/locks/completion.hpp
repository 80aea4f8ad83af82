// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/pending_handler.hpp"

#include <tenure/detail/user_handler.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <utility>

namespace tenure::locks
{

namespace asio = boost::asio;

template <class Signature>
class Completion;

/** A user's completion handler that waits to be called: on its executor, else on that of the store. */
template <class... Results>
class Completion<void(Results...)> : public engine::PendingHandler<void(Results...)>
{
public:
    using Handler = asio::any_completion_handler<void(Results...)>;

    Completion(Handler handler, asio::any_io_executor const& executor)
        : engine::PendingHandler<void(Results...)>(detail::UserHandler<void(Results...)>(std::move(handler), executor))
    {
    }
};

} // namespace tenure::locks
