// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection of a range, page by page.
#include "operations.hpp"

#include "key_names.hpp"
#include "replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

constexpr std::size_t reply_bytes_per_key = 1200;

class Inspection : public std::enable_shared_from_this<Inspection>
{
public:
    Inspection(
        ServerPtr server, KeyRangePtr range, bool with_tokens, Deadline not_after, ReplyHandler<InspectReply> handler)
        : server_(std::move(server))
        , range_(std::move(range))
        , with_tokens_(with_tokens)
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
        keys_.reserve(range_->count);
    }

    void call_page()
    {
        auto const first = static_cast<std::uint32_t>(keys_.size());
        auto const count = std::min(keys_per_inspection, range_->count - first);
        ScriptCall call;
        call.script = &scripts::inspect();
        call.keys = encode_keys(*range_, first, count);
        if (with_tokens_) {
            // the fence keys follow the keys
            call.names.add(*call.keys);
            call.keys = encode_fence_keys(*range_, first, count);
            call.values.add("1");
        }
        call.not_after = not_after_;
        call.reply_bytes = count * reply_bytes_per_key + 1024;
        run_script(server_->channel(), std::move(call), [self = shared_from_this(), count](Outcome&& outcome) {
            self->answered(outcome, count);
        });
    }

private:
    void answered(Outcome const& outcome, std::uint32_t count)
    {
        if (!outcome.succeeded() || !read_key_states(outcome.reply, count, keys_))
            finish(failure_of(*server_, outcome, range_->describe()));
        else if (keys_.size() < range_->count)
            call_page();
        else
            finish(std::move(keys_));
    }

    void finish(InspectReply reply) { std::move(handler_)(std::move(reply)); }

    ServerPtr server_;
    KeyRangePtr range_;
    /// reads the token of each key from its fence key
    bool with_tokens_;
    Deadline not_after_;
    ReplyHandler<InspectReply> handler_;
    std::vector<KeyState> keys_;
};

} // namespace

void inspect(ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    std::make_shared<Inspection>(server, std::move(range), false, not_after, std::move(handler))->call_page();
}

void inspect_with_tokens(
    ServerPtr const& server, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    std::make_shared<Inspection>(server, std::move(range), true, not_after, std::move(handler))->call_page();
}

} // namespace tenure::redis
