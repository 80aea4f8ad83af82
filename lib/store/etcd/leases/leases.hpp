// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/http/messages.hpp"

#include <runtime/timer.hpp>
#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** A lease of the server. */
struct Lease {
    LeaseId id = 0;
    /// requested, and granted by the server; seconds
    std::int64_t seconds = 0;
    std::int64_t granted = 0;
    /// term of the cluster when the grant was requested: leaders of earlier terms may not know the lease; 0: unknown
    std::uint64_t raft_term = 0;
    /// begin of the ttl: before its grant, or its last proven renewal, was written
    Instant since{};
    /// a revocation was requested, so keys of this lease are unreliable
    bool revoked = false;
    /// A keep-alive that a member answered as leader: when it was written, and the member's term. It counts once a
    /// majority is known to have followed that leader afterwards.
    struct Unproven {
        Instant since{};
        std::uint64_t raft_term = 0;
    };
    std::optional<Unproven> renewed = {};
};
using LeasePtr = std::shared_ptr<Lease>;

/** State of a held claim in this store: `Claim::handle`. */
struct HeldKey {
    /** A lease to which the key was possibly moved, while the outcome is unknown. */
    struct Successor {
        LeasePtr lease;
        /// the key moves only if this is its last change
        std::uint64_t if_modified = 0;
    };

    /** Of a key that is held in places. */
    struct Place {
        /// which stays its name if it moves to another lease
        std::string key;
        Share share;
    };

    LeasePtr lease;
    std::vector<Successor> successors;
    /// of the key: the revision that created it, and that of its last change
    std::uint64_t created = 0;
    std::uint64_t modified = 0;
    /// the instant until which the holder may rely on the key, according to all replies so far
    Instant promised{};
    /// earliest begin of an optional move
    Instant next_move{};
    /// null: a plain key
    std::shared_ptr<Place const> place = nullptr;
};

[[nodiscard]] inline HeldKey& held_key_of(Claim const& claim) noexcept
{
    return *static_cast<HeldKey*>(claim.handle.get());
}

/** Whole seconds, rounded up: a server's lease is never shorter than requested. */
[[nodiscard]] std::int64_t whole_seconds(std::chrono::milliseconds ttl) noexcept;

/** The ttl that the holder may use: the requested one if the server granted that, rounded up; else the server's.
 *  @param reuse_after  the part of the server's lease that is the key's quarantine */
[[nodiscard]] std::chrono::milliseconds usable_ttl(
    std::chrono::milliseconds asked, std::chrono::milliseconds reuse_after, std::int64_t granted_seconds) noexcept;

/** Makes leases, one per claim. The lease of a released claim serves the next claim: unchanged while it is young, and
 *  after a keep-alive up to half its ttl. After that, or if another leader was elected since its grant, it is revoked.
 */
class Leases
{
public:
    using Taken = std::variant<LeasePtr, Failure>;

    explicit Leases(ClientPtr client);

    /** Takes a lease without keys, to which no pending request can bind a key. The caller proves it with the answer to
     *  its put. May complete at once.
     *  @param ttl     the holder's part of the lifetime, of which a twentieth may have passed
     *  @param sender  of the first request; the others are later steps */
    [[nodiscard]] static store::Request<Taken> take(
        std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, std::chrono::milliseconds ttl,
        Deadline not_after, Sender sender);

    /** Takes a new lease in any case. */
    [[nodiscard]] static store::Request<Taken>
    grant(std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, Deadline not_after, Sender sender);

    /** Records the term in an answer that a majority took part in. A late answer sets the term back briefly: then a
     *  lease may count as older than it is, and be moved unnecessarily. */
    void note(Header const& answer) noexcept { raft_term_ = answer.raft_term; }

    /** As above; also proves an earlier keep-alive of this lease. */
    void prove(Lease& lease, Header const& later) noexcept;

    /** Returns a lease for which the promises of `take` certainly hold again. */
    void give_back(LeasePtr lease);

    /** Ends a lease and deletes its keys without waiting: if that fails, it expires. */
    void discard(LeasePtr const& lease);

    /** As above, with a reply. A lease that the server does not know counts as ended. */
    [[nodiscard]] static store::Request<WithdrawReply>
    revoke(ClientPtr client, LeasePtr lease, Deadline not_after, Sender sender);

    /** The lease of this store with this id that is still in use; null: unknown. */
    [[nodiscard]] LeasePtr known(LeaseId id) const;

    void close() noexcept;

private:
    /** True if a claim may take it, perhaps after a keep-alive. */
    [[nodiscard]] bool is_spare(Lease const& lease) const;
    /** Null: no spare lease is left. */
    [[nodiscard]] LeasePtr take_spare(std::int64_t seconds);
    void sweep();

    ClientPtr client_;
    /// term of the leader that a majority last followed, as far as known; 0: unknown
    std::uint64_t raft_term_ = 0;
    /// by whole seconds; the youngest are used first
    std::map<std::int64_t, std::vector<LeasePtr>> spares_;
    std::map<LeaseId, std::weak_ptr<Lease>> known_;
    /// expired entries of `known_` are erased at this size
    std::size_t prune_at_ = 64;
    Timer sweep_;
    /// this object, for its timer: expires with it
    std::shared_ptr<Leases> self_{this, [](Leases*) {}};
};

} // namespace tenure::etcd
