// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/key_look.hpp"

#include "keys/loop.hpp"
#include "keys/store_error.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

constexpr std::size_t most_at_a_time = 128;

/** A round of queries. Late answers find it finished. */
class Round : public std::enable_shared_from_this<Round>
{
public:
    Round(Store store, std::vector<KeyRangePtr> const& ranges, std::chrono::milliseconds limit)
        : store_(std::move(store))
        , answered_(store_.get_executor(), limit)
    {
        for (auto const& range : ranges)
            for (std::uint32_t index = 0; index < range->count; ++index) {
                keys_.push_back(range->key(index));
                KeyState state;
                state.index = index;
                result_.states.push_back(std::move(state));
                result_.unread.emplace(keys_.size() - 1, "the store did not answer in time");
            }
    }

    void start()
    {
        for (std::size_t i = 0; i < std::min(most_at_a_time, keys_.size()); ++i)
            ask_next();
    }

    /** Ends when all keys are answered, or at the limit. */
    asio::awaitable<KeyLook> result()
    {
        auto const self = shared_from_this();
        if (open_ > 0)
            co_await answered_.async_wait(as_result);
        finished_ = true;
        co_return std::move(result_);
    }

private:
    void ask_next()
    {
        if (next_ == keys_.size())
            return;
        auto const position = next_++;
        ++open_;
        store_.async_inspect(
            named_key(keys_[position]),
            [self = shared_from_this(), position](error_code error, std::vector<KeyState> const& states) {
                self->told(position, error, states);
            });
    }

    void told(std::size_t position, error_code error, std::vector<KeyState> const& states)
    {
        if (finished_)
            return;
        if (!error && states.size() == 1) {
            auto const index = result_.states[position].index;
            result_.states[position] = states.front();
            result_.states[position].index = index;
            result_.unread.erase(position);
        } else {
            result_.unread[position] = reason(keys_[position], error);
        }
        --open_;
        ask_next();
        if (open_ == 0)
            answered_.cancel();
    }

    [[nodiscard]] std::string reason(std::string const& key, error_code error) const
    {
        // another key's answer may have come meanwhile
        auto detail = store_.diagnostics().last_detail;
        return detail.find(key) != std::string::npos ? detail : words_for(error);
    }

    Store store_;
    std::vector<std::string> keys_;
    KeyLook result_;
    std::size_t next_ = 0;
    std::size_t open_ = 0;
    /// fires at the limit; cancelled by the last answer
    asio::steady_timer answered_;
    bool finished_ = false;
};

} // namespace

asio::awaitable<KeyLook> look_at_keys(Store store, std::vector<KeyRangePtr> ranges, asio::cancellation_slot slot)
{
    KeyLook look;
    for (auto const& range : ranges) {
        auto result = co_await store.async_inspect(range, cancelled_by(slot));
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

asio::awaitable<KeyLook> look_at_keys(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit)
{
    TimeLimit const time_limit(store.get_executor(), limit);
    co_return co_await look_at_keys(std::move(store), std::move(ranges), time_limit.slot());
}

asio::awaitable<KeyLook>
look_at_each_key(Store store, std::vector<KeyRangePtr> ranges, error_code failure, std::chrono::milliseconds limit)
{
    KeyLook look;
    look.error = failure;
    bool const may_hide_others = ranges.size() > 1 || ranges.front()->count > 1;
    if (!may_hide_others)
        co_return look;
    auto each = co_await look_at_all(std::move(store), std::move(ranges), limit);
    if (each.unread.size() == each.states.size())
        co_return look;
    co_return each;
}

asio::awaitable<KeyLook> look_at_all(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit)
{
    auto const round = std::make_shared<Round>(std::move(store), ranges, limit);
    round->start();
    co_return co_await round->result();
}

asio::awaitable<KeyLook> look_at_lock(Store store, std::string key, std::chrono::milliseconds limit)
{
    std::vector<KeyRangePtr> ranges(1, named_key(std::move(key)));
    co_return co_await look_at_keys(std::move(store), std::move(ranges), limit);
}

} // namespace tenure::tool
