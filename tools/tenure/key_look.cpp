// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "key_look.hpp"

#include "time_limit.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace tenure::tool
{

asio::awaitable<KeyLook> look_at_keys(Store store, KeyRangePtr range, std::chrono::milliseconds limit)
{
    TimeLimit const time_limit(store.get_executor(), limit);
    auto result = co_await store.async_inspect(
        std::move(range), asio::bind_cancellation_slot(time_limit.slot(), asio::as_tuple(asio::use_awaitable)));
    KeyLook look;
    look.error = std::get<0>(result);
    look.states = std::move(std::get<1>(result));
    co_return look;
}

} // namespace tenure::tool
