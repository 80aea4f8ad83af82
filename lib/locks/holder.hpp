// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/core.hpp"
#include "engine/lease_record.hpp"
#include "engine/lease_target.hpp"
#include "runtime/fork_guard.hpp"

#include <tenure/backend/one_shot.hpp>
#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease.hpp>
#include <tenure/lock.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenure::locks
{

class HeldKey;

/** A lock, and the engine behind it. */
class EngineLock : public Lock
{
public:
    explicit EngineLock(Lock const& lock)
        : Lock(lock)
    {
    }
    using Lock::state_for;
    [[nodiscard]] engine::LeaseTarget const& target() const noexcept { return *state_for(); }
    [[nodiscard]] std::shared_ptr<engine::Core> const& core() const noexcept { return target().handle()->core(); }
};

/** A lease as the engine sees it. */
struct EngineLease {
    [[nodiscard]] static std::shared_ptr<engine::LeaseRecord> const& record_of(Lease const& lease) noexcept
    {
        return lease.record_;
    }
};

using engine::Refusal;

/** State of a holder: the keys that it has or requests, by store. It keeps no store open and owns no key. */
class HolderState
{
public:
    using StorePtr = std::shared_ptr<engine::Core>;

    explicit HolderState(Order order);

    [[nodiscard]] Order order() const noexcept { return order_; }
    [[nodiscard]] bool forked() const noexcept { return fork_mark_.forked(); }

    /** Calls to make once the mutex is unlocked: they run user code, or own objects of users. */
    using Afterwards = std::vector<OneShot<void()>>;

    /** Runs `change` with the mutex held that guards the functions below and all members of the holder's keys, then
     *  the calls that it has put into its argument. Does nothing in a child of fork, because a thread that does not
     *  exist in the child may own the mutex. */
    template <class Change>
    void change(Change change)
    {
        if (forked())
            return;
        Afterwards afterwards;
        {
            std::lock_guard const guard(mutex_);
            change(afterwards);
        }
        for (auto& call : afterwards)
            call();
    }

    // -- within a change --

    /** Null: the holder neither has nor requests the key. */
    [[nodiscard]] std::shared_ptr<HeldKey> find(StorePtr const& store, std::string const& key) const;
    void add(StorePtr const& store, std::string const& key, std::shared_ptr<HeldKey> const& held);
    /** Removes a key that the holder neither has nor requests. */
    void remove(std::weak_ptr<engine::Core> const& store, std::string const& key, HeldKey const& held);
    /** Records whether the key has ReentrantLeases. */
    void note(std::weak_ptr<engine::Core> const& store, std::string const& key, bool held);
    /** Records a lease that a lock without re-entrance acquired. */
    void note(StorePtr const& store, std::string const& key, std::weak_ptr<engine::LeaseRecord const> lease);

    /** Nullopt: the holder may wait for the key.
     *  @param reentrant  false: the lock does not know the holder */
    [[nodiscard]] std::optional<Refusal> refuse(StorePtr const& store, std::string const& key, bool reentrant);

private:
    struct Known {
        std::weak_ptr<HeldKey> key;
        /// address of the key object, also after its destruction
        HeldKey const* identity = nullptr;
        /// the key has ReentrantLeases
        bool held = false;
        /// the lease of a lock without re-entrance
        std::weak_ptr<engine::LeaseRecord const> lease;
    };
    using Keys = std::map<std::string, Known>;

    Order order_;
    ForkMark fork_mark_;
    std::mutex mutex_;
    std::map<std::weak_ptr<engine::Core>, Keys, std::owner_less<>> stores_;
};

} // namespace tenure::locks
