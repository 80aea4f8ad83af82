// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tenure::simulation
{

class World;

/** A request on its way to the store, and then its answer on the way back. */
struct Message {
    enum class Kind : std::uint8_t { claim, renew, release, withdraw };
    enum class Answer : std::uint8_t { granted, busy, renewed, not_owner, released, refused };

    Kind kind{};
    RangeId range{};
    std::uint8_t index = 0;
    bool search_own = false;
    bool fencing = true;
    bool wake_ups = true;
    /// a second copy: executed, and never answered
    bool copy = false;
    ProcessId from = 0;
    /// which life of the process sent it, and which one of its links
    std::uint32_t life = 0;
    std::uint32_t link = 0;
    std::uint64_t request = 0;
    OwnerId owner = 0;
    Ns ttl = 0;

    Answer answer{};
    /// the grant found an older one, and did not extend it
    bool not_extended = false;
    std::uint64_t token = 0;
    Ns earliest_expiry = 0;
};

/** The store: a few keys with owners, a clock of its own, and what can happen to a server. Executes a request in one
 *  step, as Redis executes a script. */
class Server
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
        /// written by a request whose sender had given it up, or brought back by a failover: nobody believes in it
        bool late = false;
        /// when it was granted or extended, in world time
        Ns written = 0;
    };
    using Keys = std::array<Key, key_count>;

    explicit Server(World& world) noexcept
        : world_(world)
    {
    }

    void begin(Settings const& settings, LocalClock clock);

    /** Executes the request, and writes its answer into it. */
    void execute(Message& message, bool late);

    [[nodiscard]] Key const& key(KeyId id) const noexcept { return keys_[id]; }
    /** Changes whenever the key does. */
    [[nodiscard]] std::uint32_t version(KeyId id) const noexcept { return versions_[id]; }
    [[nodiscard]] bool held(KeyId id) const noexcept { return keys_[id].owner != 0 && keys_[id].expires > now(); }
    /** When a held key expires, in world time. */
    [[nodiscard]] Ns expires_at(KeyId id) const noexcept;
    [[nodiscard]] Keys const& keys() const noexcept { return keys_; }

    // -- what happens to it --

    void lose_everything();
    void go_back_to(Keys const& earlier, Ns clock_differs_by);
    void jump(Ns by);
    void overwrite(KeyId key, OwnerId thief, Ns ttl);
    void remove(KeyId key);

    bool refuses = false;
    /// when anything last went wrong with it
    Ns last_trouble = 0;

    static constexpr std::uint32_t no_process = most_processes;

private:
    [[nodiscard]] Ns now() const noexcept;
    [[nodiscard]] std::uint64_t next_token(Key& key, KeyId id);
    void claim(Message& message, bool late);
    void grant(Message& message, std::uint8_t index, bool late);
    void extend(Message& message, KeyId id, bool late);
    bool free(KeyId id, OwnerId owner, bool wake_ups);
    void changed(KeyId id) noexcept { ++versions_[id]; }
    [[nodiscard]] std::uint8_t count_of(RangeId range) const noexcept;

    World& world_;
    LocalClock clock_;
    std::uint32_t slots_ = 1;
    Keys keys_{};
    std::array<std::uint32_t, key_count> versions_{};
};

} // namespace tenure::simulation
