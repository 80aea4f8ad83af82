// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "key_names.hpp"
#include "range_cache.hpp"
#include "store/redis/link/command_channel.hpp"
#include "store/redis/link/connection.hpp"

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

/** The settings of a server, which its store knows. */
struct ServerSettings {
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

/** Something that the server refused to the user of one connection. It is not tried again on that connection, and
 * logged only the first time. */
class RefusedOnConnection
{
public:
    [[nodiscard]] bool is(std::uint64_t generation) const noexcept { return in_ != 0 && in_ == generation; }

    /** @returns true the first time */
    bool note(std::uint64_t generation) noexcept
    {
        in_ = generation;
        return !std::exchange(logged_, true);
    }

private:
    /// generation of the channel; 0: none yet
    std::uint64_t in_ = 0;
    bool logged_ = false;
};

struct ServerError;
struct ReleaseNotes;

/** One server, or the nodes that serve one hash slot, as the operations see it. Shared by the operations under way;
 * everything belongs to the strand. */
class ServerContext
{
public:
    using Audience = ServerSettings::Audience;

    ServerContext(std::shared_ptr<Runtime> runtime, std::shared_ptr<CommandChannel> channel, ServerSettings settings);

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<CommandChannel> const& channel() const noexcept { return channel_; }
    [[nodiscard]] RangeCache& ranges() noexcept { return ranges_; }
    /** The store, without secrets. */
    [[nodiscard]] std::string const& name() const noexcept { return settings_.name; }
    /** For errors and logs: the store, and which of its servers answered last where there are several. */
    [[nodiscard]] std::string where() const;

    /** SPUBLISH instead of PUBLISH: wanted, and the server has it. */
    [[nodiscard]] bool announces_in_shard() const noexcept;

    /** Understands an error reply, and connects anew where it says that the server is the wrong one for now. */
    [[nodiscard]] Failure refuse(resp::Value const& error, std::string_view what);

    /** The same for one that was classified before. */
    [[nodiscard]] Failure refuse(ServerError const& error, std::string_view what);

    /** False once publishing was refused on this connection. */
    [[nodiscard]] bool may_publish() const noexcept { return !publish_.is(channel_->generation()); }
    /** Notes that publishing was refused, and logs it once. */
    void publish_refused(std::string_view channel);

    /** What compares and deletes in one command, where the server has it. */
    enum class NativeDelete { none, delifeq, delex };
    [[nodiscard]] NativeDelete native_delete() const noexcept;

    /** `SET key value IFEQ owner` exists. */
    [[nodiscard]] bool has_set_ifeq() const noexcept;

    /** As `refuse`, of a native command that the server does not execute: a permission for scripts only, an unknown
     * command after all, or a key of another type. The script can tell. Unless the key was the reason, scripts do
     * from now on on this connection. */
    [[nodiscard]] Failure refuse_native(resp::Value const& error, std::string_view what);

    /** Claims may be closed after a failover; `marker` names the key that tells. */
    [[nodiscard]] bool delays_after_failover() const noexcept { return settings_.delay_after_failover; }
    [[nodiscard]] std::string const& marker() const noexcept { return settings_.marker; }

    /** The counter from which claims draw their fencing tokens. */
    [[nodiscard]] std::string const& fence() const noexcept { return settings_.fence; }

    /** Notes that claims are closed for this time, and logs it once. */
    void note_closed(std::chrono::milliseconds opens_in);
    /** When they open, as far as is known here; in the past: they are open. */
    [[nodiscard]] Instant closed_until() const noexcept { return closed_until_; }

    /** Under which name this store stands in lines of waiters. */
    [[nodiscard]] std::string const& waiter() const noexcept { return settings_.waiter; }
    /** False once the commands of the line were refused on this connection. */
    [[nodiscard]] bool may_line_up() const noexcept { return !line_.is(channel_->generation()); }
    /** The name for scripts that use the line; "": it may not be used. */
    [[nodiscard]] std::string_view name_in_line() const noexcept
    {
        return may_line_up() ? std::string_view(settings_.waiter) : std::string_view();
    }
    /** Notes that they were refused, and logs it once. */
    void line_refused(std::string_view line, std::string_view why);

    /** False once the key that says that observers watch was refused on this connection. */
    [[nodiscard]] bool may_write_watched() const noexcept { return !watched_.is(channel_->generation()); }
    /** Notes that it was refused, and logs it once. */
    void watched_refused(std::string_view key, std::string_view why);

private:
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<CommandChannel> channel_;
    RangeCache ranges_;
    ServerSettings settings_;
    Instant closed_until_ = Instant::min();
    RefusedOnConnection publish_;
    RefusedOnConnection native_;
    RefusedOnConnection line_;
    RefusedOnConnection watched_;
};
using ServerPtr = std::shared_ptr<ServerContext>;

/** Why a request brought no reply. */
[[nodiscard]] Failure undelivered(Outcome const& outcome);

/** Why a request brought nothing to go by: no reply, an error, or a malformed reply.
 *  @param what  the key or range */
[[nodiscard]] Failure failure_of(ServerContext& server, Outcome const& outcome, std::string_view what);

/** True where the server refused a call for several keys, and each of them alone may fare better. */
[[nodiscard]] bool concerns_single_key(Outcome const& outcome);

/** Answers a request that is sent again alone after it was refused together with others: what it could not send now,
 * the call for all did, so `reason` is what is known about it. */
template <class Reply>
[[nodiscard]] ReplyHandler<Reply> or_refused(ReplyHandler<Reply> handler, Failure reason)
{
    return [handler = std::move(handler), reason = std::move(reason)](Reply&& reply) mutable {
        if (failed_as(reply, Failure::Effect::not_sent))
            reply = std::move(reason);
        std::move(handler)(std::move(reply));
    };
}

/** The failure of a request that brought a malformed reply: it may have taken effect. Drops the connection. */
[[nodiscard]] Failure nonsense(ServerContext& server, std::string_view what);

/** Remembers for the connection what it may not do. Other errors of the line concern this call alone. */
void take_notes(ServerContext& server, KeyRange const& range, ReleaseNotes const& notes);

/** Notes that a line was refused, if the words of the server say that it is for lack of permission. */
void note_line_refusal(ServerContext& server, KeyRange const& range, std::string_view words);

} // namespace tenure::redis
