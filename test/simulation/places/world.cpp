// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The scripts of places on a server in this process: random operations, and a model of the rule.
#include "simulation/small_world.hpp"
#include "trial.hpp"

#include "simulation/redis/hashes.hpp"
#include "simulation/redis/keyspace.hpp"
#include "simulation/redis/lua.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace
{

using redis::resp::Value;

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

class LuaServer final : public PlaceServer, private ScriptHost
{
public:
    Value run(redis::Script const& script, Words keys, Words values) override
    {
        Reply reply;
        Lua::Error error;
        if (!lua_.run(script.text, keys, values, *this, reply, error))
            return Value::error(error.words.empty() ? error.message : error.words);
        return value_of(reply);
    }
    Value command(Words words) override { return value_of(call(words)); }
    void set_clock(std::int64_t milliseconds) override { now_ = milliseconds; }
    Words told() override { return std::exchange(told_, {}); }

private:
    Reply call(Words const& words) override
    {
        auto const& name = words.front();
        if (name == "TIME")
            return Reply::list(
                Reply::Kind::array,
                {Reply::bulk(std::to_string(now_ / 1000)), Reply::bulk(std::to_string(now_ % 1000 * 1000))});
        if (name == "PUBLISH") {
            told_.push_back(words[2]);
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
    void expire(std::string const& key, Keyspace::Entry* entry, std::int64_t ttl)
    {
        if (ttl <= 0)
            keys_.erase(0, key);
        else if (entry != nullptr)
            entry->expires = now_ + ttl;
    }
    Reply incr(std::string const& key, Keyspace::Entry const* entry)
    {
        auto const number = (entry == nullptr ? 0 : number_in(entry->value).value_or(0)) + 1;
        keys_.set(0, key, {std::to_string(number)});
        return Reply::integer(number);
    }
    Reply on_hash(Words const& words, Keyspace::Entry* entry)
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

    Lua lua_;
    Keyspace keys_;
    std::int64_t now_ = 0;
    Words told_;
};

} // namespace

SmallOutcome run_small_world(std::uint64_t seed)
{
    // the scripts are compiled once
    static LuaServer server;
    SmallOutcome outcome;
    for (auto const& trial : {try_places, try_clock_set_back, try_deleted_fields}) {
        auto const one = trial(server, seed, 400);
        if (outcome.violation.empty())
            outcome.violation = one.violation;
        for (auto const& [what, count] : one.counts) {
            outcome.counts[what] += count;
            outcome.trace = outcome.trace * 0x100000001b3U ^ count;
        }
    }
    return outcome;
}

std::string_view small_layer() noexcept
{
    return "places";
}

} // namespace tenure::simulation
