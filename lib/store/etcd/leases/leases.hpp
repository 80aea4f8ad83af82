// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/client.hpp"
#include "store/etcd/http/messages.hpp"

#include <runtime/timer.hpp>
#include <store/coroutine.hpp>

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** A lease of the server. */
struct Lease {
    LeaseId id = 0;
    /// asked for, and what the server granted; seconds
    std::int64_t seconds = 0;
    std::int64_t granted = 0;
    /// of the cluster, when the grant was asked for: leaders of earlier terms may not know the lease; 0: not known
    std::uint64_t raft_term = 0;
    /// from when the ttl counts: before its grant, or its last proven renewal, was written
    Instant since{};
    /// it was asked to be revoked, so what bears it is not to be relied on
    bool revoked = false;
    /// Of a keep-alive that a member answered as leader: when it was written, and the member's term. It counts once a
    /// majority is known to have followed that leader afterwards.
    struct Unproven {
        Instant since{};
        std::uint64_t raft_term = 0;
    };
    std::optional<Unproven> renewed = {};
};
using LeasePtr = std::shared_ptr<Lease>;

/** What a held claim is, for this store: `Claim::handle`. */
struct HeldKey {
    /** A lease that the key was to be bound to instead, while it is not known whether it was. */
    struct Successor {
        LeasePtr lease;
        /// the key moves only if this is its last change
        std::uint64_t if_modified = 0;
    };

    LeasePtr lease;
    std::vector<Successor> successors;
    /// of the key: the revision that created it, and that of its last change
    std::uint64_t created = 0;
    std::uint64_t modified = 0;
    /// up to when the holder may count on the key, by all replies so far
    Instant promised{};
    /// no optional move begins before
    Instant next_move{};
};

[[nodiscard]] inline HeldKey& held_key_of(Claim const& claim) noexcept
{
    return *static_cast<HeldKey*>(claim.handle.get());
}

/** Whole seconds: a server's lease is never shorter than requested. */
[[nodiscard]] std::int64_t whole_seconds(std::chrono::milliseconds ttl) noexcept;

/** What the holder may count: what it asked for where the server granted just that, rounded up; else the server's.
 *  @param reuse_after  the part of the server's lease that is the key's quarantine, and not the holder's */
[[nodiscard]] std::chrono::milliseconds usable_ttl(
    std::chrono::milliseconds asked, std::chrono::milliseconds reuse_after, std::int64_t granted_seconds) noexcept;

/** Makes leases, one for each claim. One whose claim was released serves the next claim: as it is while it is young,
 * and after a keep-alive up to half its ttl. Then, or if another leader has been elected since its grant, it is
 * revoked.
 */
class Leases : public std::enable_shared_from_this<Leases>
{
public:
    using Taken = std::variant<LeasePtr, Failure>;

    explicit Leases(ClientPtr client);
    ~Leases();
    Leases(Leases const&) = delete;
    Leases& operator=(Leases const&) = delete;

    /** A lease that no key bears, and no request under way can bind a key to it. The caller proves it with the answer
     * to its put. May complete at once.
     *  @param ttl  the holder's part of the lifetime, of which a twentieth may have passed */
    [[nodiscard]] static store::Coroutine<Taken> take(
        std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, std::chrono::milliseconds ttl,
        Deadline not_after);

    /** A new one in any case. */
    [[nodiscard]] static store::Coroutine<Taken>
    grant(std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, Deadline not_after);

    /** What an answer to a read or write says that a majority took part in. One that is late sets the term back for a
     * moment: a lease may be taken for older than it is then, and moved for nothing. */
    void note(Header const& answer) noexcept { raft_term_ = answer.raft_term; }

    /** The same; and what an earlier keep-alive of this lease was worth. */
    void prove(Lease& lease, Header const& later) noexcept;

    /** It is surely as `take` promises again. */
    void give_back(LeasePtr lease);

    /** Ends it and deletes the keys that bear it, without waiting: if that fails it lapses. */
    void discard(LeasePtr const& lease);

    /** The same, with a reply. A lease that the server does not know counts as ended. */
    void revoke(LeasePtr const& lease, Deadline not_after, ReplyHandler<WithdrawReply> handler);

    /** A lease that was made here and is still in use; null if there is none. */
    [[nodiscard]] LeasePtr known(LeaseId id) const;

    void close() noexcept;

private:
    /** A claim may take it, perhaps after a keep-alive. */
    [[nodiscard]] bool is_spare(Lease const& lease) const;
    /** Null: none is left. */
    [[nodiscard]] LeasePtr take_spare(std::int64_t seconds);
    void sweep();

    ClientPtr client_;
    /// of the leader that a majority last followed, as far as is known here; 0: unknown
    std::uint64_t raft_term_ = 0;
    /// by whole seconds; the youngest are used first
    std::map<std::int64_t, std::vector<LeasePtr>> spares_;
    std::map<LeaseId, std::weak_ptr<Lease>> known_;
    /// expired entries of `known_` are erased at this size
    std::size_t prune_at_ = 64;
    Timer sweep_;
};

} // namespace tenure::etcd
