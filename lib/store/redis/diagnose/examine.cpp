// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Reads of facts from a Redis server.
#include "examine.hpp"

#include "findings.hpp"
#include "store/redis/steps.hpp"
#include "store/redis/wire/server_error.hpp"
#include "store/redis/wire/server_info.hpp"
#include "store/redis/wire/transaction.hpp"

#include <store/gather.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

constexpr std::size_t round_trips = 5;
constexpr std::chrono::seconds longest_for_a_replica{3};
// size of INFO on a server with many databases, clients and modules
constexpr std::size_t info_reply_bytes = std::size_t{256} * 1024;

// One setting per request: Redis 6 accepts no more.
constexpr std::array<std::string_view, 6> settings_asked{"appendonly", "appendfsync",      "save",
                                                         "maxmemory",  "maxmemory-policy", "min-replicas-to-write"};

/** A function that executes a command of a `store::gather`, and passes the reply to `read` if there is one. */
template <class ReplyTo>
auto make_ask(ReplyTo const& reply_to, CommandChannel& channel, Deadline const& not_after)
{
    return [&reply_to, &channel, &not_after](resp::Command command, auto read) {
        channel.execute(std::move(command), not_after, reply_to([read](Outcome const& outcome) {
                            if (outcome.delivery == Delivery::answered)
                                read(outcome.reply);
                        }));
    };
}

template <class Ask>
void ask_facts(Ask const& ask, Facts& facts)
{
    resp::Command info("INFO");
    info.expect_reply_bytes(info_reply_bytes);
    ask(std::move(info), [&facts](resp::Value const& reply) {
        if (reply.is_string())
            facts.info = read_info(reply.as_string());
    });
    for (auto const name : settings_asked)
        ask(resp::Command("CONFIG", "GET", name), [&facts, name](resp::Value const& reply) {
            if (auto const pair = reply.elements(); pair.size() == 2 && pair[1].is_string())
                facts.settings.emplace(name, pair[1].as_string());
        });
    ask(resp::Command("EVAL", "return 1", 0), [&facts](resp::Value const& reply) {
        // some proxies run scripts with keys only
        if (reply.is_error() && meaning_of(reply.as_string()) != ErrorMeaning::arguments_unknown)
            facts.refused_commands.emplace_back("eval");
    });
}

/** A transaction that does nothing. Its whole outcome matters, because the server may run the commands separately. */
template <class ReplyTo>
void ask_transaction(ReplyTo const& reply_to, CommandChannel& channel, Deadline const& not_after, Facts& facts)
{
    resp::Transaction transaction(64);
    transaction.add("TIME");
    channel.execute(std::move(transaction).end(), not_after, reply_to([&facts](Outcome const& outcome) {
                        auto const replies = outcome.reply.elements();
                        auto const& refusal = outcome.ran_apart ? replies.front() : outcome.reply;
                        if (is_command_unavailable(refusal.as_string()))
                            facts.transactions_refused = classify(refusal.as_string()).words;
                    }));
}

template <class Ask>
void ask_permission(Ask const& ask, std::string_view user, CommandToCheck const& command, Facts& facts)
{
    resp::Command question("ACL", "DRYRUN", user);
    for (auto const argument : command.words)
        if (!argument.empty())
            question.add(argument);
    ask(std::move(question), [&facts, &command](resp::Value const& reply) {
        if (reply.is_error())
            return; // may not ask, or no such question before Redis 7
        facts.permissions_known = true;
        // "... no permissions to run the 'del' command"; errors about the example's keys do not matter
        if (reply.as_string().find("run the '") != std::string_view::npos)
            facts.missing_permissions.push_back(&command);
    });
}

/** Measures round trips one after the other by TIME, which leases need anyway. */
store::Request<Facts> measure(ServerPtr server, Facts facts, Deadline not_after)
{
    while (facts.round_trips.size() < round_trips) {
        auto ask = execute(server, resp::Command("TIME"), not_after);
        auto const outcome = co_await ask;
        if (outcome.delivery != Delivery::answered) {
            facts.unreachable = outcome.reason();
            co_return std::move(facts);
        }
        auto const now = server->runtime().now();
        facts.round_trips.push_back(now - outcome.since);
        facts.clock = better(facts.clock, read_time(outcome.reply, outcome.since, now));
        if (outcome.reply.is_error())
            facts.refused_commands.emplace_back("time");
        else
            facts.server_time = outcome.reply;
    }
    co_return std::move(facts);
}

} // namespace

store::Request<Findings>
examine(ServerPtr server, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after)
{
    Facts known;
    known.ttl = ttl;
    known.acknowledged_by = settings.replicas.acknowledged_by;
    known.delay_after_failover = settings.delay_after_failover;
    auto round_trip = store::as_step(measure(server, std::move(known), not_after));
    auto facts = co_await round_trip;
    if (!facts.unreachable.empty())
        co_return judge(facts);

    auto& channel = *server->channel();
    facts.server = channel.server();
    // the config may not know the user: a callback has supplied the name, or the server needs only a password
    std::string user;
    auto read_facts = store::gather(server->runtime(), Instant::max(), [&](auto const& reply_to) {
        auto const ask = make_ask(reply_to, channel, not_after);
        ask_facts(ask, facts);
        ask_transaction(reply_to, channel, not_after, facts);
        ask(resp::Command("ACL", "WHOAMI"), [&user](resp::Value const& reply) {
            if (reply.is_string())
                user = reply.as_string();
        });
        if (facts.acknowledged_by > 0)
            // WAIT for zero replicas is answered at once
            ask(resp::Command("WAIT", 0, 1), [&facts](resp::Value const& reply) {
                if (reply.is_error())
                    facts.refused_commands.emplace_back("wait");
            });
    });
    co_await read_facts;

    auto read_more = store::gather(server->runtime(), Instant::max(), [&](auto const& reply_to) {
        auto const ask = make_ask(reply_to, channel, not_after);
        for (auto const& command : commands_to_check())
            if (!user.empty() && command.concerns(facts.server))
                ask_permission(ask, user, command, facts);
        if (!settings.connect_to)
            return;
        // after a failover the new master times the leases by its own clock
        auto const until = not_after.no_later_than(server->runtime().now() + longest_for_a_replica);
        for (auto& replica : replicas_in(facts.info)) {
            auto connection = settings.connect_to(replica)("clock");
            read_clock(server->runtime(), std::move(replica), std::move(connection), until)
                .start(reply_to([&facts](ReplicaClock&& clock) { facts.replica_clocks.push_back(std::move(clock)); }));
        }
    });
    co_await read_more;
    co_return judge(facts);
}

} // namespace tenure::redis
