// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: from the queue to batches, and what becomes of their answers.
#include "client.hpp"

#include "store/postgresql/errors.hpp"
#include "store/postgresql/schema.hpp"

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

std::size_t bytes_of(Statement const& statement)
{
    auto bytes = statement.text.size();
    for (auto const& value : statement.values)
        bytes += value ? value->size() : 0;
    return bytes;
}

/** The server refuses other text, and with it the whole batch. */
bool is_utf8(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        auto const first = static_cast<unsigned char>(text[i++]);
        int const more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : -1;
        auto const second = i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
        bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
        bool const outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
        if (more < 0 || first == 0 || overlong || outside)
            return false;
        for (int n = 0; n < more; ++n)
            if (i == text.size() || (static_cast<unsigned char>(text[i++]) & 0xc0U) != 0x80)
                return false;
    }
    return true;
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

Client::~Client()
{
    close();
}

void Client::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    timer_.cancel();
    reachable_ = nullptr;
    changed_ = nullptr;
    notified_ = nullptr;
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

std::string Client::sql(std::string_view text) const
{
    return in_schema(text, config_->schema);
}

// -- the queue --

void Client::send(Query query, OutcomeHandler handler)
{
    if (closed_ || (query.line == Query::Line::renewals && !ready_)) {
        answer_later(std::move(handler), not_connected());
        want_connection();
        return;
    }
    for (auto const& value : query.statement.values)
        if (value && !is_utf8(*value)) {
            answer_later(
                std::move(handler),
                Failure::refused(errc::store_refused, where() + ": keys and owners must be UTF-8 without NUL", true));
            return;
        }
    timer_.by(query.not_after.at(), weak_from_this(), &Client::tick);
    queue_[static_cast<std::size_t>(query.line)].push_back({std::move(query), std::move(handler)});
    pump_soon();
}

void Client::begin_claim(Deadline not_after, store::ClaimWindow::Turn turn)
{
    window_->begin(std::move(not_after), std::move(turn));
}

void Client::answer_later(OutcomeHandler handler, Failure failure)
{
    runtime_->post([handler = std::move(handler), failure = std::move(failure)]() mutable { handler(std::move(failure)); });
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

void Client::shortest_ttl(std::chrono::milliseconds ttl) noexcept
{
    shortest_ttl_ = ttl;
    backoff_.protect(ttl);
}

void Client::want_connection()
{
    wanted_ = true;
    pump_soon();
}

void Client::listen(
    std::function<void()> changed, std::function<void(std::string const&, std::string const&)> notified)
{
    changed_ = std::move(changed);
    notified_ = std::move(notified);
}

// -- batches --

void Client::pump_soon()
{
    pump_.post(*runtime_, weak_from_this(), &Client::pump);
}

void Client::pump()
{
    if (closed_)
        return;
    if (ready_ && under_way_ == 0)
        write_batch();
    bool const waits = wanted_ || std::ranges::any_of(queue_, [](auto const& line) { return !line.empty(); });
    if (current_ != nullptr || !waits)
        return;
    if (runtime_->now() >= open_after_)
        connect();
    else
        timer_.by(open_after_, weak_from_this(), &Client::tick);
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
            if (entry.query.alone || entry.refused_before) {
                apart.emplace_back();
                apart.back().push_back(std::move(entry));
            } else {
                together.push_back(std::move(entry));
            }
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
    std::vector<std::string> ranges;
    Transaction transaction;
    for (auto const& [query, handler, refused_before] : entries) {
        transaction.statements.push_back(query.statement);
        if (!query.announces.empty())
            ranges.push_back(query.announces);
    }
    transaction.handler = [weak = weak_from_this(), connection = current_.get(), entries = std::move(entries),
                           now](TransactionReply&& reply) mutable {
        if (auto const self = weak.lock())
            self->answered(connection, std::move(entries), now, std::move(reply));
        else
            for (auto& entry : entries)
                entry.handler(Failure::unknown(errc::closed, "the store was closed"));
    };
    ++under_way_;
    current_->send(std::move(transaction));
    if (!ranges.empty())
        send_aside({sql("SELECT tenure.announce($1)"), {array_of(ranges)}});
}

/** For statements whose answer nobody needs. */
void Client::send_aside(Statement statement)
{
    Transaction transaction;
    transaction.statements.push_back(std::move(statement));
    transaction.handler = [](TransactionReply&&) {};
    current_->send(std::move(transaction));
}

void Client::answered(Connection const* connection, Entries entries, Instant since, TransactionReply reply)
{
    bool const is_current = connection == current_.get();
    if (is_current)
        --under_way_;
    auto const now = runtime_->now();
    bool const refused = reply.error && is_refusal(reply.error->code);
    // nothing was changed: one bad request does not refuse its neighbours
    bool const again = refused && entries.size() > 1 && !closed_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto& [query, handler, refused_before] = entries[i];
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
        entry->refused_before = true;
        queue_[static_cast<std::size_t>(entry->query.line)].push_front(std::move(*entry));
    }
    if (closed_)
        return;
    if (reply.error && is_read_only(reply.error->code) && connection == current_.get())
        leave_host(connection);
    std::erase_if(left_behind_, [this, connection](auto const& one) {
        bool const done = one.first.get() == connection && !one.first->busy();
        if (done)
            one.first->close({errc::store_unavailable, "another connection took over"});
        return done;
    });
    pump_soon();
}

store::Step<Outcome> ask(ClientPtr client, Query query)
{
    return store::Step<Outcome>([client = std::move(client), query = std::move(query)](OutcomeHandler handler) mutable {
        client->send(std::move(query), std::move(handler));
    });
}

} // namespace tenure::postgresql
