// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server.hpp"

#include "../world.hpp"

#include <store/ended_claim.hpp>
#include <store/redis/scripts/scripts.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

/// its clock shows the year, so that fencing tokens have the size they will have
constexpr Ns epoch = 1'700'000'000 * second;

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
    names_ = {};
    tokens_.begin();
    unpublished_ = {};
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
    forget_scripts();
}

void RedisServer::forget_scripts()
{
    scripts_.clear();
    world().checker.scripts_forgotten();
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
            if (session.transaction && !session.transaction->queued.empty() &&
                network_.breaks_within_transaction(connection)) {
                sessions_.erase(found);
                return;
            }
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
    auto const& name = request.words.front();
    // the script by which a client proves at its login that it may run scripts
    bool const is_proof = name == "EVAL" && request.words.size() > 1 && request.words[1] == "return 1";
    if (name != "HELLO" && name != "AUTH" && name != "SELECT" && name != "INFO" && !is_proof)
        network_.is_at_work(session.connection);
    if (!session.transaction)
        note_kind(session, request.words);
    std::string out;
    bool const subscribes = name == "SUBSCRIBE" || name == "UNSUBSCRIBE";
    if (subscribes && session.transaction)
        world().checker.violate(Rule::s14, "a subscription is sent between MULTI and EXEC");
    if (subscribes)
        subscribe(session, request.words, out);
    else
        answer(request.words).append_to(out, session.protocol);
    tokens_.step_ends();
    look_at_freed();
    note_served(session, request.words.front());
    network_.reply(session.connection, out, std::move(now_.effects));
}

void RedisServer::note_served(Session const& session, std::string_view command)
{
    auto const served = std::ranges::find(server_commands, command) - server_commands.begin();
    world().chronicle.write(
        Note::serves, session.process, static_cast<std::uint8_t>(served), std::exchange(now_.owner, 0),
        session.connection, std::exchange(now_.key, nobody_key));
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
    auto const values = 3 + count;
    if (is(redis::scripts::renew()))
        for (std::size_t at = 3; at < values; ++at)
            renews(words[at], words.at(at + count + 1));
    else if (is(redis::scripts::release().everywhere))
        releases(words.at(values - 1), words.at(values));
    else if (is(redis::scripts::release_each().everywhere))
        for (std::size_t at = 3 + 2 * (count + 1 - (words.size() - values)), owner = values + 1; at < values; ++at)
            releases(words[at], words.at(owner++));
    else if (is(redis::scripts::withdraw().everywhere))
        for (std::size_t at = 3; at < values; ++at)
            releases(words[at], words.at(values));
}

void RedisServer::look_at_popped(RangeId range, std::string const& name)
{
    auto const at = static_cast<std::size_t>(range);
    auto& freed = now_.freed.at(at);
    auto const number = freed.popped++;
    if (number >= freed.owners.size())
        return;
    ++unpublished_.at(at);
    // the reply to the request that freed the key has it, even if the client publishes the name later. Keys that were
    // freed while the line was empty have no name
    auto const& names = names_.at(at);
    if (auto const found = names.find(name); found != names.end() && !is_of(*now_.session, found->second))
        now_.effects.push_back({Effect::Kind::named_another, range, freed.owners[number], 0, 0});
}

void RedisServer::look_at_named(RangeId range, std::size_t count)
{
    auto const at = static_cast<std::size_t>(range);
    now_.freed.at(at).named += count;
    auto& unpublished = unpublished_.at(at);
    if (count > unpublished)
        // it asks at once, once: before a key is free in vain
        world().checker.violate(
            Rule::l1, "a waiter is named for " + std::string(name_of(range)) + ", and no key was freed for it before");
    unpublished -= std::min(count, unpublished);
}

void RedisServer::look_at_freed()
{
    // the client publishes what was popped, unless it dies before
    if (!publishes_in_scripts())
        return;
    for (auto const range : {RangeId::job, RangeId::plain, RangeId::slots}) {
        // polls would hide a missing notification
        auto const& freed = now_.freed.at(static_cast<std::size_t>(range));
        if (freed.named < freed.popped || (freed.named < freed.owners.size() && !line(range).empty()))
            world().checker.violate(
                Rule::l1, "a key of " + std::string(name_of(range)) + " is freed, and the first in line is not named");
    }
}

std::optional<Reply> RedisServer::refusal_of(Command const& command) const
{
    if (!refuses || command.connection)
        return std::nullopt;
    // EXEC is what its commands are
    bool const is_exec = command.name == "EXEC";
    bool const writes = command.writes || (is_exec && queues([](Command const& one) { return one.writes; }));
    switch (refusal_) {
    case Refusal::misconf:
        if (writes)
            return Reply::error(
                "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.");
        break;
    case Refusal::oom:
        // a transaction takes memory for whatever it queues
        if (command.takes_memory || (now_.session->transaction && !command.transaction) ||
            (is_exec && queues([](Command const& one) { return one.takes_memory; })))
            return Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
        break;
    case Refusal::loading:
        if (!command.transaction || (is_exec && queues([](Command const& one) { return !one.connection; })))
            return Reply::error("LOADING Redis is loading the dataset in memory");
        break;
    case Refusal::readonly:
        if (writes)
            return Reply::error("READONLY You can't write against a read only replica.");
        break;
    }
    return std::nullopt;
}

std::span<RedisServer::Command const> RedisServer::commands()
{
    using S = RedisServer;
    constexpr bool writes = true;
    constexpr bool memory = true;
    static constexpr std::array<Command, 39> all{{
        {"HELLO", &S::hello, -1, false, false, true},
        {"AUTH", &S::auth, -2, false, false, true},
        {"SELECT", &S::select, 2, false, false, true},
        {"PING", &S::ping, -1},
        {"INFO", &S::info, -1},
        {"PUBLISH", &S::publish, 3},
        {"GET", &S::get, 2},
        {"MGET", &S::mget, -2},
        {"EXISTS", &S::exists, -2},
        {"PTTL", &S::pttl, 2},
        {"TIME", &S::time, 1},
        {"SET", &S::set, -3, writes, memory},
        {"INCR", &S::incr, 2, writes, memory},
        {"PEXPIRE", &S::pexpire, -3, writes},
        {"PEXPIREAT", &S::pexpireat, -3, writes},
        {"DEL", &S::del, -2, writes},
        {"DELIFEQ", &S::delifeq, 3, writes},
        {"DELEX", &S::delex, -2, writes},
        {"EVAL", &S::eval, -3},
        {"EVALSHA", &S::evalsha, -3},
        {"SCRIPT", &S::script, -2},
        {"UNLINK", &S::del, -2, writes},
        {"LPUSH", &S::lpush, -3, writes, memory},
        {"RPUSH", &S::rpush, -3, writes, memory},
        {"LPOP", &S::lpop, -2, writes},
        {"LREM", &S::lrem, 4, writes},
        {"LRANGE", &S::lrange, 4},
        {"LLEN", &S::llen, 2},
        {"LINDEX", &S::lindex, 3},
        {"LPOS", &S::lpos, -3},
        {"HGET", &S::hash, 3},
        {"HMGET", &S::hash, -3},
        {"HSET", &S::hash, -4, writes, memory},
        {"HDEL", &S::hash, -3, writes},
        {"HGETALL", &S::hash, 2},
        {"HLEN", &S::hash, 2},
        {"MULTI", &S::multi, 1, false, false, false, true},
        {"EXEC", &S::exec, 1, false, false, false, true},
        {"DISCARD", &S::discard, 1, false, false, false, true},
    }};
    return all;
}

Reply RedisServer::wrong_number_of_arguments(std::string_view command) const
{
    std::string lower(command);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return Reply::error("ERR wrong number of arguments for '" + lower + "' command");
}

std::optional<Reply> RedisServer::refused(Words const& words, bool in_script)
{
    auto const found = std::ranges::find(commands(), words.front(), &Command::name);
    auto const& flavor = settings_.flavor;
    bool const old = flavor.old_script_errors;
    if (found == commands().end() || (found->name == "HELLO" && !flavor.hello) ||
        (found->name == "DELIFEQ" && !flavor.delifeq) || (found->name == "DELEX" && !flavor.delex) ||
        (found->name == "LPOS" && flavor.before_lpos)) {
        if (in_script)
            return Reply::error(
                old ? "@user_script: 1: Unknown Redis command called from Lua script"
                    : "ERR Unknown Redis command called from script");
        std::string arguments;
        for (auto word = words.begin() + 1; word != words.end(); ++word)
            arguments += old ? "`" + *word + "`, " : "'" + *word + "' ";
        return Reply::error(
            (old ? "ERR unknown command `" + words.front() + "`" : "ERR unknown command '" + words.front() + "'") +
            ", with args beginning with: " + arguments);
    }
    auto const count = static_cast<int>(words.size());
    if (found->arity < 0 ? count < -found->arity : count != found->arity) {
        if (in_script)
            return Reply::error(
                old ? "@user_script: 1: Wrong number of args calling Redis command From Lua script"
                    : "ERR Wrong number of args calling Redis command from script");
        return wrong_number_of_arguments(found->name);
    }
    if (in_script &&
        (found->connection || found->transaction || found->name.starts_with("EVAL") || found->name == "SCRIPT"))
        return Reply::error("ERR This Redis command is not allowed from script");
    if (!now_.session->authenticated && !found->connection)
        return Reply::error("NOAUTH Authentication required.");
    if (auto refusal = refusal_of(*found)) {
        network_.trouble(now_.session->process);
        return refusal;
    }
    return std::nullopt;
}

std::span<std::string const> RedisServer::keys_of(Words const& words)
{
    auto const arguments = std::span(words).subspan(1);
    auto const& name = words.front();
    if (name == "TIME" || name == "PUBLISH")
        return {};
    bool const are_all = name == "MGET" || name == "EXISTS" || name == "DEL" || name == "UNLINK";
    return are_all ? arguments : arguments.first(std::min<std::size_t>(arguments.size(), 1));
}

Reply RedisServer::run(Words const& words)
{
    return (this->*std::ranges::find(commands(), words.front(), &Command::name)->run)(words);
}

Reply RedisServer::call(Words const& words)
{
    if (words.empty())
        return Reply::error("ERR Please specify at least one argument for this redis lib call");
    if (auto refusal = refused(words, true))
        return std::move(*refusal);
    if (!publishes_in_scripts() && words.front() == "PUBLISH")
        return Reply::error("ERR This Redis command is not allowed from script");
    for (auto const& key : keys_of(words))
        if (std::ranges::find(declared_, key) == declared_.end()) {
            world().checker.violate(
                Rule::s14, "a script calls " + words.front() + " for " + key + ", which is not in its KEYS");
            return Reply::error("ERR Script attempted to access the undeclared key '" + key + "'");
        }
    return run(words);
}

// -- what the checker knows --

std::optional<KeyId> RedisServer::lock_key(std::string_view key) const
{
    return now_.session->database == settings_.client.database ? key_called(key) : std::nullopt;
}

std::string RedisServer::key_name(KeyId id)
{
    auto const range = range_of(id);
    return std::string(name_of(range)) + (range == RangeId::slots ? std::to_string(id - 2) : "");
}

std::string RedisServer::fence_name(KeyId id)
{
    return "{" + key_name(id) + "}:fence";
}

void RedisServer::note_draw(std::string_view key, std::string_view value)
{
    if (now_.session->database != settings_.client.database || !key.ends_with("fence"))
        return;
    std::uint64_t token = 0;
    std::from_chars(value.data(), value.data() + value.size(), token);
    // protocol version 1 has a counter for each key
    for (KeyId id = 0; id < key_count; ++id)
        if (key == counter_name || key == fence_name(id))
            tokens_.drawn(id, token);
}

std::string
RedisServer::wrong_token(KeyId key, OwnerId owner, std::uint64_t token, std::span<std::uint64_t const>) const
{
    if (range_of(key) != RangeId::plain)
        return tokens_.against(key, owner, token);
    return token == 0 ? "" : "a lease without fencing has a token";
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
    // it was on its way when the release began, and came after it: the key expires by its ttl
    if (world().checker.released(owner))
        keys_[id].late = true;
    now_.owner = owner;
    now_.key = id;
    now_.effects.push_back(
        {Effect::Kind::held, range_of(id), owner, (expires - milliseconds_now()) * millisecond - rest_of(id),
         now_.written});
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
        if (read_ended_claim(value) && expires != Keyspace::no_expiry) {
            rests(*id, (expires + 1) * millisecond);
            if (before != nullptr)
                now_.freed.at(static_cast<std::size_t>(range_of(*id))).owners.push_back(owner_id(before->value));
            keys_of_.set(now_.session->database, key, {std::move(value), expires});
            return;
        }
        if (before == nullptr || before->value != value) {
            (void)taken(*id, owner, now_.session->process, now_.session->life, now_.late);
            tokens_.granted(*id, owner);
        }
        noted(*id, owner, expires);
    } else {
        note_draw(key, value);
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
        now_.freed.at(static_cast<std::size_t>(range_of(*id))).owners.push_back(now_.owner);
    }
    keys_of_.erase(now_.session->database, key);
    return true;
}

} // namespace tenure::simulation
