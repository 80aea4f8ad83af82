// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/client.hpp"
#include "store/etcd/leases/leases.hpp"

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

/** What the attempts of one owner have in common. An attempt that has put nothing yet stops when a later one begins or
 * the owner is withdrawn. */
struct OwnerState {
    /// of the latest attempt
    std::uint64_t attempt = 0;
    bool withdrawn = false;
    /// of one that was withdrawn: its lease has lapsed by then, whatever came of that
    Instant over_at = Instant::max();
    /// the lease of a put without a good answer; null: no such put
    LeasePtr lease;
    /// which the key that was granted bears, whichever attempt put it
    LeasePtr granted = {};
};
using OwnerStatePtr = std::shared_ptr<OwnerState>;

/** The owners with attempts under way or of unknown outcome. */
class Owners
{
public:
    /** Another attempt begins; the earlier ones stop. */
    [[nodiscard]] OwnerStatePtr begin(std::string const& owner, Instant now)
    {
        if (states_.size() >= prune_at_) {
            std::erase_if(states_, [now](auto const& entry) { return entry.second->over_at <= now; });
            prune_at_ = std::max<std::size_t>(64, 2 * states_.size());
        }
        auto& state = states_[owner];
        if (state == nullptr)
            state = std::make_shared<OwnerState>();
        ++state->attempt;
        return state;
    }

    /** Null: nothing of it is under way or unknown. */
    [[nodiscard]] OwnerStatePtr find(std::string const& owner) const
    {
        auto const found = states_.find(owner);
        return found == states_.end() ? nullptr : found->second;
    }

    /** Its outcome is known. */
    void forget(std::string const& owner, OwnerStatePtr const& state)
    {
        auto const found = states_.find(owner);
        if (found != states_.end() && found->second == state)
            states_.erase(found);
    }

private:
    std::map<std::string, OwnerStatePtr> states_;
    /// owners whose lease has lapsed are erased at this size
    std::size_t prune_at_ = 64;
};

/** The cluster as the operations see it. Shared by those under way; everything belongs to the strand. */
struct ClusterContext {
    explicit ClusterContext(ClientPtr through)
        : client(std::move(through))
        , leases(std::make_shared<Leases>(client))
    {
    }

    [[nodiscard]] Runtime& runtime() const noexcept { return client->runtime(); }
    [[nodiscard]] std::string where() const { return client->where(); }

    ClientPtr client;
    std::shared_ptr<Leases> leases;
    Owners owners;
    /// prefix and index of the keys that claims of this store are just taking: the others take another one
    std::set<std::pair<std::string, std::uint32_t>> being_taken;
};
using ClusterPtr = std::shared_ptr<ClusterContext>;

} // namespace tenure::etcd
