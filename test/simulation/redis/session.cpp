// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Commands of connections, and what is published.
#include "server.hpp"

#include "../world.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

std::optional<RangeId> range_of_channel(std::string_view channel)
{
    for (auto const range : {RangeId::job, RangeId::plain, RangeId::slots})
        if (channel == "{" + std::string(name_of(range)) + "}:free")
            return range;
    return std::nullopt;
}

Reply no_permission()
{
    return Reply::error("NOPERM this user has no permissions to access one of the channels used as arguments");
}

} // namespace

Reply RedisServer::hello(Words const& words)
{
    auto& session = *now_.session;
    auto const& password = settings_.client.password;
    now_.effects.push_back({Effect::Kind::login, {}, 0, 0, 0});
    for (std::size_t at = 2; at + 2 < words.size(); at += 3)
        if (words[at] == "AUTH" && words[at + 1] == "default" && words[at + 2] == password)
            session.authenticated = true;
        else
            return Reply::error("WRONGPASS invalid username-password pair or user is disabled.");
    if (!session.authenticated)
        return Reply::error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
            "<user> "
            "<pass> option can be used to authenticate the client and select the RESP protocol version at the same "
            "time");
    session.protocol = words.size() > 1 && words[1] == "3" ? 3 : 2;
    auto const text = [](std::string_view value) { return Reply::bulk(std::string(value)); };
    return Reply::list(
        Reply::Kind::map,
        {text("server"), text(settings_.flavor.server), text("version"), text(settings_.flavor.version), text("proto"),
         Reply::integer(session.protocol), text("id"), Reply::integer(session.connection), text("mode"),
         text("standalone"), text("role"), text("master"), text("modules"), Reply::list(Reply::Kind::array, {})});
}

Reply RedisServer::auth(Words const& words)
{
    auto const& password = settings_.client.password;
    now_.effects.push_back({Effect::Kind::login, {}, 0, 0, 0});
    if (password.empty())
        return Reply::error("ERR Client sent AUTH, but no password is set.");
    if (words.back() != password)
        return Reply::error("WRONGPASS invalid username-password pair or user is disabled.");
    now_.session->authenticated = true;
    return Reply::ok();
}

Reply RedisServer::select(Words const& words)
{
    if (!now_.session->authenticated)
        return Reply::error("NOAUTH Authentication required.");
    std::size_t number = 0;
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), number);
    if (number >= Keyspace::databases)
        return Reply::error("ERR DB index is out of range");
    now_.effects.push_back({Effect::Kind::login, {}, 0, 0, 0});
    now_.session->database = number;
    return Reply::ok();
}

Reply RedisServer::ping(Words const& words)
{
    return words.size() > 1 ? Reply::bulk(words[1]) : Reply{Reply::Kind::status, "PONG", 0, {}};
}

Reply RedisServer::info(Words const&)
{
    return Reply::bulk(
        "# Server\r\n" + std::string(settings_.flavor.server) + "_version:" + std::string(settings_.flavor.version) +
        "\r\n");
}

void RedisServer::subscribe(Session& session, Words const& words, std::string& out)
{
    bool const begins = words.front() == "SUBSCRIBE";
    for (std::size_t at = 1; at < words.size(); ++at) {
        if (!session.authenticated) {
            Reply::error("NOAUTH Authentication required.").append_to(out, session.protocol);
            return;
        }
        if (begins && !world().plan().settings.hints) {
            no_permission().append_to(out, session.protocol);
            return;
        }
        if (begins)
            session.channels.insert(words[at]);
        else
            session.channels.erase(words[at]);
        Reply::list(
            Reply::Kind::push, {Reply::bulk(begins ? "subscribe" : "unsubscribe"), Reply::bulk(words[at]),
                                Reply::integer(static_cast<std::int64_t>(session.channels.size()))})
            .append_to(out, session.protocol);
    }
}

std::vector<KnownStore::Place> RedisServer::named_by(std::string_view message, RangeId range) const
{
    auto const& names = names_.at(static_cast<std::size_t>(range));
    std::vector<Place> named;
    while (!message.empty()) {
        auto const end = std::min(message.find(' '), message.size());
        if (auto const found = names.find(message.substr(0, end)); found != names.end())
            named.push_back(found->second);
        message.remove_prefix(std::min(end + 1, message.size()));
    }
    return named;
}

Reply RedisServer::publish(Words const& words)
{
    if (!world().plan().settings.hints)
        return no_permission();
    auto const range = range_of_channel(words[1]);
    auto const named = range ? named_by(words[2], *range) : std::vector<Place>();
    if (range)
        look_at_named(*range, named.size());
    std::int64_t count = 0;
    auto const message =
        Reply::list(Reply::Kind::push, {Reply::bulk("message"), Reply::bulk(words[1]), Reply::bulk(words[2])});
    for (auto const& [connection, session] : sessions_) {
        if (!session.channels.contains(words[1]))
            continue;
        ++count;
        std::string out;
        message.append_to(out, session.protocol);
        Effects effects;
        bool const its_turn =
            named.empty() || std::ranges::any_of(named, [&session](Place const& one) { return is_of(session, one); });
        if (range)
            effects.push_back({its_turn ? Effect::Kind::hint : Effect::Kind::others_named, *range, 0, 0, 0});
        network_.reply(connection, out, std::move(effects));
    }
    return Reply::integer(count);
}

} // namespace tenure::simulation
