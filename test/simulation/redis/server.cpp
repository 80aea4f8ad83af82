// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server.hpp"

#include "../world.hpp"

#include <quarantine.hpp>
#include <redis/release_scripts.hpp>
#include <redis/scripts.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

/// its clock shows the year, so that fencing tokens have the size they will have
constexpr Ns epoch = 1'700'000'000 * second;

std::string key_name(KeyId id)
{
    auto const range = range_of(id);
    return std::string(name_of(range)) + (range == RangeId::slots ? std::to_string(id - 2) : "");
}

std::optional<KeyId> key_called(std::string_view name)
{
    if (name == name_of(RangeId::job))
        return key_of(RangeId::job, 0);
    if (name == name_of(RangeId::plain))
        return key_of(RangeId::plain, 0);
    if (constexpr auto prefix = name_of(RangeId::slots); name.starts_with(prefix)) {
        std::uint32_t index = 0;
        name.remove_prefix(prefix.size());
        auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
        if (error == std::errc() && end == name.data() + name.size() && index < most_slots)
            return key_of(RangeId::slots, index);
    }
    return std::nullopt;
}

} // namespace

RedisServer::RedisServer(World& world, ByteNetwork& network) noexcept
    : KnownStore(world)
    , network_(network)
{
}

void RedisServer::begin(Settings const& settings, LocalClock clock, std::size_t snapshots)
{
    clock.jump(epoch);
    KnownStore::begin(settings, clock, snapshots);
    auto const seed = world().plan().seed;
    settings_ = make_redis_settings(seed);
    random_ = Random(seed, 8);
    keys_of_.clear();
    earlier_.assign(snapshots, {});
    sessions_.clear();
    scripts_.clear();
    now_ = {};
}

// -- clients --

void RedisServer::opened(ConnectionId connection, ProcessId process, std::uint32_t life)
{
    auto& session = sessions_[connection];
    session.connection = connection;
    session.process = process;
    session.life = life;
    session.authenticated = settings_.client.password.empty();
}

void RedisServer::closed(ConnectionId connection)
{
    sessions_.erase(connection);
}

void RedisServer::gone()
{
    sessions_.clear();
    scripts_.clear();
}

void RedisServer::received(ConnectionId connection, std::string_view bytes)
{
    auto const found = sessions_.find(connection);
    if (found == sessions_.end())
        return;
    auto& session = found->second;
    session.reader.feed(bytes);
    Request request;
    for (;;) {
        switch (session.reader.next(request)) {
        case RequestReader::Status::complete:
            serve(session, request);
            break;
        case RequestReader::Status::incomplete:
            return;
        case RequestReader::Status::malformed:
            world().checker.violate(Rule::s14, "a connection carries what no server understands");
            return;
        }
    }
}

void RedisServer::serve(Session& session, Request const& request)
{
    now_ = {};
    now_.session = &session;
    now_.words = &request.words;
    now_.written = network_.written_at(session.connection, request.begin);
    auto const& process = world().process(session.process);
    now_.late = network_.abandoned(session.connection) || !process.alive() || process.life() != session.life;
    note_kind(session, request.words);
    std::string out;
    if (auto const& name = request.words.front(); name == "SUBSCRIBE" || name == "UNSUBSCRIBE")
        subscribe(session, request.words, out);
    else
        execute(request.words, false).append_to(out, session.protocol);
    auto const served = std::ranges::find(server_commands, request.words.front()) - server_commands.begin();
    world().chronicle.write(
        Note::serves, session.process, static_cast<std::uint8_t>(served), now_.owner, session.connection, now_.key);
    network_.reply(session.connection, out, std::move(now_.effects));
}

void RedisServer::note_kind(Session& session, Words const& words)
{
    auto const& name = words.front();
    auto const releases = [&](std::string const& key, std::string const& owner) {
        session.released.emplace(key, owner);
    };
    auto const renews = [&](std::string const& key, std::string const& owner) {
        world().checker.renewal_written(owner_id(owner), now_.written, session.released.contains({key, owner}));
    };
    if (name == "DELIFEQ" || name == "DELEX")
        releases(words[1], words.back());
    else if (words.size() > 4 && words[3] == "IFEQ" && words[2] == words[4])
        renews(words[1], words[2]);
    if ((name != "EVAL" && name != "EVALSHA") || words.size() < 4)
        return;
    auto const is = [&](redis::Script const& script) {
        return words[1] == (name == "EVAL" ? script.text : script.sha);
    };
    std::size_t count = 0;
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), count);
    for (std::size_t at = 3; at < 3 + count && at < words.size(); ++at)
        if (is(redis::scripts::renew()))
            renews(words[at], words.at(at + count + 1));
        else if (is(redis::scripts::release()))
            releases(words[at], words.at(at + count));
        else if (is(redis::scripts::withdraw()))
            releases(words[at], words.at(3 + count));
}

std::optional<Reply> RedisServer::refusal_of(Command const& command) const
{
    if (!refuses || command.connection)
        return std::nullopt;
    switch (refusal_) {
    case Refusal::misconf:
        if (command.writes)
            return Reply::error(
                "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.");
        break;
    case Refusal::oom:
        if (command.takes_memory)
            return Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
        break;
    case Refusal::loading:
        return Reply::error("LOADING Redis is loading the dataset in memory");
    case Refusal::readonly:
        if (command.writes)
            return Reply::error("READONLY You can't write against a read only replica.");
        break;
    }
    return std::nullopt;
}

std::span<RedisServer::Command const> RedisServer::commands()
{
    using S = RedisServer;
    static constexpr std::array<Command, 22> all{{
        {"HELLO", &S::hello, 1, false, false, true},
        {"AUTH", &S::auth, 2, false, false, true},
        {"SELECT", &S::select, 2, false, false, true},
        {"PING", &S::ping, 1, false, false, false},
        {"INFO", &S::info, 1, false, false, false},
        {"PUBLISH", &S::publish, 3, false, false, false},
        {"GET", &S::get, 2, false, false, false},
        {"MGET", &S::mget, 2, false, false, false},
        {"EXISTS", &S::exists, 2, false, false, false},
        {"PTTL", &S::pttl, 2, false, false, false},
        {"TIME", &S::time, 1, false, false, false},
        {"SET", &S::set, 3, true, true, false},
        {"INCR", &S::incr, 2, true, true, false},
        {"PEXPIRE", &S::pexpire, 3, true, false, false},
        {"PEXPIREAT", &S::pexpireat, 3, true, false, false},
        {"DEL", &S::del, 2, true, false, false},
        {"DELIFEQ", &S::delifeq, 3, true, false, false},
        {"DELEX", &S::delex, 2, true, false, false},
        {"EVAL", &S::eval, 3, false, false, false},
        {"EVALSHA", &S::evalsha, 3, false, false, false},
        {"SCRIPT", &S::script, 2, false, false, false},
        {"UNLINK", &S::del, 2, true, false, false},
    }};
    return all;
}

Reply RedisServer::execute(Words const& words, bool in_script)
{
    auto const found = std::ranges::find(commands(), words.front(), &Command::name);
    auto const& flavor = settings_.flavor;
    if (found == commands().end() || (found->name == "HELLO" && !flavor.hello) ||
        (found->name == "DELIFEQ" && !flavor.delifeq) || (found->name == "DELEX" && !flavor.delex))
        return Reply::error("ERR unknown command '" + words.front() + "'");
    if (words.size() < found->least_words)
        return Reply::error("ERR wrong number of arguments for '" + words.front() + "' command");
    if (in_script && (found->connection || found->name.starts_with("EVAL") || found->name == "SCRIPT"))
        return Reply::error("ERR This Redis command is not allowed from script");
    if (!now_.session->authenticated && !found->connection)
        return Reply::error("NOAUTH Authentication required.");
    if (auto refusal = refusal_of(*found)) {
        network_.trouble(now_.session->process);
        return std::move(*refusal);
    }
    return (this->*found->run)(words);
}

Reply RedisServer::call(Words const& words)
{
    return words.empty() ? Reply::error("ERR Please specify at least one argument for this redis lib call")
                         : execute(words, true);
}

// -- what the checker knows --

std::optional<KeyId> RedisServer::lock_key(std::string_view key) const
{
    return now_.session->database == settings_.client.database ? key_called(key) : std::nullopt;
}

std::optional<KeyId> RedisServer::fenced_key(std::string_view key) const
{
    constexpr std::string_view before = "{";
    constexpr std::string_view after = "}:fence";
    if (!key.starts_with(before) || !key.ends_with(after))
        return std::nullopt;
    return lock_key(key.substr(before.size(), key.size() - before.size() - after.size()));
}

bool RedisServer::named(std::string_view value) const
{
    return std::ranges::find(*now_.words, value) != now_.words->end();
}

void RedisServer::noted(KeyId id, OwnerId owner, std::int64_t expires)
{
    if (expires == Keyspace::no_expiry) {
        world().checker.violate(Rule::s13, "key " + std::to_string(id) + " is written without a ttl");
        return;
    }
    // it is gone once the clock shows more than these milliseconds
    extended(id, (expires + 1) * millisecond, now_.late);
    // it was on its way when the release began, and came after it: the key lapses by its ttl
    if (world().checker.released(owner))
        keys_[id].late = true;
    now_.owner = owner;
    now_.key = id;
    now_.effects.push_back(
        {Effect::Kind::held, range_of(id), owner, keys_[id].token,
         (expires - milliseconds_now()) * millisecond - rest_of(id), now_.written});
}

Keyspace::Entry* RedisServer::find(std::string_view key)
{
    return keys_of_.find(now_.session->database, key, milliseconds_now());
}

void RedisServer::store(std::string_view key, std::string value, std::int64_t expires)
{
    if (auto const id = lock_key(key)) {
        auto const owner = owner_id(value);
        auto const* const before = find(key);
        if (before != nullptr && !named(before->value))
            world().checker.violate(
                Rule::s12, "key " + std::to_string(*id) + " is taken from an owner that was not looked at");
        if (last_owner_of(value) && expires != Keyspace::no_expiry) {
            rests(*id, (expires + 1) * millisecond);
            keys_of_.set(now_.session->database, key, {std::move(value), expires});
            return;
        }
        if (before == nullptr || before->value != value) {
            auto& taken_key = taken(*id, owner, now_.session->process, now_.session->life, now_.late);
            bool const fenced = range_of(*id) != RangeId::plain;
            taken_key.token = fenced ? taken_key.fence : 0;
            if (fenced)
                world().checker.granted(*id, taken_key.fence);
        }
        noted(*id, owner, expires);
    } else if (auto const fenced = fenced_key(key)) {
        std::uint64_t token = 0;
        std::from_chars(value.data(), value.data() + value.size(), token);
        keys_[*fenced].fence = token;
    }
    keys_of_.set(now_.session->database, key, {std::move(value), expires});
}

void RedisServer::expire(std::string_view key, Keyspace::Entry& entry, std::int64_t expires)
{
    entry.expires = expires;
    if (auto const id = lock_key(key)) {
        if (!named(entry.value))
            world().checker.violate(
                Rule::s12, "key " + std::to_string(*id) + " is extended for an owner that was not compared");
        noted(*id, owner_id(entry.value), expires);
    }
}

bool RedisServer::erase(std::string_view key)
{
    auto const* const entry = find(key);
    if (entry == nullptr)
        return false;
    if (auto const id = lock_key(key)) {
        now_.owner = owner_id(entry->value);
        now_.key = *id;
        if (!named(entry->value))
            world().checker.violate(
                Rule::s7, "key " + std::to_string(*id) + " was freed by a request that does not name its owner");
        freed(*id);
    }
    keys_of_.erase(now_.session->database, key);
    return true;
}

// -- what happens to it --

void RedisServer::lose_everything()
{
    keys_of_.clear();
    KnownStore::lose_everything();
}

void RedisServer::remember(std::uint32_t snapshot)
{
    earlier_[snapshot] = keys_of_;
    KnownStore::remember(snapshot);
}

void RedisServer::go_back_to(std::uint32_t snapshot, Ns clock_differs_by)
{
    // another machine, to which no connection leads yet
    network_.server_is_gone();
    keys_of_ = earlier_[snapshot];
    KnownStore::go_back_to(snapshot, clock_differs_by);
}

void RedisServer::overwrite(KeyId id, std::string_view thief, Ns ttl)
{
    keys_of_.set(settings_.client.database, key_name(id), {std::string(thief), milliseconds_now() + ttl / millisecond});
    KnownStore::overwrite(id, thief, ttl);
}

void RedisServer::remove(KeyId id)
{
    keys_of_.erase(settings_.client.database, key_name(id));
    KnownStore::remove(id);
}

void RedisServer::refuse(bool is)
{
    if (is && !refuses)
        refusal_ = static_cast<Refusal>(random_.below(4));
    KnownStore::refuse(is);
}

} // namespace tenure::simulation
