// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/key_look.hpp"

#include "keys/each_key.hpp"
#include "keys/time_limit.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace tenure::tool
{

asio::awaitable<KeyLook> look_at_keys(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit)
{
    TimeLimit const time_limit(store.get_executor(), limit);
    KeyLook look;
    for (auto const& range : ranges) {
        auto result = co_await store.async_inspect(
            range, asio::bind_cancellation_slot(time_limit.slot(), asio::as_tuple(asio::use_awaitable)));
        look.error = std::get<0>(result);
        if (look.error) {
            look.states.clear();
            break;
        }
        auto const& states = std::get<1>(result);
        look.states.insert(look.states.end(), states.begin(), states.end());
    }
    co_return look;
}

asio::awaitable<KeyLook>
look_at_readable_keys(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit)
{
    auto look = co_await look_at_keys(store, ranges, limit / 2);
    bool const may_hide_others = ranges.size() > 1 || ranges.front()->count > 1;
    if (!look.error || !may_hide_others)
        co_return look;
    auto each = co_await look_at_each_key(store, std::move(ranges), limit / 2);
    if (!each.all_unread()) {
        look.error = {};
        look.states = std::move(each.states);
        look.unread = std::move(each.unread);
    }
    co_return look;
}

asio::awaitable<KeyLook> look_at_lock(Store store, std::string key, std::chrono::milliseconds limit)
{
    std::vector<KeyRangePtr> ranges(1, named_key(std::move(key)));
    co_return co_await look_at_keys(std::move(store), std::move(ranges), limit);
}

} // namespace tenure::tool
