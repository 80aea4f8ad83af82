// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"

#include "harness/immovable.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

class World;

/** The world's model of the store: a few keys with owners, a clock of its own, and the faults of a server. The
 *  layers differ in who reads and writes it. */
class KnownStore : test::Immovable
{
public:
    struct Key {
        OwnerId owner = 0;
        /// on the store's clock
        Ns expires = 0;
        /// last one given out
        std::uint64_t fence = 0;
        /// that of the present owner
        std::uint64_t token = 0;
        ProcessId process = 0;
        std::uint32_t life = 0;
        /// for a key without an owner: the holder that detached it; 0: it was released
        OwnerId kept_after = 0;
        /// written by an abandoned request, or restored by a failover: no process relies on it
        bool late = false;
        /// when its present owner got it, and when it was granted or extended, in world time
        Ns taken = 0;
        Ns written = 0;
    };
    using Keys = std::array<Key, key_count>;

    explicit KnownStore(World& world) noexcept
        : world_(world)
    {
    }
    virtual ~KnownStore() = default;

    /** @param snapshots  how many states will be remembered */
    virtual void begin(Settings const& settings, LocalClock clock, std::size_t snapshots);

    [[nodiscard]] Key const& key(KeyId id) const noexcept { return keys_[id]; }
    /** A store's place in the line of waiters of a range. */
    struct Place {
        ProcessId process = 0;
        std::uint32_t life = 0;
        /// in world time
        Ns joined = 0;
        /// its claim was given up before it came to the store: its process knows of no place
        bool late = false;
    };
    /** The line of a range, first come first served. */
    [[nodiscard]] virtual std::vector<Place> line(RangeId range) = 0;
    /** Changes whenever the key does. */
    [[nodiscard]] std::uint32_t version(KeyId id) const noexcept { return versions_[id]; }
    [[nodiscard]] bool held(KeyId id) const noexcept { return keys_[id].owner != 0 && keys_[id].expires > now(); }
    /** Until when a held key is its holder's, in world time: its quarantine follows. */
    [[nodiscard]] Ns owned_until(KeyId id) const noexcept;
    [[nodiscard]] bool resting(KeyId id) const noexcept { return keys_[id].owner == resting_owner; }
    /** The fault of a lease of this owner that bears the fencing token; empty: none. A layer that does not
     * follow the tokens itself goes by those of the last answers to the owner. */
    [[nodiscard]] virtual std::string
    wrong_token(KeyId key, OwnerId owner, std::uint64_t token, std::span<std::uint64_t const> answered) const;
    /** How long the key rests after its use. */
    [[nodiscard]] Ns rest_of(KeyId id) const noexcept { return range_of(id) == RangeId::slots ? reuse_after_ : 0; }

    // -- what happens to it --

    virtual void lose_everything();
    virtual void remember(std::uint32_t snapshot) { snapshots_[snapshot] = keys_; }
    virtual void go_back_to(std::uint32_t snapshot, Ns clock_differs_by);
    virtual void jump(Ns by);
    virtual void overwrite(KeyId key, std::string_view thief, Ns ttl);
    virtual void remove(KeyId key);
    /** From now on it refuses whatever writes, or does so no more. */
    virtual void refuse(bool is) { refuses = is; }
    virtual void forget_scripts() {}
    /** Another program writes a list or a word to the counter of fencing tokens, which stays for a while. */
    virtual void spoil_counter(bool, Ns) {}
    /** The lines of waiters are deleted, or overwritten for a while. */
    virtual void lose_lines(Ns) {}

    bool refuses = false;
    /// when anything last went wrong with it
    Ns last_trouble = 0;

    static constexpr std::uint32_t no_process = most_processes;

protected:
    [[nodiscard]] Ns now() const noexcept;
    [[nodiscard]] World& world() const noexcept { return world_; }
    [[nodiscard]] std::uint8_t count_of(RangeId range) const noexcept;

    /** A new owner; `extended` follows. */
    [[nodiscard]] Key& taken(KeyId id, OwnerId owner, ProcessId process, std::uint32_t life, bool late);
    void extended(KeyId id, Ns expires, bool late);
    /** The key was released and is in quarantine until `expires`. */
    void rests(KeyId id, Ns expires);
    /** The key was detached and stays taken until `expires`. */
    void kept(KeyId id, Ns expires);
    void freed(KeyId id);
    void changed(KeyId id) noexcept { ++versions_[id]; }

    Keys keys_{};

private:
    World& world_;
    LocalClock clock_;
    std::uint32_t slots_ = 1;
    Ns reuse_after_ = 0;
    std::array<std::uint32_t, key_count> versions_{};
    /// states to which it will be set back
    std::vector<Keys> snapshots_;
};

} // namespace tenure::simulation
