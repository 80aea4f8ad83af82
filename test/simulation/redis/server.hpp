// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "byte_network.hpp"
#include "keyspace.hpp"
#include "lua.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include "../known_store.hpp"

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

/** A Redis or Valkey server: bytes in, bytes out. It runs the scripts that it is sent. Whatever is written to a key
 * that workers contend for is noted in the keys of `KnownStore`, so that the checker knows what the server knows, from
 * what the server did and not from what anybody answered. */
class RedisServer final : public KnownStore, public ByteServer, private ScriptHost
{
public:
    RedisServer(World& world, ByteNetwork& network) noexcept;

    /** How the clients of the present world are configured. */
    [[nodiscard]] RedisConfig const& client_config() const noexcept { return settings_.client; }

    void begin(Settings const& settings, LocalClock clock, std::size_t snapshots) override;

    // -- for the network --
    void opened(ConnectionId connection, ProcessId process, std::uint32_t life) override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection) override;
    void gone() override;

    // -- what happens to it --
    void lose_everything() override;
    void remember(std::uint32_t snapshot) override;
    void go_back_to(std::uint32_t snapshot, Ns clock_differs_by) override;
    void overwrite(KeyId key, std::string_view thief, Ns ttl) override;
    void remove(KeyId key) override;
    void refuse(bool is) override;
    void forget_scripts() override { scripts_.clear(); }

private:
    using Words = std::vector<std::string>;

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
        /// keys and owners that it has given back
        std::set<std::pair<std::string, std::string>> released;
    };
    /** The request that is executed now. */
    struct Execution {
        Session* session = nullptr;
        Words const* words = nullptr;
        Ns written = 0;
        /// nobody waits for its answer
        bool late = false;
        Effects effects;
        // for the chronicle
        OwnerId owner = 0;
        KeyId key = nobody_key;
    };
    /** How it refuses. */
    enum class Refusal : std::uint8_t { misconf, oom, loading, readonly };
    struct Command {
        std::string_view name;
        Reply (RedisServer::*run)(Words const& words);
        std::size_t least_words;
        bool writes = false;
        bool takes_memory = false;
        /// also before the login, while data is loaded, and never in a script
        bool connection = false;
    };
    static constexpr KeyId nobody_key = 255;

    [[nodiscard]] static std::span<Command const> commands();
    void serve(Session& session, Request const& request);
    [[nodiscard]] Reply execute(Words const& words, bool in_script);
    void note_kind(Session& session, Words const& words);
    [[nodiscard]] std::optional<Reply> refusal_of(Command const& command) const;
    Reply call(Words const& words) override;
    void subscribe(Session& session, Words const& words, std::string& out);

    // commands of connections (session.cpp)
    Reply hello(Words const& words);
    Reply auth(Words const& words);
    Reply select(Words const& words);
    Reply ping(Words const& words);
    Reply info(Words const& words);
    Reply publish(Words const& words);
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
    [[nodiscard]] std::optional<KeyId> fenced_key(std::string_view key) const;
    void noted(KeyId id, OwnerId owner, std::int64_t expires);

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
    Lua lua_;
    Execution now_;
    Refusal refusal_ = Refusal::misconf;
};

} // namespace tenure::simulation
