// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_server.hpp"

#include <store/redis/shares/scripts.hpp>

#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace tenure::simulation
{

namespace
{

/// the wall clock at the beginning of virtual time, so that numbers have their real size
constexpr std::int64_t epoch = 1'700'000'000'000;

Reply push(std::string kind, std::string channel, Reply last)
{
    return Reply::list(
        Reply::Kind::push, {Reply::bulk(std::move(kind)), Reply::bulk(std::move(channel)), std::move(last)});
}

std::uint64_t number_of(Reply const& reply)
{
    return reply.text.empty() ? 0 : std::stoull(reply.text);
}

} // namespace

void ShareServer::execute(Client& client, Words const& words)
{
    auto const now = std::chrono::floor<std::chrono::milliseconds>(time_.now().time_since_epoch());
    set_clock(epoch + now.count());
    if (words.front() == "SUBSCRIBE" || words.front() == "UNSUBSCRIBE") {
        bool const joins = words.front() == "SUBSCRIBE";
        for (std::size_t i = 1; i < words.size(); ++i) {
            joins ? static_cast<void>(client.channels.insert(words[i]))
                  : static_cast<void>(client.channels.erase(words[i]));
            client.send(push(
                joins ? "subscribe" : "unsubscribe", words[i],
                Reply::integer(static_cast<std::int64_t>(client.channels.size()))));
        }
        return;
    }
    auto const reply = answer(words);
    client.send(reply);
}

Reply ShareServer::answer(Words const& words)
{
    auto const& name = words.front();
    if (name == "HELLO")
        return Reply::list(
            Reply::Kind::map, {Reply::bulk("server"), Reply::bulk("redis"), Reply::bulk("version"),
                               Reply::bulk("7.0.15"), Reply::bulk("role"), Reply::bulk("master")});
    if (name == "PING")
        return {Reply::Kind::status, "PONG", 0, {}};
    if (name == "CLIENT" || name == "SELECT")
        return Reply::ok();
    if (name == "EVAL" || name == "EVALSHA")
        return run_script(words);
    return call(words);
}

Reply ShareServer::run_script(Words const& words)
{
    auto sha = words[1];
    if (words.front() == "EVAL") {
        redis::Script script(words[1]);
        sha = script.sha;
        scripts_.try_emplace(sha, std::move(script));
    }
    auto const found = scripts_.find(sha);
    if (found == scripts_.end())
        return Reply::error("NOSCRIPT No matching script. Please use EVAL.");
    auto const first_value = words.begin() + 3 + std::stol(words[2]);
    Words const keys(words.begin() + 3, first_value);
    Words const values(first_value, words.end());
    auto reply = reply_of(found->second, keys, values);
    witness(found->second, keys, values, reply);
    return reply;
}

void ShareServer::witness(redis::Script const& script, Words const& keys, Words const& values, Reply const& reply)
{
    namespace scripts = redis::place_scripts;
    if (reply.kind == Reply::Kind::error)
        book_.on_violation("S14: a script fails");
    else if (script.sha == scripts::claim().plain.sha)
        witness_claim(keys.back(), values, reply);
    else if (script.sha == scripts::renew().plain.sha)
        for (std::size_t i = 0; i < keys.size(); ++i) {
            auto const claim = std::make_shared<Claim>();
            claim->range = shared_key(keys[i]);
            claim->owner = values[i + 1];
            std::chrono::milliseconds const ttl{std::stol(values[0])};
            RenewRequest request;
            request.claim = claim;
            request.ttl = ttl;
            bool const renewed = reply.text.at(i) == '1';
            book_.renewed(request, renewed ? RenewReply(Renewed{ttl, time_.now()}) : RenewReply(NotOwner{}));
        }
    else if (script.sha == scripts::leave().plain.sha)
        for (std::size_t i = 1; i < values.size(); ++i)
            book_.gave_back(*shared_key(keys.at(values[0].empty() ? i - 1 : 2 * i - 1)), values[i]);
}

void ShareServer::witness_claim(std::string const& key, Words const& values, Reply const& reply)
{
    ClaimRequest request;
    request.range = shared_key(key);
    request.owner = values[0];
    request.ttl = std::chrono::milliseconds{std::stol(values[1])};
    request.share =
        Share{static_cast<std::uint32_t>(std::stoul(values[2])), static_cast<std::uint32_t>(std::stoul(values[3]))};
    request.waits = values[5] == "1" ? Waits::in_line : Waits::no;
    auto const& kind = reply.elements.at(0).text;
    auto const number = number_of(reply.elements.at(1));
    if (kind == "held") {
        book_.claimed(request, Granted{0, number, request.ttl, time_.now(), nullptr});
        return;
    }
    Busy busy;
    if (kind == "busy" && number != 0)
        busy.place = InLine{number, 0, request.ttl, time_.now(), nullptr};
    book_.claimed(request, busy);
}

void ShareServer::publish(std::string const& channel, std::string const& message)
{
    for (auto* const client : clients_)
        if (client->channels.contains(channel))
            client->send(push("message", channel, Reply::bulk(message)));
}

} // namespace tenure::simulation
