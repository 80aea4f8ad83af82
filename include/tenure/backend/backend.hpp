// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>

#include <boost/system/error_code.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure
{

using boost::system::error_code;

/** One key held by one owner, as the store granted it. Shared by the lease and by requests under way. */
struct Claim {
    KeyRangePtr range;
    std::uint32_t index = 0;
    std::string owner;
    std::uint64_t fencing_token = 0;
    /// whatever the backend needs to find the claim again (a lease id, a session); null for most stores
    std::shared_ptr<void> handle;
    /// how long the key stays taken once the claim is over, by release or by lapse
    std::chrono::milliseconds reuse_after{};
    /// the lease is over, by release or by loss (set from any thread): no renewal of this claim may be written any more
    mutable std::atomic<bool> ended{false};

    [[nodiscard]] std::string key() const { return range->key(index); }
};
using ClaimPtr = std::shared_ptr<Claim const>;

// -- What a store may answer --

/** A request that brought no result, and what is known of its effect. */
struct Failure {
    enum class Effect : std::uint8_t {
        /// the server answered with an error: this request has changed nothing. That says nothing about who holds the
        /// key: only a comparison does
        refused,
        /// the request was never written: nothing to give back
        not_sent,
        /// the request may have been written, and no answer can come any more: it may still take effect later
        unknown
    };
    Effect effect = Effect::unknown;
    /// why; clear only where `was_dropped`
    error_code error;
    /// the server's words and where they came from, for log and diagnostics; never a secret
    std::string detail = {};
    /// asking again cannot help until a person changes something (wrong password, missing permission, wrong database)
    bool fatal = false;

    [[nodiscard]] static Failure refused(error_code error, std::string detail, bool fatal = false)
    {
        return {Effect::refused, error, std::move(detail), fatal};
    }
    [[nodiscard]] static Failure not_sent(error_code error, std::string detail, bool fatal = false)
    {
        return {Effect::not_sent, error, std::move(detail), fatal};
    }
    [[nodiscard]] static Failure unknown(error_code error, std::string detail)
    {
        return {Effect::unknown, error, std::move(detail), false};
    }
    /** Not sent, although nothing is wrong with the store: `not_after` came before the request's turn, or its owner
     * has given up. */
    [[nodiscard]] static Failure dropped() { return {Effect::not_sent, {}, {}, false}; }

    [[nodiscard]] bool was_dropped() const noexcept { return effect == Effect::not_sent && !error; }
    /** The request may have taken effect, or may still do so. */
    [[nodiscard]] bool may_take_effect() const noexcept { return effect == Effect::unknown; }
};

/** True if a reply of any kind is a failure with this effect. */
template <class Reply>
[[nodiscard]] bool failed_as(Reply const& reply, Failure::Effect effect) noexcept
{
    auto const* const failure = std::get_if<Failure>(&reply);
    return failure != nullptr && failure->effect == effect;
}

struct Granted {
    std::uint32_t index = 0;
    /// 0 where fencing was not asked for
    std::uint64_t fencing_token = 0;
    /// what the store really granted
    std::chrono::milliseconds ttl{};
    /// from when the ttl counts: a local instant before the request was written
    Instant since{};
    std::shared_ptr<void> handle;
};
/** The store granted the key, and what the grant was asked to rest on is missing (replicas that acknowledge it). The
 * key is taken: the engine gives it back, and goes on under another owner. */
struct Unconfirmed {
    Granted grant;
    error_code error;
    /// what is missing, from which server, and what to do; never a secret
    std::string detail;
    /// asking again cannot help until a person changes something
    bool fatal = false;
};
struct Busy {
    /// until the first of the held keys expires; unset if the store does not tell
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// no key of the range can ever free by itself: none has a ttl or lease
    bool never_frees = false;
};
struct Renewed {
    std::chrono::milliseconds ttl{};
    Instant since{};
};
/** The store compared: the key does not bear this owner (any more). */
struct NotOwner {
};
struct Released {
    /// the release named a waiter of another store: that one claims first, and this store's own waiters hold back
    bool named_another = false;
};

using ClaimReply = std::variant<Granted, Busy, Unconfirmed, Failure>;
using RenewReply = std::variant<Renewed, NotOwner, Failure>;
/** The reply to one of the renewals that were asked for in one call. */
struct RenewAnswer {
    /// its place among the requests of the call
    std::size_t request = 0;
    RenewReply reply;
};
using ReleaseReply = std::variant<Released, NotOwner, Failure>;
/** Released also where nothing bore the owner: the point is that nothing does any more. */
using WithdrawReply = std::variant<Released, Failure>;

/** Whether the store's line of waiters learns of a claim that finds all keys held (`Backend::keeps_line`). The line is
 * a hint about the order; a claim takes a free key whatever the line says. */
enum class Waits : std::uint8_t {
    /// not in line: a busy answer leaves nothing behind
    no,
    /// a busy answer appends this store to the line of the range, unless it stands there already
    in_line,
    /// likewise, but in front: a release had named this store, and another claim was faster
    in_front
};

struct ClaimRequest {
    KeyRangePtr range;
    std::string owner;
    std::chrono::milliseconds ttl{};
    /// a request that is still unwritten when this is over is answered `Failure::dropped`
    Deadline not_after;
    bool fencing = true;
    /// the earliest attempt of this owner whose outcome is not known; unset on an owner's first attempt. When set, the
    /// whole range is searched for the owner before a free key is taken, and a claim found but not extended counts from
    /// this instant.
    std::optional<Instant> earliest_attempt;
    /// how long the key stays taken after the ttl: in quarantine
    std::chrono::milliseconds reuse_after{};
    Waits waits = Waits::no;

    /** How long the store keeps the key. Only `ttl` of it is granted. */
    [[nodiscard]] std::chrono::milliseconds lifetime() const noexcept { return ttl + reuse_after; }
};
struct RenewRequest {
    ClaimPtr claim;
    std::chrono::milliseconds ttl{};
    Instant not_after{};

    /** How long the store keeps the key. Only `ttl` of it is renewed. */
    [[nodiscard]] std::chrono::milliseconds lifetime() const noexcept { return ttl + claim->reuse_after; }
};
struct ReleaseRequest {
    /// with `Claim::reuse_after` the key is not freed: it rests for that long, taken, and then frees by itself
    ClaimPtr claim;
    Instant not_after{};
    /// tell waiters elsewhere that the key is free
    bool notifications = true;
    /// set: the key is not freed. In one step its value becomes `kept/<owner>`, and it expires after this time, or
    /// after what is left of its ttl if this is zero. `Released` also where the key bears that value already
    std::optional<std::chrono::milliseconds> keep_for = std::nullopt;
};
struct WithdrawRequest {
    KeyRangePtr range;
    std::string owner;
    Instant not_after{};
    bool notifications = true;
    /// how long each key that is found rests; zero where the owner has surely held none of them: they free at once
    std::chrono::milliseconds reuse_after{};
};

using InspectReply = std::variant<std::vector<KeyState>, Failure>;

/** The store can be used: connected, logged in, and the user may do what was tried. */
struct Ready {
};
using ReadyReply = std::variant<Ready, Failure>;

struct EvictRequest {
    KeyRangePtr range;
    std::uint32_t index = 0;
    /// the owner that was seen; the claim is replaced only if it still bears this one
    std::string owner;
    /// who evicts: the key then bears `evicted/<who>` for the rest of its ttl
    std::string evicted_by;
    Deadline not_after;
};
struct Evicted {
    /// when the key frees by itself
    std::optional<std::chrono::milliseconds> remaining;
};
using EvictReply = std::variant<Evicted, NotOwner, Failure>;

enum class WatchEvent {
    /// the subscription is in force: what happens from now on is not missed (unless a later `interrupted` says so)
    in_force,
    /// a key of the range may have become free, or will become free earlier than it seemed
    hint,
    /// a release named this store from the line of waiters: its waiter claims at once. The name is out of the line
    our_turn,
    /// a release named other stores: they claim first, and this store's waiter holds back for a moment
    others_turn,
    /// the subscription broke and is being set up again: `in_force` follows
    interrupted,
    /// no hints will come (no permission, not supported): poll
    unavailable
};

/** Why a range is watched. */
enum class WatchAs {
    /// to claim a key of it: releases name waiters in line, and announce nothing where nobody waits
    waiter,
    /// to follow what happens: each release is announced while an observer watches
    observer
};

/** A subscription; destroying it ends it, and its handler is not called afterwards. */
class TENURE_API Watch
{
public:
    Watch() = default;
    Watch(Watch const&) = delete;
    Watch& operator=(Watch const&) = delete;
    virtual ~Watch() = default;
};

/** Takes the reply to one request; called once. */
template <class Reply>
using ReplyHandler = OneShot<void(Reply&&)>;

/** Takes answers to the renewals of one call, as they come: called once or several times, until each request was
 * answered exactly once. The span is valid during the call only, and its replies may be moved from. */
using RenewHandler = std::function<void(std::span<RenewAnswer>)>;

/** What the author of a store implements: the one seam between engine and stores.
 *
 *  All functions are called on the runtime's strand, and all handlers are called there, never inside the call that got
 * them, and exactly once unless they say otherwise. A request should leave at once or with the others of its turn of
 * the loop, and one node that is stuck must not delay requests to another. A request that may have been written is
 * never cancelled: its reply is awaited (or its connection given up, which makes its effect unknown). docs/backends.md
 * lists what the engine relies on; the conformance suite (`tenure::conformance`) checks it.
 */
class TENURE_API Backend
{
public:
    Backend() = default;
    Backend(Backend const&) = delete;
    Backend& operator=(Backend const&) = delete;
    virtual ~Backend() = default;

    /** Takes the first free key of the range for the owner. Idempotent for its owner: a lost reply is answered by
     * asking again. */
    virtual void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) = 0;

    /** Extends each claim if, and only if, its key still bears the owner.
     *
     *  The engine asks in one call for all renewals that are due, so a store that has one request for many keys needs
     * nothing else to use it; `renew_each` serves the others. Each claim gets its own answer: one that the server
     * refuses spoils no other, and a node that is stuck delays no answer of another node. While there is no connection
     * the answer is `Failure::not_sent` at once: a renewal never waits inside the store. One whose `Claim::ended` is
     * set is not written any more; look right before the request leaves. */
    virtual void renew(std::vector<RenewRequest> requests, RenewHandler handler) = 0;

    /** Frees a key, lets it rest, or keeps it taken for a time (`ReleaseRequest::keep_for`) if, and only if, it bears
     * the owner. */
    virtual void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) = 0;

    /** Frees, or lets rest, whichever keys of the range bear the owner; the index need not be known. */
    virtual void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) = 0;

    /** Subscribes to news about the range. The handler runs on the strand, never inside this call. */
    [[nodiscard]] virtual std::unique_ptr<Watch>
    watch(KeyRangePtr range, WatchAs as, std::function<void(WatchEvent)> handler) = 0;

    /** True: the store keeps a line of waiters for each range. Claims with `ClaimRequest::waits` stand in it, a release
     * names the first, and watches tell whose turn it is. */
    [[nodiscard]] virtual bool keeps_line() const noexcept { return false; }

    /** No waiter of this store is left for the range: its place in the line goes. Best effort, without an answer: a
     * place that stays costs the others one pause. */
    virtual void leave_line(KeyRangePtr range) { (void)range; }

    /** True: keys may become free without any event, because other programs release them. Waiters then poll. */
    [[nodiscard]] virtual bool frees_silently() const noexcept { return false; }

    /** Connects and logs in, where that has not happened yet, and asks the server something harmless that leases need
     * as well, so that a missing permission shows. Nothing is written. Waits for a connection until `not_after`, like a
     * claim; an answer with `fatal` comes at once. A store without a server answers `Ready`. */
    virtual void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) = 0;

    virtual void inspect(KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler) = 0;

    virtual void evict(EvictRequest request, ReplyHandler<EvictReply> handler) = 0;

    /** Looks at the server's version, settings and permissions, as far as it may. Never fails as a whole: what could
     * not be seen is a finding too. */
    virtual void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) = 0;

    /** Called on the strand whenever the store becomes reachable (again), so that what failed is retried at once. */
    virtual void on_reachable(std::function<void()> handler) = 0;

    /** The shortest ttl of a lease that is held now (zero: none): a store uses it to judge how long silence is
     * acceptable. */
    virtual void shortest_ttl(std::chrono::milliseconds ttl) = 0;

    /** Owners of some requests have given up, and their `Deadline` says so: a request that was not written yet leaves
     * its queue now and is answered `Failure::dropped`. A store that queues nothing has nothing to do. */
    virtual void drop_abandoned() {}

    /** Where this is, for logs and errors, without secrets: `redis://host:6379/0`. */
    [[nodiscard]] virtual std::string describe() const = 0;

    /** The shortest and longest ttl the store can grant. */
    struct TtlLimits {
        std::chrono::milliseconds shortest{100};
        std::chrono::milliseconds longest{std::chrono::hours{24}};
    };
    [[nodiscard]] virtual TtlLimits ttl_limits() const noexcept { return {}; }

    /** Why the store cannot keep a key taken for `reuse_after`, as the end of a sentence; null: it can. Pools with
     * `SlotPoolConfig::reuse_after` are refused with these words. */
    [[nodiscard]] virtual char const* no_quarantine() const noexcept { return "its backend does not offer that"; }

    /** Why the store cannot keep a key for a time that its lease does not last (`ReleaseRequest::keep_for`), as the end
     * of a sentence; null: it can. `Lease::async_detach` is refused with these words. */
    [[nodiscard]] virtual char const* no_detach() const noexcept { return "its backend does not offer that"; }

    /** True: an owner whose claim was not granted must not claim again, because what gives back the parts that it took
     * may still be under way; the engine goes on under a new one, and withdraws one whose outcome is unknown. */
    [[nodiscard]] virtual bool single_use_owners() const noexcept { return false; }

    /** Closes everything: what was not written ends as not sent, what was written as unknown, and no more work is
     * left on the executor. */
    virtual void shutdown() noexcept = 0;
};

} // namespace tenure
