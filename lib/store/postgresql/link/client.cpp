// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: from the queue to batches, their answers, and the connections.
#include "client.hpp"

#include <config/utf8.hpp>
#include <net/endpoint.hpp>
#include <tenure/errc.hpp>

#include <algorithm>

namespace tenure::postgresql
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t most_in_batch = 256;
constexpr std::size_t most_bytes_in_batch = 256UL * 1024;
constexpr std::uint32_t most_keys_in_batch = 16'384;
/// one batch under way, and one that gathers
constexpr std::size_t claims_begun = 2 * most_in_batch;
constexpr std::size_t most_left_behind = 2;
/// after this time no answer is expected
constexpr auto longest_wait = 10s;
constexpr std::size_t most_lost_sessions = 16;

std::size_t bytes_of(Statement const& statement)
{
    auto bytes = statement.text.size();
    for (auto const& value : statement.values)
        bytes += value ? value->size() : 0;
    return bytes;
}

} // namespace

Client::Client(std::shared_ptr<Runtime> runtime, PostgresqlConfig config, std::string name)
    : runtime_(std::move(runtime))
    , config_(std::make_shared<PostgresqlConfig const>(std::move(config)))
    , name_(std::move(name))
    , backoff_(config_->reconnect_backoff, [runtime = runtime_] { return runtime->random(); })
    , window_(std::make_shared<store::ClaimWindow>(runtime_, claims_begun))
    , sweep_at_(runtime_->now() + std::chrono::seconds(runtime_->random() % 600))
    , timer_(*runtime_)
{
}

void Client::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    timer_.cancel();
    reachable_ = nullptr;
    listener_ = nullptr;
    last_error_ = {make_error_code(errc::closed), "the store was closed", false};
    if (auto const current = std::exchange(current_, nullptr))
        current->close(last_error_);
    ready_ = false;
    for (auto const& [connection, since] : std::exchange(left_behind_, {}))
        connection->close(last_error_);
    answer_if([](Query const&) { return true; }, not_connected());
    window_->fail_all(not_connected());
}

std::string Client::where() const
{
    return config_->endpoints.size() < 2 ? name_ : name_ + " at " + to_string(config_->endpoints[host_]);
}

// -- the queue --

void Client::send(Query query, OutcomeHandler handler)
{
    if (closed_ || (query.is_renewal() && !ready_)) {
        answer_later(std::move(handler), not_connected());
        want_connection();
        return;
    }
    if (!std::ranges::all_of(query.statement.values, [](auto const& value) { return !value || is_utf8(*value); })) {
        answer_later(
            std::move(handler),
            Failure::refused(errc::store_refused, where() + ": keys and owners must be UTF-8 without NUL", true));
        return;
    }
    if (query.not_after.at() != Instant::max())
        timer_.by(query.not_after.at(), weak_from_this(), &Client::tick);
    queue_[static_cast<std::size_t>(query.line)].push_back({std::move(query), std::move(handler)});
    pump_soon();
}

void Client::answer_later(OutcomeHandler handler, Failure failure)
{
    runtime_->post(
        [handler = std::move(handler), failure = std::move(failure)]() mutable { handler(std::move(failure)); });
}

void Client::answer_if(std::function<bool(Query const&)> const& wanted, Failure const& failure)
{
    for (auto& line : queue_)
        std::erase_if(line, [&](Entry& entry) {
            bool const taken = wanted(entry.query);
            if (taken)
                answer_later(std::move(entry.handler), failure);
            return taken;
        });
}

void Client::drop_abandoned()
{
    window_->drop_abandoned();
    answer_if([](Query const& query) { return query.not_after.abandoned(); }, Failure::dropped());
}

Failure Client::not_connected() const
{
    if (last_error_)
        return Failure::not_sent(last_error_.code, where() + ": " + last_error_.text(), last_error_.fatal);
    return Failure::not_sent(errc::store_unavailable, where() + ": not connected");
}

void Client::want_connection()
{
    wanted_ = true;
    pump_soon();
}

// -- batches --

void Client::pump()
{
    if (closed_)
        return;
    if (ready_ && under_way_ == 0)
        write_batch();
    bool const waits = wanted_ || std::ranges::any_of(queue_, [](auto const& line) { return !line.empty(); });
    if (current_ != nullptr || !waits)
        return;
    if (runtime_->now() < open_after_) {
        timer_.by(open_after_, weak_from_this(), &Client::tick);
        return;
    }
    auto const& hosts = config_->endpoints;
    current_ =
        std::make_shared<Connection>(runtime_, config_, hosts.empty() ? std::nullopt : std::optional(hosts[host_]));
    under_way_ = 0;
    current_->open(weak_from_this());
}

void Client::write_batch()
{
    auto const now = runtime_->now();
    Entries together;
    std::vector<Entries> apart;
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::uint32_t keys = 0;
    for (auto& line : queue_)
        while (!line.empty() && count < most_in_batch && bytes < most_bytes_in_batch) {
            auto& next = line.front();
            if (count > 0 && keys + next.query.keys > most_keys_in_batch)
                break;
            auto entry = std::move(next);
            line.pop_front();
            if (over(entry.query)) {
                answer_later(std::move(entry.handler), Failure::dropped());
                continue;
            }
            if (entry.query.complete && !entry.query.complete(entry.query))
                continue;
            entry.query.not_after.progressed(now);
            ++count;
            bytes += bytes_of(entry.query.statement);
            keys += entry.query.keys;
            auto& batch = entry.query.alone ? apart.emplace_back() : together;
            batch.push_back(std::move(entry));
        }
    if (!together.empty())
        write(std::move(together), now);
    for (auto& one : apart)
        write(std::move(one), now);
    if (count > 0 && now >= sweep_at_) {
        sweep_at_ = now + 5min + std::chrono::seconds(runtime_->random() % 600);
        send_aside({sql("SELECT tenure.sweep()")});
    }
    if (under_way_ > 0)
        timer_.by(now + patience(), weak_from_this(), &Client::tick);
}

void Client::write(Entries entries, Instant now)
{
    std::vector<Statement> statements;
    std::vector<std::string> ranges;
    for (auto const& [query, handler] : entries) {
        statements.push_back(query.statement);
        if (!query.announces.empty())
            ranges.push_back(query.announces);
    }
    ++under_way_;
    current_->send(
        std::move(statements), [weak = weak_from_this(), connection = current_, entries = std::move(entries),
                                now](TransactionReply&& reply) mutable {
            if (auto const self = weak.lock())
                self->answered(connection, std::move(entries), now, std::move(reply));
            else
                for (auto& entry : entries)
                    entry.handler(Failure::unknown(errc::closed, "the store was closed"));
        });
    if (!ranges.empty())
        send_aside({sql(announce_sql), {array_of(ranges)}});
}

void Client::send_aside(Statement statement)
{
    current_->send({std::move(statement)}, [](TransactionReply const&) {});
}

void Client::answered(ConnectionPtr const& connection, Entries entries, Instant since, TransactionReply reply)
{
    bool const is_current = connection == current_;
    if (is_current)
        --under_way_;
    auto const now = runtime_->now();
    bool const refused = !reply.lost && reply.error && is_refusal(reply.error->code);
    // nothing was changed: one bad request does not refuse its neighbours
    bool const unprepared = refused && reply.error->code == not_prepared_code && !entries.front().query.alone;
    bool const again = refused && (entries.size() > 1 || unprepared) && !closed_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto& [query, handler] = entries[i];
        query.not_after.progressed(now);
        if (again)
            continue;
        if (reply.lost)
            handler(Failure::unknown(
                reply.lost.code.category() == tenure_category() ? reply.lost.code
                                                                : make_error_code(errc::store_unavailable),
                where() + ": no answer: " + reply.lost.text()));
        else if (reply.error)
            handler(failure_of(*reply.error, where()));
        else
            handler(Answer{std::move(reply.results[i]), since, reply.unreplicated});
    }
    for (auto entry = entries.rbegin(); again && entry != entries.rend(); ++entry) {
        entry->query.alone = true;
        queue_[static_cast<std::size_t>(entry->query.line)].push_front(std::move(*entry));
    }
    if (closed_)
        return;
    if (is_current && reply.error && reply.error->code == read_only_code) {
        next_host();
        give_up(current_, "the server became a standby, or read-only");
    }
    for (auto const& [left, until] : std::vector(left_behind_))
        if (left == connection && !left->busy())
            give_up(left, "another connection took over");
    pump_soon();
}

// -- connections --

void Client::on_ready(Connection& connection)
{
    if (&connection != current_.get())
        return;
    ready_ = true;
    wanted_ = false;
    failed_in_a_row_ = fatal_in_a_row_ = 0;
    last_error_ = {};
    backoff_.worked();
    if (config_->create) {
        auto next = *config_;
        next.create = false;
        config_ = std::make_shared<PostgresqlConfig const>(std::move(next));
    }
    if (auto const outage = failed_attempts_.lasts() ? failed_attempts_.end(runtime_->now()) : std::nullopt)
        runtime_->log(
            LogLevel::warning, name_ + ": reachable again after " + elapsed_text(outage->lasting) +
                                   "; failed attempts to connect: " + std::to_string(outage->total));
    end_lost_sessions();
    runtime_->post([weak = weak_from_this()] {
        if (auto const self = weak.lock(); self && self->reachable_)
            self->reachable_();
    });
    if (listener_)
        listener_(nullptr);
    pump();
}

/** Then nothing of their requests can take effect later. Behind a pooler they are not found, which is harmless. */
void Client::end_lost_sessions()
{
    for (auto const& [pid, started, application] : std::exchange(lost_sessions_, {}))
        send_aside(
            {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND "
             "extract(epoch FROM backend_start)::text = $2 AND application_name = $3",
             {pid, started, application}});
}

void Client::on_lost(Connection& connection, net::StreamError const& error)
{
    if (connection.busy() && !connection.session().pid.empty() && lost_sessions_.size() < most_lost_sessions)
        lost_sessions_.push_back(connection.session());
    std::erase_if(left_behind_, [&connection](auto const& one) { return one.first.get() == &connection; });
    if (&connection != current_.get()) {
        if (ready_)
            end_lost_sessions();
        return;
    }
    current_ = nullptr;
    // held leases must be renewed as soon as the server is back
    wanted_ = wanted_ || shortest_ttl_ > 0ms;
    if (std::exchange(ready_, false)) {
        last_error_ = {errc::store_unavailable, error.text()};
        open_after_ = runtime_->now() + backoff_.after_loss();
        if (listener_)
            listener_(nullptr);
    } else {
        connect_failed(error);
    }
    answer_if(&Query::is_renewal, not_connected());
    pump_soon();
}

void Client::connect_failed(net::StreamError const& error)
{
    auto const hosts = std::max<std::size_t>(config_->endpoints.size(), 1);
    auto text = hosts == 1 ? error.text() : to_string(config_->endpoints[host_]) + ": " + error.text();
    bool const is_public = error.code.category() == tenure_category();
    ++failed_in_a_row_;
    fatal_in_a_row_ = error.fatal ? fatal_in_a_row_ + 1 : 0;
    // while another host is left to try, a person need not act
    bool const fatal = error.fatal && fatal_in_a_row_ >= hosts;
    last_error_ = {is_public ? error.code : make_error_code(errc::store_unavailable), std::move(text), fatal};
    next_host();
    if (failed_in_a_row_ % hosts == 0) {
        open_after_ = runtime_->now() + (fatal ? backoff_.after_refusal() : backoff_.after_failure());
        answer_if([](Query const& query) { return query.not_after.one_attempt(); }, not_connected());
    }
    if (fatal) {
        wanted_ = shortest_ttl_ > 0ms;
        answer_if([](Query const&) { return true; }, not_connected());
        window_->fail_all(not_connected());
    }
    if (auto const repeated = failed_attempts_.happened(last_error_.text(), runtime_->now()))
        runtime_->log(LogLevel::warning, name_ + ": " + last_error_.text() + how_often(*repeated));
}

// -- silence --

Clock::duration Client::patience() const noexcept
{
    auto const base =
        shortest_ttl_ > 0ms ? std::clamp<Clock::duration>(shortest_ttl_ / 6, 500ms, 5s) : Clock::duration(5s);
    // a server that was left twice is slow, and would become slower
    return base * (1 + static_cast<int>(left_behind_.size()));
}

void Client::leave_silent()
{
    if (left_behind_.size() == most_left_behind)
        give_up(left_behind_.front().first, "the server does not answer");
    left_behind_.emplace_back(std::exchange(current_, nullptr), runtime_->now() + longest_wait);
    timer_.by(left_behind_.back().second, weak_from_this(), &Client::tick);
    ready_ = false;
    wanted_ = true;
    last_error_ = {errc::store_unavailable, "the server does not answer"};
    // others may begin while these claims stay unanswered
    window_->begin_anew();
    answer_if(&Query::is_renewal, not_connected());
    next_host();
    if (listener_)
        listener_(nullptr);
}

void Client::give_up(ConnectionPtr connection, char const* why)
{
    net::StreamError const error{errc::store_unavailable, why};
    on_lost(*connection, error);
    connection->close(error);
}

void Client::tick()
{
    if (closed_)
        return;
    auto const now = runtime_->now();
    answer_if([this](Query const& query) { return over(query); }, last_error_ ? not_connected() : Failure::dropped());
    auto when = Instant::max();
    for (auto const& line : queue_)
        for (auto const& entry : line)
            when = std::min(when, entry.query.not_after.at());
    for (auto const& [connection, until] : std::vector(left_behind_))
        if (now >= until)
            give_up(connection, "the server does not answer");
        else
            when = std::min(when, until);
    if (ready_ && under_way_ > 0) {
        auto const silent_at = current_->last_progress() + patience();
        if (now >= silent_at)
            leave_silent();
        else
            when = std::min(when, silent_at);
    }
    if (when != Instant::max())
        timer_.by(when, weak_from_this(), &Client::tick);
    pump();
}

store::Step<Outcome> ask(ClientPtr client, Query query)
{
    return store::Step<Outcome>([client = std::move(client), query = std::move(query)](OutcomeHandler handler) mutable {
        client->send(std::move(query), std::move(handler));
    });
}

} // namespace tenure::postgresql
