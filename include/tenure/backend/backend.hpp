// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/share.hpp>
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
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::backend
{

using boost::system::error_code;

/** One key held by one owner, as the store granted it. Shared by the lease and by pending requests. */
struct Claim {
    /// the range that the key belongs to; never null
    KeyRangePtr range;
    /// the key: its position in the range, counted from 0
    std::uint32_t index = 0;
    /// the value under the key, unique to this claim; its random part is a secret of the holder
    std::string owner;
    /// 0 if the claim did not ask for fencing
    std::uint64_t fencing_token = 0;
    /// state with which the backend finds the claim again (a lease id, a session); null for most stores
    std::shared_ptr<void> handle;
    /// how long the key stays taken after the claim ends, by release or by expiry
    std::chrono::milliseconds reuse_after{};
    /// `ended`: the lease is over, by release or by loss, and no renewal of this claim may be written
    mutable RequestMark mark;

    /** Name of the key in the store. */
    [[nodiscard]] std::string key() const { return range->key(index); }
};
/// a claim that lease and pending requests share
using ClaimPtr = std::shared_ptr<Claim const>;

// -- Replies of a store --

/** A failed request, and what is known about its effect. */
struct Failure {
    /// the effect of the request, as far as the backend knows
    enum class Effect : std::uint8_t {
        /// the server answered with an error, and the request changed nothing. Only a comparison proves which owner
        /// holds the key; an error does not
        refused,
        /// the request was never written: there is nothing to release
        not_sent,
        /// the request may have been written, and no answer can arrive: it may still take effect later
        unknown
    };
    /// if in doubt: `unknown`
    Effect effect = Effect::unknown;
    /// why; clear only where `was_dropped`
    error_code error;
    /// the server's message and its address, for log and diagnostics; never a secret
    std::string detail = {};
    /// retrying is useless until a person changes something (wrong password, missing permission, wrong database)
    bool fatal = false;

    /** The server answered with an error, and the request changed nothing. */
    [[nodiscard]] static Failure refused(error_code error, std::string detail, bool fatal = false)
    {
        return {Effect::refused, error, std::move(detail), fatal};
    }
    /** The request was never written. */
    [[nodiscard]] static Failure not_sent(error_code error, std::string detail, bool fatal = false)
    {
        return {Effect::not_sent, error, std::move(detail), fatal};
    }
    /** The request may have been written. An unknown outcome is never fatal. */
    [[nodiscard]] static Failure unknown(error_code error, std::string detail)
    {
        return {Effect::unknown, error, std::move(detail), false};
    }
    /** Not sent although the store is healthy: `not_after` passed before the request was written, or its owner gave up.
     *
     *  @param why  the request waited for its turn: how many requests of this process were ahead of it */
    [[nodiscard]] static Failure dropped(std::string why = {}) { return {Effect::not_sent, {}, std::move(why), false}; }

    /** True if the store made this of a request whose time was over: it says nothing about the store's health. */
    [[nodiscard]] bool was_dropped() const noexcept { return effect == Effect::not_sent && !error; }
    /** The request may have taken effect, or may still do so. */
    [[nodiscard]] bool may_take_effect() const noexcept { return effect == Effect::unknown; }
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Failure::Effect effect) noexcept;

/** True if a reply of any kind is a failure with this effect. */
template <class Reply>
[[nodiscard]] bool failed_as(Reply const& reply, Failure::Effect effect) noexcept
{
    auto const* const failure = std::get_if<Failure>(&reply);
    return failure != nullptr && failure->effect == effect;
}

/** The store granted a key to the owner. */
struct Granted {
    /// which key of the range
    std::uint32_t index = 0;
    /// 0 if the request did not ask for fencing
    std::uint64_t fencing_token = 0;
    /// the ttl that the store granted
    std::chrono::milliseconds ttl{};
    /// start of the ttl: a local instant before the request was written
    Instant since{};
    /// becomes `Claim::handle`
    std::shared_ptr<void> handle;
};
/** The store granted the key, but too few replicas acknowledged the grant. The key is taken: the engine releases it and
 * continues with another owner. */
struct Unconfirmed {
    /// the grant that the engine releases
    Granted grant;
    /// `errc::not_replicated`, or why the grant cannot be used
    error_code error;
    /// the missing acknowledgement, the server, and the remedy; never a secret
    std::string detail;
    /// retrying is useless until a person changes something
    bool fatal = false;
};
/** All keys of the range are held, resting or kept; or the share does not fit yet. */
struct Busy {
    /// time until the first of the held keys expires; unset if the store does not report it. Of shares: no place of the
    /// key lapses earlier
    std::optional<std::chrono::milliseconds> earliest_expiry = std::nullopt;
    /// no key of the range can become free by itself: all lack a ttl or lease
    bool never_frees = false;
    /// the owner's place; unset if the claim does not wait, if the key has no shares, or if the line is full
    std::optional<InLine> place = std::nullopt;
};
/** The store compared, and extended the key of this owner. */
struct Renewed {
    /// the ttl that the store granted, which may differ from the request
    std::chrono::milliseconds ttl{};
    /// start of the ttl: a local instant before the request was written
    Instant since{};
};
/** The store compared: the value of the key is not this owner. */
struct NotOwner {
};
/** The key no longer has this owner: it is free, in quarantine, or kept. */
struct Released {
    /// the release named a waiter of another store: that waiter claims first, and this store's own waiters hold back
    bool named_another = false;
};

/// the reply to `Backend::claim`
using ClaimReply = std::variant<Granted, Busy, Unconfirmed, Failure>;
/// the reply to one renewal of `Backend::renew`
using RenewReply = std::variant<Renewed, NotOwner, Failure>;
/** The reply to one of the renewals of one call. */
struct RenewAnswer {
    /// index of the request within the call
    std::size_t request = 0;
    /// the outcome of this renewal alone
    RenewReply reply;
};
/// the reply to `Backend::release`
using ReleaseReply = std::variant<Released, NotOwner, Failure>;
/** `Released` also means that no key had the owner: after a withdrawal none has. */
using WithdrawReply = std::variant<Released, Failure>;

/** Whether a claim that finds all keys held joins the store's line of waiters (`Capabilities::keeps_line`). The line is
 * only a hint about the order: a claim takes a free key even if others are in line. */
enum class Waits : std::uint8_t {
    /// not in line: a busy answer changes nothing
    no,
    /// a busy answer appends this store to the line of the range, unless it is in the line already
    in_line,
    /// a busy answer puts this store in front of the line: a release had named it, but another claim was faster
    in_front
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Waits waits) noexcept;

/** Asks for one key of a range, for one owner. */
struct ClaimRequest {
    /// the keys to choose from; the first free one is granted
    KeyRangePtr range;
    /// the value to write; unique to this acquisition
    std::string owner;
    /// the ttl of the grant; within `Capabilities::ttl`
    std::chrono::milliseconds ttl{};
    /// A request that is still unwritten at this deadline is answered `Failure::dropped`. The store reports each
    /// written step and its answer with `Deadline::progressed`
    Deadline not_after;
    /// draw a fencing token with the grant
    bool fencing = true;
    /// the earliest attempt of this owner whose outcome is unknown; unset on an owner's first attempt. If it is set,
    /// the whole range is searched for the owner before a free key is taken. The validity of a claim that is found but
    /// not extended counts from this instant.
    std::optional<Instant> earliest_attempt;
    /// how long the key stays taken after the ttl: in quarantine
    std::chrono::milliseconds reuse_after{};
    /// whether a busy answer puts this store into the line of waiters
    Waits waits = Waits::no;
    /// more claims follow in this turn of the strand: the store does better to send them in one write
    bool with_others = false;
    /// the part of the key to claim; set exactly if the range has shares. Such a claim holds if it fits behind all
    /// places. Else it takes a place with `Waits::in_line`, or renews the owner's place; with `Waits::no` it leaves
    /// nothing behind. An owner may have a place only if `earliest_attempt` is set
    std::optional<Share> share = std::nullopt;

    /** How long the store keeps the key. Only `ttl` is granted. */
    [[nodiscard]] std::chrono::milliseconds lifetime() const noexcept { return ttl + reuse_after; }
};
/** Extends one claim if its key still has the owner. */
struct RenewRequest {
    /// the claim to extend; never null
    ClaimPtr claim;
    /// the ttl counted from the new start; it may be shorter than the present one
    std::chrono::milliseconds ttl{};
    /// a renewal that is still unwritten at this instant is answered `Failure::dropped`
    Instant not_after{};

    /** How long the store keeps the key. Only `ttl` is renewed. */
    [[nodiscard]] std::chrono::milliseconds lifetime() const noexcept { return ttl + claim->reuse_after; }
};
/** Ends one claim if its key still has the owner. */
struct ReleaseRequest {
    /// with `Claim::reuse_after` the key is not freed: it stays in quarantine for that time and then expires
    ClaimPtr claim;
    /// a release that is still unwritten at this instant is answered `Failure::dropped`
    Instant not_after{};
    /// notify waiters of other stores that the key is free
    bool notifications = true;
    /// set: the key is not freed. In one step its value becomes `kept/<owner>`, and it expires after this time, or
    /// after its remaining ttl if this is zero. Also answered `Released` if the key has that value already
    std::optional<std::chrono::milliseconds> keep_for = std::nullopt;
};
/** Ends all claims of an owner in a range, whose keys the engine need not know: after a lost reply to a claim. */
struct WithdrawRequest {
    /// the keys to search
    KeyRangePtr range;
    /// the owner to remove; or the value of a resting or kept key, which becomes free then
    std::string owner;
    /// a request that is still unwritten at this instant is answered `Failure::dropped`
    Instant not_after{};
    /// notify waiters of other stores of each key that becomes free
    bool notifications = true;
    /// the quarantine of each key that is found; zero if the owner certainly held none of them, so that they become
    /// free at once
    std::chrono::milliseconds reuse_after{};
};

/** Asks for the state of each key of a range. */
struct InspectRequest {
    /// the keys
    KeyRangePtr range;
    /// a request that is still unwritten at this deadline is answered `Failure::dropped`
    Deadline not_after;
    /// The engine reads only whether the kind of a state is `free`. A store that saves requests or bytes leaves out
    /// the rest: which other kind, holder, ttl and token. Another store ignores this
    bool names_only = false;
};
/// the reply to `Backend::inspect`: the state of each key
using InspectReply = std::variant<std::vector<KeyState>, Failure>;

/** Asks for the names of keys. */
struct ListRequest {
    /// the begin of the names; empty: all
    std::string prefix;
    /// the most names to return; then `KeyList::more` is set
    std::size_t most = 0;
    /// the store returns what it has found by then, with `KeyList::more`
    Deadline not_after;
};
/// the reply to `Backend::list`
using ListReply = std::variant<KeyList, Failure>;

/** The store can be used: connected, logged in, and the user has the permissions that were tried. */
struct Ready {
};
/// the reply to `Backend::ready`
using ReadyReply = std::variant<Ready, Failure>;

/** Takes a key away from its holder. */
struct EvictRequest {
    /// the range that the key belongs to
    KeyRangePtr range;
    /// the key: its position in the range
    std::uint32_t index = 0;
    /// the observed owner; the claim is replaced only if it still has this owner
    std::string owner;
    /// the evicting person or program: the value of the key becomes `evicted/<who>` for the rest of its ttl
    std::string evicted_by;
    /// a request that is still unwritten at this deadline is answered `Failure::dropped`
    Deadline not_after;
};
/** The key was taken away. It stays taken until it expires. */
struct Evicted {
    /// time until the key expires
    std::optional<std::chrono::milliseconds> remaining;
};
/// the reply to `Backend::evict`; `NotOwner`: the key has another owner now, and nothing was changed
using EvictReply = std::variant<Evicted, NotOwner, Failure>;

/** An event that a watch reports. */
enum class WatchEvent {
    /// the subscription is in force: no event is missed from now on, until a later `interrupted`
    in_force,
    /// a key of the range may have become free, or may become free earlier than expected
    hint,
    /// a release named this store from the line of waiters: its waiter claims at once. The store is no longer in the
    /// line. Of shares: places of this store hold now, and `WatchNews::held` may have their numbers
    our_turn,
    /// a release named other stores: they claim first, and this store's waiter holds back for a moment
    others_turn,
    /// the subscription was interrupted and is being restored: `in_force` follows
    interrupted,
    /// no hints will come (no permission, not supported): poll
    unavailable
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(WatchEvent event) noexcept;

/** An event, as the handler of a watch gets it. A handler without interest in numbers takes a `WatchEvent`. */
struct WatchNews {
    /** Implicit: only the news of shares have numbers. */
    constexpr WatchNews(WatchEvent what, std::span<std::uint64_t const> numbers = {}) noexcept
        : event(what)
        , held(numbers)
    {
    }
    /** For handlers of events alone. */
    constexpr operator WatchEvent() const noexcept { return event; }

    /// the event
    WatchEvent event;
    /// of shares and `our_turn`: the numbers of this store's places that hold since this event, each as sure as a
    /// grant while the place lives. Empty if the store cannot tell. Valid during the call
    std::span<std::uint64_t const> held;
};
/// gets the events of a watch
using WatchHandler = std::function<void(WatchNews)>;

/** Why a range is watched. */
enum class WatchAs {
    /// to claim a key of it: releases name waiters in line, and announce nothing while there are no waiters
    waiter,
    /// to follow all changes: each release is announced while an observer watches
    observer
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(WatchAs as) noexcept;

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

/** Takes the answers to the renewals of one call as they arrive. Called one or more times, until each request has
 * exactly one answer. The span is valid only during the call, and its replies may be moved from. */
using RenewHandler = std::function<void(std::span<RenewAnswer>)>;

/** The shortest and longest ttl that a store can grant. */
struct TtlLimits {
    /// pools, locks and acquisitions with a shorter ttl are refused
    std::chrono::milliseconds shortest{100};
    /// pools, locks and acquisitions with a longer ttl are refused
    std::chrono::milliseconds longest{std::chrono::hours{24}};
};

/** The abilities of a store beyond claims, renewals and releases. The defaults are those of the simplest store. */
struct Capabilities {
    /// the ttls that the store can grant
    TtlLimits ttl = {};
    /// the store keeps a line of waiters for each range. Claims with `ClaimRequest::waits` join it, a release names its
    /// first waiter, and watches report whose turn it is
    bool keeps_line = false;
    /// keys may become free without any event, because other programs release them. Waiters then poll
    bool frees_silently = false;
    /// an owner whose claim was not granted must not claim again, because the release of its partial claims may still
    /// be pending. The engine continues with a new owner, and withdraws an owner whose outcome is unknown
    bool single_use_owners = false;
    /// `Backend::examine` is implemented; false: an examination has no findings
    bool examines = false;
    /// why the store cannot keep a key taken for `reuse_after`, as the end of a sentence; null: it can. Pools with
    /// `SlotPoolConfig::reuse_after` are refused with this text
    char const* no_quarantine = "its backend does not offer that";
    /// why the store cannot keep a key longer than its lease (`ReleaseRequest::keep_for`), as the end of a sentence;
    /// null: it can. `Lease::async_detach` is refused with this text
    char const* no_detach = "its backend does not offer that";
    /// why the store cannot hold a key in places (`KeyRange::shares`), as the end of a sentence; null: it can. Fair
    /// locks, read-write locks and semaphores are refused with this text
    char const* no_shares = "its backend does not offer that";
    /// why the store cannot list its keys (`Backend::list`), as the end of a sentence; null: it can.
    /// `Store::async_list` is refused with this text
    char const* no_list = "its backend does not offer that";
};

} // namespace tenure::backend

namespace tenure
{

/** The interface between engine and stores, which the author of a store implements.
 *
 *  The engine calls all functions on the runtime's strand. A backend calls each handler on that strand, never inside
 *  the call that got it, and exactly once unless stated otherwise. A request should be written at once or with the
 *  other requests of its turn of the event loop, and an unresponsive node must not delay requests to another. A request
 *  that may have been written is never cancelled: the backend waits for the reply, or closes the connection, which
 *  makes the effect unknown. docs/integrators/writing-a-store.md lists the requirements of the engine, and
 *  `tenure::conformance` checks them.
 */
class TENURE_API Backend
{
public:
    Backend() = default;
    Backend(Backend const&) = delete;
    Backend& operator=(Backend const&) = delete;
    virtual ~Backend() = default;

    /** The abilities of the store. Constant. */
    [[nodiscard]] virtual backend::Capabilities capabilities() const noexcept { return {}; }

    /** Takes the first free key of the range for the owner. Idempotent for its owner: after a lost reply the engine
     * retries. */
    virtual void claim(backend::ClaimRequest request, backend::ReplyHandler<backend::ClaimReply> handler) = 0;

    /** Extends each claim if, and only if, its key still has the owner.
     *
     *  The engine passes all renewals that are due in one call, so a store can send one request for many keys; stores
     *  without such a request use `renew_each`. Each claim gets its own answer: a refused renewal does not affect the
     *  others, and an unresponsive node does not delay the answers of another node. A renewal waits for its turn on a
     *  working connection until its `not_after`; without a connection the answer is `Failure::not_sent` at once. A
     *  renewal whose `Claim::mark` has ended must not be written; check it right before the request is written. */
    virtual void renew(std::vector<backend::RenewRequest> requests, backend::RenewHandler handler) = 0;

    /** Frees a key, quarantines it, or keeps it taken for a time (`ReleaseRequest::keep_for`) if, and only if, it has
     * the owner. */
    virtual void release(backend::ReleaseRequest request, backend::ReplyHandler<backend::ReleaseReply> handler) = 0;

    /** Frees or quarantines all keys of the range that have the owner; the index need not be known. */
    virtual void withdraw(backend::WithdrawRequest request, backend::ReplyHandler<backend::WithdrawReply> handler) = 0;

    /** Subscribes to events of the range. The handler runs on the strand, never inside this call. */
    [[nodiscard]] virtual std::unique_ptr<backend::Watch>
    watch(KeyRangePtr range, backend::WatchAs as, backend::WatchHandler handler) = 0;

    /** Removes this store from the line of the range, because it has no waiters left. Best effort, without an answer:
     * an entry that stays costs the other waiters one pause. */
    virtual void leave_line(KeyRangePtr range) { (void)range; }

    /** Connects and logs in if necessary, and sends a read-only request that leases also need, so that a missing
     * permission shows. Nothing is written. Waits for a connection until `not_after`, like a claim; an answer with
     * `fatal` comes at once. A store without a server answers `Ready`. */
    virtual void ready(backend::Deadline not_after, backend::ReplyHandler<backend::ReadyReply> handler) = 0;

    /** Reports the state of each key of the range, in the order of the range. Nothing is written. */
    virtual void inspect(backend::InspectRequest request, backend::ReplyHandler<backend::InspectReply> handler) = 0;

    /** Lists keys that begin with a text: at least all that are held, resting or kept; keys of other programs may be
     * among them. The caller pays for the search, which may read the whole store; it never blocks a server for long.
     * Nothing is written. Called only if `Capabilities::no_list` is null. */
    virtual void list(backend::ListRequest request, backend::ReplyHandler<backend::ListReply> handler)
    {
        (void)request, (void)handler;
    }

    /** Replaces the owner of a key by `evicted/<who>` if it still has the observed owner; the key stays
     * taken until it expires. A key that is no lease is answered `NotOwner`. */
    virtual void evict(backend::EvictRequest request, backend::ReplyHandler<backend::EvictReply> handler) = 0;

    /** Examines the server's version, settings and permissions, as far as it is allowed to. Never fails as a whole: a
     * failed check is a finding. Called only if `Capabilities::examines` is true. */
    virtual void
    examine(std::chrono::milliseconds ttl, backend::Deadline not_after, backend::ReplyHandler<Findings> handler)
    {
        (void)ttl, (void)not_after, (void)handler;
    }

    /** Sets the handler that is called on the strand whenever the store becomes reachable, so that failed requests are
     * retried at once. */
    virtual void on_reachable(std::function<void()> handler) = 0;

    /** Sets the shortest ttl of the leases that are held now (zero: there are none). A store derives from it how long a
     * server may be silent. */
    virtual void shortest_ttl(std::chrono::milliseconds ttl) = 0;

    /** Drops abandoned requests: owners of some requests have given up, as their `Deadline` shows. Such a request that
     * is still unwritten leaves its queue now and is answered `Failure::dropped`. A store without queues does nothing.
     */
    virtual void drop_abandoned() {}

    /** The address of the store, for logs and errors, without secrets: `redis://host:6379/0`. */
    [[nodiscard]] virtual std::string describe() const = 0;

    /** Closes everything: unwritten requests end as not sent, written ones as unknown, and no work is left on the
     * executor. */
    virtual void shutdown() noexcept = 0;
};

} // namespace tenure
