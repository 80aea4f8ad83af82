// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Commands on keys.
#include "hashes.hpp"
#include "server.hpp"

#include "../world.hpp"

#include <string>
#include <utility>

namespace tenure::simulation
{

Reply RedisServer::no_number()
{
    return Reply::error("ERR value is not an integer or out of range");
}

Reply RedisServer::wrong_type()
{
    return Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

namespace
{

/** The options of SET, which follow key and value. */
struct SetOptions {
    bool only_new = false;
    bool only_present = false;
    bool answers_old = false;
    bool keeps_ttl = false;
    std::optional<std::string> if_equal;
    std::optional<std::int64_t> ttl;
};

std::optional<SetOptions> set_options(std::vector<std::string> const& words, bool knows_ifeq)
{
    SetOptions options;
    for (std::size_t at = 3; at < words.size(); ++at) {
        auto const& word = words[at];
        bool const more = at + 1 < words.size();
        if (word == "NX")
            options.only_new = true;
        else if (word == "XX")
            options.only_present = true;
        else if (word == "GET")
            options.answers_old = true;
        else if (word == "KEEPTTL")
            options.keeps_ttl = true;
        else if (word == "IFEQ" && knows_ifeq && more)
            options.if_equal = words[++at];
        else if ((word == "PX" || word == "EX") && more && number_in(words[at + 1]).value_or(0) > 0)
            options.ttl = *number_in(words[++at]) * (word == "EX" ? 1000 : 1);
        else
            return std::nullopt;
    }
    return options;
}

} // namespace

Reply RedisServer::get(Words const& words)
{
    auto const* const entry = find(words[1]);
    if (entry != nullptr && !entry->is_string())
        return wrong_type();
    return entry == nullptr ? Reply::null() : Reply::bulk(entry->value);
}

Reply RedisServer::mget(Words const& words)
{
    auto values = Reply::list(Reply::Kind::array, {});
    for (std::size_t at = 1; at < words.size(); ++at) {
        auto const* const entry = find(words[at]);
        values.elements.push_back(entry == nullptr || !entry->is_string() ? Reply::null() : Reply::bulk(entry->value));
    }
    return values;
}

Reply RedisServer::exists(Words const& words)
{
    std::int64_t count = 0;
    for (std::size_t at = 1; at < words.size(); ++at)
        count += find(words[at]) != nullptr ? 1 : 0;
    return Reply::integer(count);
}

Reply RedisServer::pttl(Words const& words)
{
    auto const* const entry = find(words[1]);
    if (entry == nullptr)
        return Reply::integer(-2);
    return Reply::integer(entry->expires == Keyspace::no_expiry ? -1 : entry->expires - milliseconds_now());
}

Reply RedisServer::time(Words const&)
{
    auto const micros = now() / microsecond;
    return Reply::list(
        Reply::Kind::array,
        {Reply::bulk(std::to_string(micros / 1'000'000)), Reply::bulk(std::to_string(micros % 1'000'000))});
}

Reply RedisServer::set(Words const& words)
{
    auto const options = set_options(words, settings_.flavor.set_ifeq);
    // before Redis 7 the two did not go together
    if (!options || (options->only_new && options->answers_old && settings_.flavor.old_script_errors))
        return Reply::error("ERR syntax error");
    auto const* const entry = find(words[1]);
    if (entry != nullptr && !entry->is_string() && (options->answers_old || options->if_equal))
        return wrong_type();
    auto const old = entry == nullptr ? Reply::null() : Reply::bulk(entry->value);
    bool const met = (!options->only_new || entry == nullptr) && (!options->only_present || entry != nullptr) &&
                     (!options->if_equal || (entry != nullptr && entry->value == *options->if_equal));
    if (!met)
        return options->answers_old ? old : Reply::null();
    auto const expires = options->ttl                             ? milliseconds_now() + *options->ttl
                         : options->keeps_ttl && entry != nullptr ? entry->expires
                                                                  : Keyspace::no_expiry;
    store(words[1], words[2], expires);
    return options->answers_old ? old : Reply::ok();
}

Reply RedisServer::incr(Words const& words)
{
    auto const* const entry = find(words[1]);
    auto const number = entry == nullptr ? std::optional<std::int64_t>(0) : number_in(entry->value);
    if (!number) {
        // another program's counter: while it exists, a draw fails and prevents the lease
        network_.trouble(now_.session->process);
        return !entry->is_string() ? wrong_type() : no_number();
    }
    store(words[1], std::to_string(*number + 1), entry == nullptr ? Keyspace::no_expiry : entry->expires);
    return Reply::integer(*number + 1);
}

Reply RedisServer::pexpire(Words const& words)
{
    auto const ttl = number_in(words[2]);
    if (!ttl)
        return no_number();
    return pexpireat({"PEXPIREAT", words[1], std::to_string(milliseconds_now() + *ttl)});
}

Reply RedisServer::pexpireat(Words const& words)
{
    auto const when = number_in(words[2]);
    if (!when)
        return no_number();
    auto* const entry = find(words[1]);
    if (entry == nullptr)
        return Reply::integer(0);
    if (*when <= milliseconds_now())
        return Reply::integer(erase(words[1]) ? 1 : 0);
    expire(words[1], *entry, *when);
    return Reply::integer(1);
}

Reply RedisServer::del(Words const& words)
{
    std::int64_t count = 0;
    for (std::size_t at = 1; at < words.size(); ++at)
        count += erase(words[at]) ? 1 : 0;
    return Reply::integer(count);
}

Reply RedisServer::hash(Words const& words)
{
    if (words.front() == "HSET" && words.size() % 2 != 0)
        return wrong_number_of_arguments("hset");
    auto* entry = find(words[1]);
    if (entry != nullptr && !entry->is_hash())
        return wrong_type();
    if (entry == nullptr && words.front() == "HSET")
        entry = &keys_of_.set(now_.session->database, words[1], {});
    auto reply = run_on_hash(words, entry);
    if (entry != nullptr && entry->hash.empty())
        keys_of_.erase(now_.session->database, words[1]);
    return reply;
}

Reply RedisServer::delifeq(Words const& words)
{
    auto const* const entry = find(words[1]);
    if (entry != nullptr && !entry->is_string())
        return wrong_type();
    return Reply::integer(entry != nullptr && entry->value == words[2] && erase(words[1]) ? 1 : 0);
}

Reply RedisServer::delex(Words const& words)
{
    if (words.size() == 2)
        return Reply::integer(erase(words[1]) ? 1 : 0);
    if (words.size() != 4 || words[2] != "IFEQ")
        return Reply::error("ERR syntax error");
    return delifeq({"DELIFEQ", words[1], words[3]});
}

} // namespace tenure::simulation
