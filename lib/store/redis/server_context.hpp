// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "key_names.hpp"
#include "runtime/names.hpp"
#include "store/redis/claim/range_cache.hpp"
#include "store/redis/link/command_channel.hpp"
#include "store/redis/link/connection.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/lock_layout.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

/** The key that reveals a server process that has not granted before. In a cluster each hash slot has one, with the
 *  slot's number in braces appended. */
inline constexpr std::string_view failover_marker = "tenure:master";

/** Settings of a server, given by its store. */
struct ServerSettings {
    /// name of the store for logs and errors, without secrets
    std::string name;
    /// name of the store in lines of waiters (make_waiter_name); empty for servers on which the store neither claims
    /// nor releases
    std::string waiter = {};
    /// see RedisConfig
    bool delay_after_failover = false;
    /// the key that reveals a failover, if claims are delayed after one
    std::string marker = std::string(failover_marker);
    /// where releases are published: to all subscribers, or in a cluster (Redis 7) within the shard of the channel
    enum class Audience { everywhere, shard } audience = Audience::everywhere;
    /// the counter of fencing tokens
    std::string fence = std::string(fence_counter);
    /// how named keys are kept
    LockLayout layout = LockLayout::tenure;
};

struct ServerError;

/** One server, or the servers of one hash slot, as seen by the operations. Pending operations share it; everything
 *  runs on the strand. */
class ServerContext
{
public:
    using Audience = ServerSettings::Audience;

    ServerContext(std::shared_ptr<Runtime> runtime, std::shared_ptr<CommandChannel> channel, ServerSettings settings);

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<CommandChannel> const& channel() const noexcept { return channel_; }
    [[nodiscard]] RangeCache& ranges() noexcept { return ranges_; }
    /** The name of the store, without secrets. */
    [[nodiscard]] std::string const& name() const noexcept { return settings_.name; }
    /** For errors and logs: the store, and the server that answered last if it has several. */
    [[nodiscard]] std::string where() const;

    /** True if the store shall use SPUBLISH instead of PUBLISH, and the server has it. */
    [[nodiscard]] bool announces_in_shard() const noexcept;

    /** Classifies an error reply, and reconnects if the error says that this is currently the wrong server. */
    [[nodiscard]] Failure refuse(resp::Value const& error, std::string_view what);

    /** As above, for a classified error. */
    [[nodiscard]] Failure refuse(ServerError const& error, std::string_view what);

    /** False after publishing was refused on this connection. */
    [[nodiscard]] bool may_publish() const noexcept { return !refuses(Refusals::Of::publish); }
    /** False after the server refused PUBLISH in a script: a command of its own may do it. */
    [[nodiscard]] bool publishes_in_scripts() const noexcept
    {
        return !refuses(Refusals::Of::publish_in_scripts) && !refuses(Refusals::Of::free_scripts);
    }
    /** False after the server refused the text of a script. */
    [[nodiscard]] bool has_free_scripts() const noexcept { return !refuses(Refusals::Of::free_scripts); }
    /** Records that PUBLISH is refused in scripts, and logs it once. */
    void publish_in_scripts_refused(std::string_view why);
    /** Records that publishing was refused, and logs it once. */
    void publish_refused(std::string_view channel);

    /** The native command of the server that compares and deletes. */
    enum class NativeDelete { none, delifeq, delex };
    [[nodiscard]] NativeDelete native_delete() const noexcept;

    /** True if the server has `SET key value IFEQ owner`. */
    [[nodiscard]] bool has_set_ifeq() const noexcept;

    /** As `refuse`, for a native command that the server did not execute: only scripts are permitted, the command is
     *  unknown, or the key has another type. The script finds the cause. Unless it was the key, this connection uses
     *  scripts from now on. */
    [[nodiscard]] Failure refuse_native(resp::Value const& error, std::string_view what);

    /** False after the server or a proxy refused MULTI, EXEC, or a script between them: scripts alone do the same. */
    [[nodiscard]] bool has_transactions() const noexcept { return !refuses(Refusals::Of::transactions); }
    /** Records that transactions are refused, and logs it once.
     *  @param for_good  asking again would end the connection each time */
    void transactions_refused(std::string_view why, bool for_good);

    /** True if claims can be closed after a failover; `marker` is the key that reveals one. */
    [[nodiscard]] bool delays_after_failover() const noexcept { return settings_.delay_after_failover; }
    [[nodiscard]] std::string const& marker() const noexcept { return settings_.marker; }

    /** The counter of fencing tokens. */
    [[nodiscard]] std::string const& fence() const noexcept { return settings_.fence; }

    /** True if the keys of the range have the layout of Redisson's locks. */
    [[nodiscard]] bool is_redisson(KeyRange const& range) const noexcept
    {
        return settings_.layout == LockLayout::redisson && !range.numbered && !range.shares;
    }
    /** The key that counts the fencing tokens of the range. */
    [[nodiscard]] std::string fence_of(KeyRange const& range) const
    {
        return is_redisson(range) ? redisson::token_key(range) : fence();
    }
    /** The channel on which releases in the range are published. */
    [[nodiscard]] std::string channel_of(KeyRange const& range) const
    {
        return is_redisson(range) ? redisson::channel_of(range) : redis::channel_of(range);
    }

    /** Records that claims are closed for this time, and logs it once. */
    void note_closed(std::chrono::milliseconds opens_in);
    /** When claims open again, as far as this process knows; in the past: they are open. */
    [[nodiscard]] Instant closed_until() const noexcept { return closed_until_; }

    /** The name of this store in lines of waiters. */
    [[nodiscard]] std::string const& waiter() const noexcept { return settings_.waiter; }
    /** False after commands of the line were refused on this connection. */
    [[nodiscard]] bool may_line_up() const noexcept { return !refuses(Refusals::Of::line); }
    /** Records that the line was refused, and logs it once. */
    void line_refused(std::string_view line, std::string_view why);

    /** False after the key of observers was refused on this connection. */
    [[nodiscard]] bool may_write_watched() const noexcept { return !refuses(Refusals::Of::watched); }
    /** Records that the key of observers was refused, and logs it once. */
    void watched_refused(std::string_view key, std::string_view why);

private:
    [[nodiscard]] bool refuses(Refusals::Of what) const noexcept { return channel_->refusals().include(what); }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<CommandChannel> channel_;
    RangeCache ranges_;
    ServerSettings settings_;
    Instant closed_until_ = Instant::min();
};
using ServerPtr = std::shared_ptr<ServerContext>;

/** Makes the failure of a request without a usable reply: none, an error, or a malformed one.
 *  @param what the key or range */
[[nodiscard]] Failure failure_of(ServerContext& server, Outcome const& outcome, std::string_view what);

/** As `failure_of`, for a call that frees a key. An error of a script that publishes may have freed the key, so the
 *  outcome is unknown, and later scripts do not publish. */
[[nodiscard]] Failure failure_of_release(ServerContext& server, Outcome const& outcome, std::string_view what);

/** True if the server refused a call for several keys, and separate calls for each key may succeed. */
[[nodiscard]] bool concerns_single_key(Outcome const& outcome);

/** True if the server or a proxy refused the command itself, so nothing ran. */
[[nodiscard]] bool is_command_unavailable(Outcome const& outcome);

/** Answers a request that was sent again alone after a call for several was refused. If it was not sent this time,
 *  `reason` is the answer, because the first call was sent. */
template <class Reply>
[[nodiscard]] ReplyHandler<Reply> or_refused(ReplyHandler<Reply> handler, Failure reason)
{
    return [handler = std::move(handler), reason = std::move(reason)](Reply&& reply) mutable {
        if (failed_as(reply, Failure::Effect::not_sent))
            reply = std::move(reason);
        std::move(handler)(std::move(reply));
    };
}

/** Makes the failure of a request with a malformed reply: it may have taken effect. Drops the connection. */
[[nodiscard]] Failure malformed_reply(ServerContext& server, std::string_view what);

/** Records that the line was refused, if the error text says that a permission is missing. Other errors concern this
 *  call alone. */
void note_line_refusal(ServerContext& server, KeyRange const& range, std::string_view words);

} // namespace tenure::redis
