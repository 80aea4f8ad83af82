// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/core.hpp"
#include "engine/lease_record.hpp"
#include "engine/lease_target.hpp"

#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease.hpp>
#include <tenure/lock.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

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
    using Lock::target;
    [[nodiscard]] std::shared_ptr<engine::Core> const& core() const noexcept { return target().handle()->core(); }
};

/** A lease as the engine sees it. */
struct EngineLease : Lease {
    [[nodiscard]] static std::shared_ptr<engine::LeaseRecord> const& record_of(Lease const& lease) noexcept
    {
        return (lease.*&EngineLease::record)();
    }
};

/** Why an acquisition is refused before any request to the store. */
struct Refusal {
    error_code error;
    std::string words;
};

/** A holder: which keys it has or asks for, of which stores. It keeps no store open and nothing alive. */
class HolderState
{
public:
    using StorePtr = std::shared_ptr<engine::Core>;

    explicit HolderState(Order order);

    [[nodiscard]] Order order() const noexcept { return order_; }
    /** This process is a fork of the one that it was made in: nothing else may be asked, a thread that is not here may
     * have the mutex for ever. */
    [[nodiscard]] bool forked() const noexcept;

    /** Guards what follows, and everything in the holder's keys. No user's code, and no user's object, is called or
     * destroyed with it held. */
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

    /** Null: the holder neither has nor asks for the key. */
    [[nodiscard]] std::shared_ptr<HeldKey> find(StorePtr const& store, std::string const& key) const;
    void add(StorePtr const& store, std::string const& key, std::shared_ptr<HeldKey> const& held);
    /** Removes a key that the holder neither has nor waits for. */
    void remove(std::weak_ptr<engine::Core> const& store, std::string const& key, HeldKey const& held);
    /** Whether Holds on the key are there. */
    void note(std::weak_ptr<engine::Core> const& store, std::string const& key, bool held);
    /** It acquired the key by a lock that is not re-entrant. */
    void note(StorePtr const& store, std::string const& key, std::weak_ptr<engine::LeaseRecord const> lease);

    /** Whether the holder may wait for the key.
     *  @param reentrant  false: by a lock that does not know the holder */
    [[nodiscard]] std::optional<Refusal> refuse(StorePtr const& store, std::string const& key, bool reentrant);

private:
    struct Known {
        std::weak_ptr<HeldKey> key;
        /// which one that is, also when it is gone
        HeldKey const* identity = nullptr;
        /// Holds on it are there
        bool held = false;
        /// by a lock that is not re-entrant
        std::weak_ptr<engine::LeaseRecord const> lease;
    };
    using Keys = std::map<std::string, Known>;

    Order order_;
    std::uint64_t fork_generation_;
    std::mutex mutex_;
    std::map<std::weak_ptr<engine::Core>, Keys, std::owner_less<>> stores_;
};

} // namespace tenure::locks
