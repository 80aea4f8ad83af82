// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "key_names.hpp"
#include "range_cache.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/link/way.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

/** The key by which a server process that has not granted before is noticed. In a cluster each hash slot has one, with
 * the slot's number in braces behind. */
inline constexpr std::string_view failover_marker = "tenure:master";

/** What a node is told about its store. */
struct NodeSettings {
    /// of the store, without secrets
    std::string name;
    /// under which the store stands in lines of waiters (make_waiter_name); empty for nodes that claim and release
    /// nothing
    std::string waiter = {};
    /// see RedisConfig
    bool delay_after_failover = false;
    /// the key that tells of a failover, where claims are delayed after one
    std::string marker = std::string(failover_marker);
    /// where releases are announced: to all who subscribe, or in a cluster (Redis 7) through the channel's own shard
    enum class Audience { everywhere, shard } audience = Audience::everywhere;
    /// the counter from which claims draw their fencing tokens
    std::string fence = std::string(fence_counter);
};

/** One server, or the nodes that serve one hash slot, as the operations see it. Shared by the operations under way;
 * everything belongs to the strand. */
class Node
{
public:
    using Audience = NodeSettings::Audience;

    Node(std::shared_ptr<Runtime> runtime, std::shared_ptr<Way> route, NodeSettings settings);

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<Way> const& route() const noexcept { return route_; }
    [[nodiscard]] RangeCache& ranges() noexcept { return ranges_; }
    /** The store, without secrets. */
    [[nodiscard]] std::string const& name() const noexcept { return settings_.name; }
    /** For errors and logs: the store, and which of its servers answered last where there are several. */
    [[nodiscard]] std::string where() const;

    /** SPUBLISH instead of PUBLISH: wanted, and the server has it. */
    [[nodiscard]] bool announces_in_shard() const noexcept;

    /** Understands an error reply, and connects anew where it says that the server is the wrong one for now. */
    [[nodiscard, gnu::cold]] Failure refuse(resp::Value const& error, std::string_view what);

    /** The same for one that was classified before. */
    [[nodiscard, gnu::cold]] Failure refuse(struct ServerError const& error, std::string_view what);

    /** False once publishing was refused on this connection. */
    [[nodiscard]] bool may_publish() const noexcept
    {
        return publish_refused_in_ == 0 || publish_refused_in_ != route_->generation();
    }

    /** Notes that publishing was refused, and says so once. */
    void publish_refused(std::string_view channel);

    /** What compares and deletes in one command, where the server has it. */
    enum class NativeDelete { none, delifeq, delex };
    [[nodiscard]] NativeDelete native_delete() const noexcept;

    /** `SET key value IFEQ owner` exists. */
    [[nodiscard]] bool has_set_ifeq() const noexcept;

    /** A native command was refused on this connection (a permission for scripts only): scripts do from now on. */
    void native_refused() noexcept { native_refused_in_ = route_->generation(); }

    /** Claims may be closed after a failover; `marker` names the key that tells. */
    [[nodiscard]] bool delays_after_failover() const noexcept { return settings_.delay_after_failover; }
    [[nodiscard]] std::string const& marker() const noexcept { return settings_.marker; }

    /** The counter from which claims draw their fencing tokens. */
    [[nodiscard]] std::string const& fence() const noexcept { return settings_.fence; }

    /** Notes that claims are closed for so long, and says so once. */
    void note_closed(std::chrono::milliseconds opens_in);
    /** When they open, as far as is known here; in the past: they are open. */
    [[nodiscard]] Instant closed_until() const noexcept { return closed_until_; }

    /** Under which name this store stands in lines of waiters. */
    [[nodiscard]] std::string const& waiter() const noexcept { return settings_.waiter; }
    /** False once the commands of the line were refused on this connection. */
    [[nodiscard]] bool may_line_up() const noexcept
    {
        return line_refused_in_ == 0 || line_refused_in_ != route_->generation();
    }
    /** The name for scripts that use the line; "": it may not be used. */
    [[nodiscard]] std::string_view name_in_line() const noexcept
    {
        return may_line_up() ? std::string_view(settings_.waiter) : std::string_view();
    }
    /** Notes that they were refused, and says so once. */
    void line_refused(std::string_view line, std::string_view why);

    /** False once the key that says that observers watch was refused on this connection. */
    [[nodiscard]] bool may_write_watched() const noexcept
    {
        return watched_refused_in_ == 0 || watched_refused_in_ != route_->generation();
    }
    /** Notes that it was refused, and says so once. */
    void watched_refused(std::string_view key, std::string_view why);

    /** Answers later, as every handler must be. */
    template <class Reply>
    void answer_later(ReplyHandler<Reply> handler, Reply reply) const
    {
        runtime_->post([handler = std::move(handler), reply = std::move(reply)]() mutable {
            std::move(handler)(std::move(reply));
        });
    }

private:
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Way> route_;
    RangeCache ranges_;
    NodeSettings settings_;
    Instant closed_until_ = Instant::min();
    /// generations of the route; 0: none yet
    std::uint64_t publish_refused_in_ = 0;
    std::uint64_t native_refused_in_ = 0;
    std::uint64_t line_refused_in_ = 0;
    std::uint64_t watched_refused_in_ = 0;
    bool publish_refusal_logged_ = false;
    bool line_refusal_logged_ = false;
    bool watched_refusal_logged_ = false;
};
using NodePtr = std::shared_ptr<Node>;

/** What a request ended as that brought no reply. */
[[nodiscard, gnu::cold]] Failure undelivered(Outcome outcome);

/** A reply that makes no sense is not believed: anything may have happened. The connection is dropped with it. */
[[nodiscard, gnu::cold]] Failure nonsense(Node& node, std::string_view what);

} // namespace tenure::redis
