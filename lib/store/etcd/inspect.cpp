// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "inspect.hpp"

#include "range_keys.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <store/ended_claim.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::etcd
{

namespace
{

constexpr std::size_t longest_owner = 1024;
constexpr std::size_t most_looks = 1000;

class Inspection : public std::enable_shared_from_this<Inspection>
{
public:
    Inspection(NodePtr node, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
        : node_(std::move(node))
        , range_(std::move(range))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , states_(range_->count)
    {
        for (std::uint32_t i = 0; i < range_->count; ++i)
            states_[i].index = i;
    }

    void read(Keys const& keys)
    {
        Call call;
        call.path = "kv/range";
        call.body = range_body(keys, {keys_with_values, false});
        call.not_after = not_after_;
        call.reply_bytes = bytes_with_values;
        node_->client->call(std::move(call), [self = shared_from_this(), end = keys.end](Outcome outcome) {
            self->has_read(std::move(outcome), end);
        });
    }

private:
    void has_read(Outcome outcome, std::string const& end)
    {
        if (!outcome.good()) {
            finish(failure(std::move(outcome), node_->where(), range_->describe()));
            return;
        }
        auto const reply = parse_range(outcome.body);
        if (!reply) {
            finish(nonsense(node_->where(), range_->describe()));
            return;
        }
        for (auto const& entry : reply->found)
            if (auto const index = index_of(*range_, entry.key))
                note(entry, *index);
        if (reply->more && !reply->found.empty())
            read({next_key(reply->found.back().key), end});
        else
            look_at_leases();
    }

    void note(KeyValue const& entry, std::uint32_t index)
    {
        auto& state = states_[index];
        state.kind = entry.lease == 0 ? KeyState::Kind::foreign : KeyState::Kind::held;
        auto const ended = read_ended_claim(entry.value);
        if (ended && entry.lease != 0)
            state.kind = ended->kind;
        state.owner = (ended ? ended->last_owner : std::string_view(entry.value)).substr(0, longest_owner);
        state.fencing_token = entry.create_revision;
        if (entry.lease != 0 && looks_.size() < most_looks)
            looks_.emplace_back(index, entry.lease);
    }

    void look_at_leases()
    {
        open_ = looks_.size();
        if (open_ == 0) {
            finish(std::move(states_));
            return;
        }
        for (auto const& [index, lease] : looks_) {
            Call call;
            call.path = "lease/timetolive";
            call.body = lease_body(lease);
            call.not_after = not_after_;
            node_->client->call(std::move(call), [self = shared_from_this(), at = index](Outcome outcome) {
                self->looked(at, outcome);
            });
        }
    }

    // What a lease has left may be refused or unknown: who holds the key is told all the same.
    void looked(std::uint32_t index, Outcome const& outcome)
    {
        auto const reply = outcome.good() ? parse_lease(outcome.body) : std::nullopt;
        if (reply)
            states_[index].remaining = std::chrono::seconds(std::max<std::int64_t>(reply->ttl, 0));
        if (--open_ == 0)
            finish(std::move(states_));
    }

    void finish(InspectReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    KeyRangePtr range_;
    Deadline not_after_;
    ReplyHandler<InspectReply> handler_;
    std::vector<KeyState> states_;
    /// of the keys whose lease is looked at
    std::vector<std::pair<std::uint32_t, LeaseId>> looks_;
    std::size_t open_ = 0;
};

} // namespace

void inspect(NodePtr const& node, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    auto const keys = whole(*range);
    std::make_shared<Inspection>(node, std::move(range), not_after, std::move(handler))->read(keys);
}

} // namespace tenure::etcd
