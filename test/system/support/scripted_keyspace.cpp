// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/scripted_keyspace.hpp"

#include "store/redis/scripts/scripts.hpp"

#include <cstddef>
#include <utility>

namespace tenure::test
{

namespace
{

namespace scripts = redis::scripts;
using std::chrono::milliseconds;

std::string integer(std::int64_t value)
{
    return ":" + std::to_string(value) + "\r\n";
}

bool calls(Words const& request, redis::Script const& script)
{
    return request.at(0) == "EVALSHA" && request.at(1) == script.sha;
}

bool is_claim(Words const& request)
{
    return calls(request, scripts::first_free()) || calls(request, scripts::find_own()) ||
           calls(request, scripts::own_or_first_free()) || calls(request, scripts::survey());
}

/// a script that does nothing, by which a connection learns whether scripts run
bool proves_scripts(Words const& request)
{
    return request == Words{"EVAL", "return 1", "0"};
}

} // namespace

std::string bulk(std::string const& value)
{
    return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

Purpose purpose_of(Words const& request)
{
    auto const& name = request.at(0);
    if (name == "HELLO" || name == "AUTH" || name == "SELECT" || proves_scripts(request))
        return Purpose::login;
    if (name == "SUBSCRIBE" || name == "UNSUBSCRIBE")
        return Purpose::subscription;
    if (name == "SET" || (name == "EVALSHA" && is_claim(request)))
        return Purpose::claim;
    if (name != "EVALSHA")
        return Purpose::other;
    if (calls(request, scripts::renew()))
        return Purpose::renewal;
    if (calls(request, scripts::release().everywhere) || calls(request, scripts::release_each().everywhere))
        return Purpose::release;
    if (calls(request, scripts::withdraw().everywhere))
        return Purpose::withdrawal;
    return calls(request, scripts::inspect()) ? Purpose::inspection : Purpose::other;
}

std::optional<std::string> ScriptedKeyspace::value(std::string const& key)
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return std::nullopt;
    if (found->second.expiry <= std::chrono::steady_clock::now()) {
        keys_.erase(found);
        return std::nullopt;
    }
    return found->second.owner;
}

std::string ScriptedKeyspace::answer(Words const& request, Queued& queued)
{
    auto const& name = request.at(0);
    if (name == "MULTI") {
        queued.emplace();
        return "+OK\r\n";
    }
    if (name != "EXEC") {
        if (!queued)
            return run(request);
        queued->push_back(request);
        return "+QUEUED\r\n";
    }
    if (!queued)
        return "-ERR EXEC without MULTI\r\n";
    auto replies = "*" + std::to_string(queued->size()) + "\r\n";
    for (auto const& command : *queued)
        replies += run(command);
    queued.reset();
    return replies;
}

std::string ScriptedKeyspace::run(Words const& request)
{
    auto const& name = request.at(0);
    if (name == "HELLO")
        return "%4\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk("7.0.15") + bulk("proto") +
               integer(3) + bulk("role") + bulk("master");
    if (name == "AUTH" || name == "SELECT")
        return "+OK\r\n";
    if (proves_scripts(request))
        return integer(1);
    if (name == "SUBSCRIBE" || name == "UNSUBSCRIBE")
        return ">3\r\n" + bulk(name == "SUBSCRIBE" ? "subscribe" : "unsubscribe") + bulk(request.at(1)) + integer(1);
    if (name == "SET")
        return set(request);
    if (name == "EVALSHA")
        return run_script(request);
    return "-ERR unknown command '" + name + "'\r\n";
}

std::string ScriptedKeyspace::run_script(Words const& request)
{
    auto const keys_end = request.begin() + 3 + std::stol(request.at(2));
    Call call{{request.begin() + 3, keys_end}, {keys_end, request.end()}};
    // the counter and the line come before the keys of leases
    auto const skip = [&call](std::size_t names) {
        call.keys.erase(call.keys.begin(), call.keys.begin() + static_cast<std::ptrdiff_t>(names));
    };
    if (is_claim(request)) {
        skip((call.values.at(3).empty() ? 0U : 1U) + (call.values.at(4).empty() ? 0U : 1U));
        return claim(
            call, calls(request, scripts::find_own()) || calls(request, scripts::own_or_first_free()),
            calls(request, scripts::first_free()) || calls(request, scripts::own_or_first_free()));
    }
    if (calls(request, scripts::draw()))
        return bulk(std::to_string(token_++));
    if (calls(request, scripts::renew()))
        return renew(call);
    if (calls(request, scripts::release().everywhere)) {
        skip(call.keys.size() - 1);
        return release(call);
    }
    if (calls(request, scripts::release_each().everywhere)) {
        skip(2 * (call.keys.size() + 1 - call.values.size()));
        call.values.erase(call.values.begin());
        return release(call);
    }
    if (calls(request, scripts::withdraw().everywhere)) {
        skip(call.values.at(1).empty() ? 0 : 2);
        return withdraw(call);
    }
    return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
}

std::string ScriptedKeyspace::claim(Call const& call, bool search, bool take)
{
    auto const expiry = std::chrono::steady_clock::now() + milliseconds{std::stoll(call.values.at(1))};
    auto const grant = [&](std::size_t index) {
        auto& entry = keys_.at(call.keys[index]);
        entry.expiry = expiry;
        bool const fencing = !call.values.at(3).empty();
        return "*2\r\n" + integer(static_cast<std::int64_t>(index)) + bulk(fencing ? std::to_string(token_++) : "");
    };
    for (std::size_t i = 0; search && i < call.keys.size(); ++i)
        if (value(call.keys[i]) == call.values.at(0))
            return grant(i);
    for (std::size_t i = 0; take && i < call.keys.size(); ++i)
        if (!value(call.keys[i])) {
            keys_[call.keys[i]] = {call.values.at(0), expiry};
            return grant(i);
        }
    // these tests ignore the time until the first expiry
    return call.values.at(2).empty() ? "*1\r\n:-1\r\n" : "*3\r\n:-1\r\n:-1\r\n:0\r\n";
}

std::string ScriptedKeyspace::renew(Call const& call)
{
    auto const expiry = std::chrono::steady_clock::now() + milliseconds{std::stoll(call.values.at(0))};
    std::string flags;
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
        bool const own = value(call.keys[i]) == call.values.at(i + 1);
        if (own)
            keys_.at(call.keys[i]).expiry = expiry;
        flags += own ? '1' : '0';
    }
    return bulk(flags);
}

std::string ScriptedKeyspace::release(Call const& call)
{
    std::string flags;
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
        bool const own = value(call.keys[i]) == call.values.at(i);
        if (own)
            keys_.erase(call.keys[i]);
        flags += own ? '1' : '0';
    }
    return bulk(flags);
}

std::string ScriptedKeyspace::withdraw(Call const& call)
{
    int withdrawn = 0;
    for (auto const& key : call.keys)
        if (value(key) == call.values.at(0)) {
            keys_.erase(key);
            ++withdrawn;
        }
    return bulk(std::to_string(withdrawn));
}

std::string ScriptedKeyspace::set(Words const& request)
{
    if (value(request.at(1)))
        return "_\r\n";
    keys_[request.at(1)] = {request.at(2), std::chrono::steady_clock::now() + milliseconds{std::stoll(request.at(5))}};
    return "+OK\r\n";
}

} // namespace tenure::test
