// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "byte_network.hpp"
#include "keyspace.hpp"
#include "lua.hpp"
#include "reply.hpp"
#include "settings.hpp"
#include "token_book.hpp"

#include "../known_store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::simulation
{

/** A Redis or Valkey server: bytes in, bytes out. It runs the received scripts. Writes to contended keys are recorded
 * in `KnownStore`, and writes to a fencing counter in a `TokenBook`. So the checker knows the server's state from its
 * actions, not from its replies. */
class RedisServer final : public KnownStore, public ByteServer, private ScriptHost
{
public:
    RedisServer(World& world, ByteNetwork& network) noexcept;

    /** How the clients of the present world are configured. */
    [[nodiscard]] RedisConfig const& client_config() const noexcept { return settings_.client; }

    void begin(Settings const& settings, LocalClock clock, std::size_t snapshots) override;
    [[nodiscard]] std::string
    wrong_token(KeyId key, OwnerId owner, std::uint64_t token, std::span<std::uint64_t const> answered) const override;
    [[nodiscard]] std::vector<Place> line(RangeId range) override;

    // -- for the network --
    void opened(ConnectionId connection, ProcessId process, std::uint32_t life) override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection) override;
    void gone() override;

    // -- what happens to it --
    void lose_everything() override;
    void remember(std::uint32_t snapshot) override;
    void go_back_to(std::uint32_t snapshot, Ns clock_differs_by) override;
    void jump(Ns by) override;
    void overwrite(KeyId key, std::string_view thief, Ns ttl) override;
    void remove(KeyId key) override;
    void refuse(bool is) override;
    void forget_scripts() override;
    void spoil_counter(bool by_list, Ns length) override;
    void lose_lines(Ns spoiled_for) override;

private:
    using Words = std::vector<std::string>;

    /** The commands between MULTI and EXEC. */
    struct Transaction {
        std::vector<Words> queued;
        /// a command was refused: EXEC will be
        bool refused = false;
        Ns written = 0;
    };
    /** One client. */
    struct Session {
        ConnectionId connection = 0;
        ProcessId process = 0;
        std::uint32_t life = 0;
        RequestReader reader;
        bool authenticated = false;
        int protocol = 2;
        std::size_t database = 0;
        std::set<std::string> channels;
        std::optional<Transaction> transaction;
        /// keys and owners that it has given back
        std::set<std::pair<std::string, std::string>> released;
    };
    /** The request that is executed now. */
    struct Execution {
        Session* session = nullptr;
        Words const* words = nullptr;
        Ns written = 0;
        /// the client no longer waits for the answer
        bool late = false;
        Effects effects;
        /// the owners of the keys that it has freed or left to rest, and how many waiters it has named and removed for
        /// them
        struct Freed {
            std::vector<OwnerId> owners;
            std::size_t popped = 0;
            std::size_t named = 0;
        };
        std::array<Freed, range_count> freed{};
        // for the chronicle
        OwnerId owner = 0;
        KeyId key = nobody_key;
    };
    /** How it refuses. */
    enum class Refusal : std::uint8_t { misconf, oom, loading, readonly };
    struct Command {
        std::string_view name;
        Reply (RedisServer::*run)(Words const& words);
        /// number of words of a request, including its name; negative: a minimum
        int arity;
        bool writes = false;
        bool takes_memory = false;
        /// also before the login, while data is loaded, and never in a script
        bool connection = false;
        /// also while data is loaded, and never in a script
        bool transaction = false;
    };
    static constexpr KeyId nobody_key = 255;
    /// of the fencing tokens of all keys
    static constexpr std::string_view counter_name = "tenure:fence";

    [[nodiscard]] static std::span<Command const> commands();
    void serve(Session& session, Request const& request);
    [[nodiscard]] std::optional<Reply> refused(Words const& words, bool in_script);
    [[nodiscard]] Reply run(Words const& words);
    /// those of a command that a script may call
    [[nodiscard]] static std::span<std::string const> keys_of(Words const& words);
    void note_kind(Session& session, Words const& words);
    void note_served(Session const& session, std::string_view command);
    [[nodiscard]] std::optional<Reply> refusal_of(Command const& command) const;
    Reply call(Words const& words) override;
    [[nodiscard]] Reply wrong_number_of_arguments(std::string_view command) const;
    [[nodiscard]] static Reply no_number();
    [[nodiscard]] static Reply wrong_type();
    void subscribe(Session& session, Words const& words, std::string& out);

    // commands of connections (session.cpp)
    Reply hello(Words const& words);
    Reply auth(Words const& words);
    Reply select(Words const& words);
    Reply ping(Words const& words);
    Reply info(Words const& words);
    Reply publish(Words const& words);
    /// the stores that the message names; empty: it is for all
    [[nodiscard]] std::vector<Place> named_by(std::string_view message, RangeId range) const;
    [[nodiscard]] bool publishes_in_scripts() const noexcept
    {
        return settings_.strictness != Strictness::publish && settings_.strictness != Strictness::text;
    }
    [[nodiscard]] static bool is_of(Session const& session, Place const& place) noexcept
    {
        return place.process == session.process && place.life == session.life;
    }
    /// this name leaves the line
    void look_at_popped(RangeId range, std::string const& name);
    /// this number of names is published
    void look_at_named(RangeId range, std::size_t count);
    /// a request is done
    void look_at_freed();
    // transactions (transactions.cpp)
    [[nodiscard]] Reply answer(Words const& words);
    [[nodiscard]] Reply abort(std::string_view because);
    /// the transaction has a command with this property
    [[nodiscard]] bool queues(bool (*property)(Command const&)) const;
    Reply multi(Words const& words);
    Reply exec(Words const& words);
    Reply discard(Words const& words);
    // commands on keys (commands.cpp)
    Reply get(Words const& words);
    Reply mget(Words const& words);
    Reply exists(Words const& words);
    Reply pttl(Words const& words);
    Reply time(Words const& words);
    Reply set(Words const& words);
    Reply incr(Words const& words);
    Reply pexpire(Words const& words);
    Reply pexpireat(Words const& words);
    Reply del(Words const& words);
    Reply delifeq(Words const& words);
    Reply delex(Words const& words);
    /// those on hashes
    Reply hash(Words const& words);
    // commands on lists (lists.cpp)
    [[nodiscard]] std::optional<Reply> find_list(std::string_view key, Keyspace::Entry*& entry);
    Reply push(Words const& words, bool in_front);
    Reply lpush(Words const& words);
    Reply rpush(Words const& words);
    Reply lpop(Words const& words);
    Reply lrem(Words const& words);
    Reply lrange(Words const& words);
    Reply llen(Words const& words);
    Reply lindex(Words const& words);
    Reply lpos(Words const& words);
    // scripts (scripting.cpp)
    Reply eval(Words const& words);
    Reply evalsha(Words const& words);
    Reply script(Words const& words);
    Reply run_script(std::string const& sha, std::string const& text, Words const& words);

    [[nodiscard]] std::int64_t milliseconds_now() const noexcept { return now() / millisecond; }
    [[nodiscard]] Keyspace::Entry* find(std::string_view key);
    [[nodiscard]] bool named(std::string_view value) const;
    void store(std::string_view key, std::string value, std::int64_t expires);
    void expire(std::string_view key, Keyspace::Entry& entry, std::int64_t expires);
    bool erase(std::string_view key);
    /// a lock key of the database that leases use
    [[nodiscard]] std::optional<KeyId> lock_key(std::string_view key) const;
    void note_draw(std::string_view key, std::string_view value);
    [[nodiscard]] static std::string key_name(KeyId id);
    [[nodiscard]] static std::string fence_name(KeyId id);
    [[nodiscard]] static std::string line_name(RangeId range);
    [[nodiscard]] static std::optional<RangeId> range_of_line(std::string_view key);
    void noted(KeyId id, OwnerId owner, std::int64_t expires);
    // misfortunes (misfortunes.cpp)
    [[nodiscard]] std::uint64_t micros_now() const noexcept;
    /// the values of the fencing counters of each key
    [[nodiscard]] std::array<std::string, key_count> counters();
    void lose_counter();
    void spoil(std::string_view key, bool by_list, Ns length);

    ByteNetwork& network_;
    Random random_;
    RedisSettings settings_;
    Keyspace keys_of_;
    std::vector<Keyspace> earlier_;
    std::map<ConnectionId, Session> sessions_;
    /// by their SHA-1
    std::map<std::string, std::string, std::less<>> scripts_;
    /// the SHA-1 of each text that was ever seen, which costs more than running it
    std::map<std::string, std::string> sums_;
    /// the store that has each name, and when the name last came into each of the lines
    std::array<std::map<std::string, Place, std::less<>>, range_count> names_;
    TokenBook tokens_;
    Lua lua_;
    /// KEYS of the script that runs now
    std::span<std::string const> declared_;
    Execution now_;
    /// how many names have left the line for a freed key, and no message has named them
    std::array<std::size_t, range_count> unpublished_{};
    Refusal refusal_ = Refusal::misconf;
};

} // namespace tenure::simulation
