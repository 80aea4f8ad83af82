// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "places.hpp"
#include "runtime/names.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/leases/keep_alives.hpp"
#include "store/etcd/leases/leases.hpp"
#include "store/etcd/leases/proofs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace tenure::etcd
{

/** State that the attempts of one owner share. An attempt without a put stops when a later one begins, when another one
 *  is granted, or when the owner is withdrawn. */
struct OwnerState {
    /// number of attempts without an answer, including those that wait for their turn
    std::size_t open = 0;
    /// number of the latest attempt that has begun
    std::uint64_t attempt = 0;
    bool withdrawn = false;
    /// of a withdrawn owner: its lease has expired by then in any case
    Instant over_at = Instant::max();
    /// the lease of a put with unknown outcome; null: no such put
    LeasePtr lease;
    /// the lease of the granted key, from any of the attempts
    LeasePtr granted = {};
};
using OwnerStatePtr = std::shared_ptr<OwnerState>;

/** The owners with pending attempts or attempts of unknown outcome. */
class Owners
{
public:
    /** Adds an attempt, which waits for its turn. */
    [[nodiscard]] OwnerStatePtr add(std::string const& owner, Instant now)
    {
        if (states_.size() >= prune_at_) {
            std::erase_if(states_, [now](auto const& entry) { return entry.second->over_at <= now; });
            prune_at_ = std::max<std::size_t>(64, 2 * states_.size());
        }
        auto& state = states_[owner];
        if (state == nullptr)
            state = std::make_shared<OwnerState>();
        ++state->open;
        return state;
    }

    /** Null: no attempt is pending or unknown. */
    [[nodiscard]] OwnerStatePtr find(std::string const& owner) const
    {
        auto const found = states_.find(owner);
        return found == states_.end() ? nullptr : found->second;
    }

    /** Removes an owner whose outcome is known. */
    void forget(std::string const& owner, OwnerStatePtr const& state)
    {
        auto const found = states_.find(owner);
        if (found != states_.end() && found->second == state)
            states_.erase(found);
    }

private:
    std::map<std::string, OwnerStatePtr> states_;
    /// owners whose lease has expired are erased at this size
    std::size_t prune_at_ = 64;
};

/** The cluster as seen by the operations. Pending operations share it; everything runs on the strand. */
struct ClusterContext {
    explicit ClusterContext(ClientPtr through)
        : client(std::move(through))
        , leases(std::make_shared<Leases>(client))
        , keep_alives(std::make_shared<KeepAlives>(client))
        , proofs(std::make_shared<Proofs>(client, leases))
    {
    }

    [[nodiscard]] Runtime& runtime() const noexcept { return client->runtime(); }
    [[nodiscard]] std::string where() const { return client->where(); }

    ClientPtr client;
    std::shared_ptr<Leases> leases;
    std::shared_ptr<KeepAlives> keep_alives;
    std::shared_ptr<Proofs> proofs;
    Owners owners;
    /// prefix and index of the keys that claims of this store are taking now: other claims choose another key
    std::set<std::pair<std::string, std::uint32_t>> being_taken;
    PlaceLines lines;
};
using ClusterPtr = std::shared_ptr<ClusterContext>;

} // namespace tenure::etcd
