// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Reads of facts from a Redis server.
#include "examine.hpp"

#include "findings.hpp"
#include "store/redis/wire/server_error.hpp"
#include "store/redis/wire/server_info.hpp"
#include "store/redis/wire/transaction.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
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

class Examination : public std::enable_shared_from_this<Examination>
{
public:
    Examination(
        ServerPtr server, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after,
        ReplyHandler<Findings> handler)
        : server_(std::move(server))
        , connect_to_(std::move(settings.connect_to))
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
        facts_.ttl = ttl;
        facts_.acknowledged_by = settings.replicas.acknowledged_by;
        facts_.delay_after_failover = settings.delay_after_failover;
    }

    // Measures round trips one after the other by TIME, which leases need anyway.
    void measure()
    {
        server_->channel()->execute(resp::Command("TIME"), not_after_, [self = shared_from_this()](Outcome outcome) {
            self->measured(std::move(outcome));
        });
    }

private:
    void measured(Outcome outcome)
    {
        if (outcome.delivery != Delivery::answered) {
            facts_.unreachable = outcome.detail.empty() ? outcome.error.message() : outcome.detail;
            finish();
            return;
        }
        auto const now = server_->runtime().now();
        facts_.round_trips.push_back(now - outcome.since);
        facts_.clock = better(facts_.clock, read_time(outcome.reply, outcome.since, now));
        if (outcome.reply.is_error())
            facts_.refused_commands.emplace_back("time");
        else
            facts_.server_time = outcome.reply;
        if (facts_.round_trips.size() < round_trips)
            measure();
        else
            ask();
    }

    void ask()
    {
        facts_.server = server_->channel()->server();
        resp::Command info("INFO");
        info.expect_reply_bytes(info_reply_bytes);
        ask_one(std::move(info), [this](resp::Value const& reply) {
            if (reply.is_string())
                facts_.info = read_info(reply.as_string());
            if (connect_to_)
                ask_replicas();
        });
        for (auto const name : settings_asked)
            ask_one(resp::Command("CONFIG", "GET", name), [this, name](resp::Value const& reply) {
                if (auto const pair = reply.elements(); pair.size() == 2 && pair[1].is_string())
                    facts_.settings.emplace(name, pair[1].as_string());
            });
        ask_one(resp::Command("EVAL", "return 1", 0), [this](resp::Value const& reply) {
            // some proxies run scripts with keys only
            if (reply.is_error() && meaning_of(reply.as_string()) != ErrorMeaning::arguments_unknown)
                facts_.refused_commands.emplace_back("eval");
        });
        ask_transaction();
        // the config may not know the user: a callback has supplied the name, or the server needs only a password
        ask_one(resp::Command("ACL", "WHOAMI"), [this](resp::Value const& reply) {
            if (reply.is_string())
                ask_permissions(reply.as_string());
        });
        if (facts_.acknowledged_by > 0)
            // WAIT for zero replicas is answered at once
            ask_one(resp::Command("WAIT", 0, 1), [this](resp::Value const& reply) {
                if (reply.is_error())
                    facts_.refused_commands.emplace_back("wait");
            });
    }

    void ask_transaction()
    {
        resp::Transaction transaction(64);
        transaction.add("TIME");
        ++open_questions_;
        server_->channel()->execute(
            std::move(transaction).end(), not_after_, [self = shared_from_this()](Outcome outcome) {
                auto const replies = outcome.reply.elements();
                auto const& refusal = outcome.ran_apart ? replies.front() : outcome.reply;
                if (is_command_unavailable(refusal.as_string()))
                    self->facts_.transactions_refused = classify(refusal.as_string()).words;
                if (--self->open_questions_ == 0)
                    self->finish();
            });
    }

    /// After a failover the new master times the leases by its own clock.
    void ask_replicas()
    {
        auto const until = not_after_.no_later_than(server_->runtime().now() + longest_for_a_replica);
        for (auto const& replica : replicas_in(facts_.info)) {
            ++open_questions_;
            read_clock(
                server_->runtime(), connect_to_(replica)("clock"), until,
                [self = shared_from_this(), replica](std::optional<ClockReading> reading, std::string why_not) {
                    self->facts_.replica_clocks.push_back({replica, reading, std::move(why_not)});
                    if (--self->open_questions_ == 0)
                        self->finish();
                });
        }
    }

    void ask_permissions(std::string_view user)
    {
        for (auto const& command : commands_to_check())
            if (command.concerns(facts_.server))
                ask_permission(user, command);
    }

    void ask_permission(std::string_view user, CommandToCheck const& command)
    {
        resp::Command question("ACL", "DRYRUN", user);
        for (auto const argument : command.words)
            if (!argument.empty())
                question.add(argument);
        ask_one(std::move(question), [this, &command](resp::Value const& reply) {
            if (reply.is_error())
                return; // may not ask, or no such question before Redis 7
            facts_.permissions_known = true;
            // "... no permissions to run the 'del' command"; errors about the example's keys do not matter
            if (reply.as_string().find("run the '") != std::string_view::npos)
                facts_.missing_permissions.push_back(&command);
        });
    }

    template <class Reader>
    void ask_one(resp::Command command, Reader reader)
    {
        ++open_questions_;
        server_->channel()->execute(
            std::move(command), not_after_, [self = shared_from_this(), reader](Outcome outcome) {
                if (outcome.delivery == Delivery::answered)
                    reader(outcome.reply);
                if (--self->open_questions_ == 0)
                    self->finish();
            });
    }

    void finish() { std::move(handler_)(judge(facts_)); }

    ServerPtr server_;
    ConnectTo connect_to_;
    Deadline not_after_;
    ReplyHandler<Findings> handler_;
    Facts facts_;
    std::size_t open_questions_ = 0;
};

} // namespace

void examine(
    ServerPtr const& server, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after,
    ReplyHandler<Findings> handler)
{
    std::make_shared<Examination>(server, std::move(settings), ttl, not_after, std::move(handler))->measure();
}

} // namespace tenure::redis
