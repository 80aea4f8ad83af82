// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "lua_server.hpp"

#include "simulation/redis/hashes.hpp"

#include <utility>
#include <vector>

namespace tenure::simulation
{

using redis::resp::Value;

namespace
{

Value value_of(Reply const& reply)
{
    switch (reply.kind) {
    case Reply::Kind::status:
        return Value::status(reply.text);
    case Reply::Kind::error:
        return Value::error(reply.text);
    case Reply::Kind::integer:
        return Value::integer(reply.number);
    case Reply::Kind::bulk:
        return Value::text(reply.text);
    case Reply::Kind::null:
    case Reply::Kind::null_array:
        return {};
    default:
        break;
    }
    std::vector<Value> elements;
    for (auto const& element : reply.elements)
        elements.push_back(value_of(element));
    return Value::list(redis::resp::Type::array, std::move(elements));
}

} // namespace

Reply LuaServer::reply_of(redis::Script const& script, Words const& keys, Words const& values)
{
    Reply reply;
    Lua::Error error;
    if (!lua_.run(script.text, keys, values, *this, reply, error))
        return Reply::error(error.words.empty() ? error.message : error.words);
    return reply;
}

Value LuaServer::run(redis::Script const& script, Words keys, Words values)
{
    return value_of(reply_of(script, keys, values));
}

Value LuaServer::command(Words words)
{
    return value_of(call(words));
}

void LuaServer::publish(std::string const&, std::string const& message)
{
    told_.push_back(message);
}

Reply LuaServer::call(Words const& words)
{
    auto const& name = words.front();
    if (name == "TIME")
        return Reply::list(
            Reply::Kind::array,
            {Reply::bulk(std::to_string(now_ / 1000)), Reply::bulk(std::to_string(now_ % 1000 * 1000))});
    if (name == "PUBLISH") {
        publish(words[1], words[2]);
        return Reply::integer(1);
    }
    auto* const entry = keys_.find(0, words[1], now_);
    if (name == "EXISTS")
        return Reply::integer(entry != nullptr ? 1 : 0);
    if (name == "PTTL")
        return Reply::integer(entry == nullptr ? -2 : entry->expires < 0 ? -1 : entry->expires - now_);
    if (name == "DEL")
        keys_.erase(0, words[1]);
    else if (name == "PEXPIRE")
        expire(words[1], entry, *number_in(words[2]));
    else if (name == "SET")
        keys_.set(0, words[1], {words[2], words.size() > 4 ? now_ + *number_in(words[4]) : Keyspace::no_expiry});
    else if (name == "GET")
        return entry == nullptr ? Reply::null() : Reply::bulk(entry->value);
    else if (name == "INCR")
        return incr(words[1], entry);
    else if (name.starts_with("H"))
        return on_hash(words, entry);
    return Reply::integer(1);
}

void LuaServer::expire(std::string const& key, Keyspace::Entry* entry, std::int64_t ttl)
{
    if (ttl <= 0)
        keys_.erase(0, key);
    else if (entry != nullptr)
        entry->expires = now_ + ttl;
}

Reply LuaServer::incr(std::string const& key, Keyspace::Entry const* entry)
{
    auto const number = (entry == nullptr ? 0 : number_in(entry->value).value_or(0)) + 1;
    keys_.set(0, key, {std::to_string(number)});
    return Reply::integer(number);
}

Reply LuaServer::on_hash(Words const& words, Keyspace::Entry* entry)
{
    if (entry != nullptr && !entry->is_hash())
        return Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
    if (entry == nullptr && words.front() == "HSET")
        entry = &keys_.set(0, words[1], {});
    auto reply = run_on_hash(words, entry);
    if (entry != nullptr && !entry->is_hash())
        keys_.erase(0, words[1]);
    return reply;
}

} // namespace tenure::simulation
