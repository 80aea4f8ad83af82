// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Connection: libpq on the strand.
#include "connection.hpp"

#include "runtime/fork_guard.hpp"
#include "store/postgresql/errors.hpp"
#include "store/postgresql/schema.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

namespace tenure::postgresql
{

namespace
{

/// one write of a session that could change nothing, and the versions of server and schema
constexpr std::string_view greeting =
    "SELECT pg_backend_pid(), extract(epoch FROM a.backend_start), current_setting('default_transaction_isolation'), "
    "pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', version() "
    "FROM (SELECT) x LEFT JOIN pg_stat_activity a ON a.pid = pg_backend_pid()";

std::string trimmed(std::string_view text)
{
    text = text.substr(0, text.find("\nLOCATION"));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    std::string line(text);
    std::ranges::replace(line, '\n', ' ');
    return line;
}

} // namespace

std::string array_of(std::vector<std::string> const& values)
{
    std::string text = "{";
    for (auto const& value : values) {
        text += text.size() == 1 ? "\"" : ",\"";
        for (char const c : value) {
            if (c == '"' || c == '\\')
                text.push_back('\\');
            text.push_back(c);
        }
        text.push_back('"');
    }
    return text + "}";
}

Connection::Connection(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<PostgresqlConfig const> config, std::optional<Endpoint> endpoint)
    : runtime_(std::move(runtime))
    , config_(std::move(config))
    , endpoint_(std::move(endpoint))
    , fork_generation_(fork_generation())
    , descriptor_(runtime_->io_executor())
    , limit_(*runtime_)
{
}

Connection::~Connection()
{
    finish_libpq();
}

// -- connecting --

Connection::Parameters Connection::parameters() const
{
    Parameters all;
    for (auto const& [name, value] : config_->parameters)
        all.emplace_back(name, value);
    auto const add = [&all](char const* name, std::string const& value) {
        if (!value.empty())
            all.emplace_back(name, value);
    };
    add("host", endpoint_ ? endpoint_->host : config_->socket_directory);
    add("hostaddr", addresses_.front());
    add("port", std::to_string(endpoint_ ? endpoint_->port : config_->socket_port));
    add("dbname", config_->database);
    add("user", login_.username);
    add("password", login_.password);
    add("application_name", session_.application);
    add("client_encoding", "UTF8");
    // the default may talk to a key server inside a poll
    if (!config_->parameters.contains("gssencmode"))
        add("gssencmode", "disable");
    add("tcp_user_timeout", "30000");
    add("keepalives_idle", "10");
    add("keepalives_interval", "5");
    add("keepalives_count", "3");
    return all;
}

void Connection::open(Events events)
{
    events_ = std::move(events);
    deadline_ = runtime_->now() + config_->connect_timeout;
    limit_.at(deadline_, weak_from_this(), [](Connection& self) { self.attempt_failed("no answer in time"); });
    auto digits = std::to_string(runtime_->random() % 100'000'000);
    digits.insert(0, 8 - digits.size(), '0');
    session_.application = config_->application_name + "/" + digits;
    login_ = {config_->username, config_->password};
    try {
        if (config_->credentials)
            login_ = config_->credentials();
    } catch (std::exception const& error) {
        last_failure_ = {errc::authentication_failed, std::string("the credentials callback failed: ") + error.what()};
        limit_.at(runtime_->now(), weak_from_this(), &Connection::try_next);
        return;
    }
    if (!endpoint_) {
        addresses_.emplace_back();
        limit_.at(runtime_->now(), weak_from_this(), &Connection::try_next);
        return;
    }
    lookup_.emplace(
        runtime_, endpoint_->host,
        [weak = weak_from_this()](net::StreamError const& error, net::NameLookup::Addresses const& found) {
            auto const self = weak.lock();
            if (self == nullptr || self->state_ != State::connecting)
                return;
            for (auto const& address : found)
                self->addresses_.push_back(address.to_string());
            if (error)
                self->last_failure_ = {
                    make_error_code(errc::store_unavailable),
                    net::NameLookup::explain(self->endpoint_->host, error), false};
            self->try_next();
        });
}

void Connection::try_next()
{
    finish_libpq();
    pending_.clear();
    farewell_.reset();
    auto const now = runtime_->now();
    if (addresses_.empty() || now >= deadline_) {
        lose(last_failure_ ? last_failure_ : net::StreamError{errc::store_unavailable, "no answer in time"});
        return;
    }
    // a silent address leaves time for the others
    auto const share = (deadline_ - now) / static_cast<Clock::rep>(addresses_.size());
    limit_.at(now + share, weak_from_this(), [](Connection& self) { self.attempt_failed("no answer in time"); });
    auto const given = parameters();
    addresses_.pop_front();
    std::vector<char const*> names;
    std::vector<char const*> values;
    for (auto const& [name, value] : given) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    pg_ = PQconnectStartParams(names.data(), values.data(), 0);
    if (pg_ == nullptr || PQstatus(pg_) == CONNECTION_BAD) {
        attempt_failed(PQerrorMessage(pg_));
        return;
    }
    // libpq gives the code of a refused login only inside this text
    PQsetErrorVerbosity(pg_, PQERRORS_VERBOSE);
    PQsetNoticeReceiver(pg_, &on_notice, this);
    wait(true);
}

void Connection::attempt_failed(std::string message)
{
    if (state_ != State::connecting)
        return;
    bool const needs_password = pg_ != nullptr && PQconnectionNeedsPassword(pg_) != 0 && login_.password.empty();
    last_failure_ = connect_failure(trimmed(message), needs_password);
    try_next();
}

void Connection::poll()
{
    // libpq may close this socket, and open another one
    release_descriptor();
    switch (PQconnectPoll(pg_)) {
    case PGRES_POLLING_OK:
        connected();
        break;
    case PGRES_POLLING_READING:
        wait(false);
        break;
    case PGRES_POLLING_WRITING:
        wait(true);
        break;
    default:
        attempt_failed(PQerrorMessage(pg_));
    }
}

void Connection::connected()
{
    PQsetErrorVerbosity(pg_, PQERRORS_DEFAULT);
    if (PQsetnonblocking(pg_, 1) != 0 || PQenterPipelineMode(pg_) != 1) {
        attempt_failed(PQerrorMessage(pg_));
        return;
    }
    wait(false);
    Transaction first;
    if (config_->create)
        first.statements.push_back({install_statement(config_->schema, config_->roles)});
    first.statements.push_back({std::string(greeting)});
    first.statements.push_back({in_schema("SELECT tenure.version()", config_->schema)});
    first.handler = [weak = weak_from_this()](TransactionReply&& reply) {
        if (auto const self = weak.lock())
            self->greeted(std::move(reply));
    };
    send(std::move(first));
}

void Connection::greeted(TransactionReply reply)
{
    if (reply.lost || state_ != State::connecting)
        return;
    auto& results = reply.results;
    if (auto const refusal = greeting_failure(reply, config_->schema)) {
        lose(*refusal);
        return;
    }
    auto const& about = results[results.size() - 2];
    session_.pid = about.text(0);
    session_.started = about.text(1);
    brackets_ = about.text(2) != "read committed";
    pooled_ = session_.pid != std::to_string(PQbackendPID(pg_));
    limit_.cancel();
    state_ = State::ready;
    events_.ready();
}

// -- transactions --

void Connection::send(Transaction transaction)
{
    if (pg_ == nullptr || state_ == State::closed || fork_generation_ != fork_generation()) {
        runtime_->post([handler = std::move(transaction.handler)]() mutable {
            TransactionReply reply;
            reply.lost = {errc::store_unavailable, "the connection is closed"};
            handler(std::move(reply));
        });
        return;
    }
    if (pending_.empty())
        last_progress_ = runtime_->now();
    auto const put = [this](Statement const& statement) {
        std::vector<char const*> values;
        for (auto const& value : statement.values)
            values.push_back(value ? value->c_str() : nullptr);
        return PQsendQueryParams(
                   pg_, statement.text.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                   nullptr, 0) == 1;
    };
    bool good = true;
    bool const bracketed = brackets_;
    if (bracketed)
        good = put({"BEGIN ISOLATION LEVEL READ COMMITTED"});
    for (auto const& statement : transaction.statements)
        good = good && put(statement);
    good = good && PQpipelineSync(pg_) == 1;
    // an error leaves the transaction open: then COMMIT is answered ROLLBACK
    if (bracketed)
        good = good && put({"COMMIT"}) && PQpipelineSync(pg_) == 1;
    pending_.push_back({std::move(transaction.handler), {}, bracketed ? 2 : 1, bracketed});
    if (good)
        flush();
    else
        runtime_->post([weak = weak_from_this(), why = trimmed(PQerrorMessage(pg_))] {
            if (auto const self = weak.lock())
                self->lose({errc::store_unavailable, why});
        });
}

void Connection::flush()
{
    // an error shows at the next read
    if (!writing_ && PQflush(pg_) == 1)
        wait(true);
}

void Connection::take_results(Finished& finished)
{
    // null: the end of one statement's results; twice in a row: nothing is left
    for (int ends = 0; !pending_.empty() && ends < 2 && PQisBusy(pg_) == 0;) {
        auto* const raw = PQgetResult(pg_);
        if (raw == nullptr) {
            ++ends;
            continue;
        }
        ends = 0;
        Result result(raw);
        auto& [handler, reply, syncs, bracketed] = pending_.front();
        switch (result.status()) {
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
            reply.results.push_back(std::move(result));
            break;
        case PGRES_PIPELINE_ABORTED:
            break;
        case PGRES_PIPELINE_SYNC:
            if (--syncs > 0)
                break;
            if (bracketed && !reply.error && reply.results.back().tag() != "COMMIT")
                reply.error = {"40000", "the server rolled the transaction back"};
            if (bracketed && !reply.error) {
                reply.results.pop_back();
                reply.results.erase(reply.results.begin());
            }
            finished.emplace_back(std::move(handler), std::move(reply));
            pending_.pop_front();
            break;
        default: {
            ServerError error{
                std::string(result.error_field(PG_DIAG_SQLSTATE)),
                trimmed(result.error_field(PG_DIAG_MESSAGE_PRIMARY))};
            auto const severity = result.error_field(PG_DIAG_SEVERITY_NONLOCALIZED);
            // FATAL proves nothing: a session that ends while it waits for a standby has committed
            if (severity == "ERROR")
                reply.error = std::move(error);
            else if (!error.code.empty())
                farewell_ = std::move(error);
        }
        }
    }
}

void Connection::take_notifications()
{
    while (auto* const notification = PQnotifies(pg_)) {
        std::string const channel = notification->relname;
        std::string const payload = notification->extra;
        PQfreemem(notification);
        if (state_ == State::ready && events_.notified)
            events_.notified(channel, payload);
        if (pg_ == nullptr)
            return;
    }
}

/** libpq calls it while it reads the answer to the Sync of the first pending transaction. */
void Connection::on_notice(void* self, PGresult const* notice)
{
    auto const field = [notice](int name) {
        char const* const value = PQresultErrorField(notice, name);
        return value == nullptr ? std::string_view() : value;
    };
    // "The transaction has already committed locally, but might not have been replicated to the standby."
    auto& pending = static_cast<Connection*>(self)->pending_;
    if (!pending.empty() && field(PG_DIAG_SQLSTATE) == "01000" &&
        field(PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING")
        pending.front().reply.unreplicated = true;
}

// -- the descriptor --

void Connection::wait(bool for_writing)
{
    if (!descriptor_.is_open()) {
        error_code error;
        descriptor_.assign(PQsocket(pg_), error);
        if (error) {
            runtime_->post([weak = weak_from_this(), error] {
                if (auto const self = weak.lock())
                    self->lose({error, ""});
            });
            return;
        }
    }
    writing_ = writing_ || for_writing;
    using Descriptor = asio::posix::stream_descriptor;
    descriptor_.async_wait(
        for_writing ? Descriptor::wait_write : Descriptor::wait_read,
        [weak = weak_from_this(), runtime = runtime_, use = use_, for_writing](error_code error) {
            if (error)
                return;
            runtime->strand().execute([weak, use, for_writing] {
                if (auto const self = weak.lock(); self != nullptr && self->use_ == use)
                    self->on_event(for_writing);
            });
        });
}

void Connection::on_event(bool writable)
{
    if (writable)
        writing_ = false;
    if (PQpipelineStatus(pg_) == PQ_PIPELINE_OFF) {
        poll();
        return;
    }
    if (writable) {
        flush();
        return;
    }
    bool const alive = PQconsumeInput(pg_) == 1;
    last_progress_ = runtime_->now();
    Finished finished;
    take_results(finished);
    flush();
    // a handler may close or drop this object
    auto const self = shared_from_this();
    for (auto& [handler, reply] : finished)
        handler(std::move(reply));
    if (pg_ != nullptr)
        take_notifications();
    if (pg_ == nullptr)
        return;
    if (!alive || PQstatus(pg_) == CONNECTION_BAD || (farewell_ && state_ == State::connecting))
        lose({errc::store_unavailable, farewell_ ? farewell_->message : trimmed(PQerrorMessage(pg_))});
    else
        wait(false);
}

void Connection::release_descriptor() noexcept
{
    ++use_;
    writing_ = false;
    if (descriptor_.is_open())
        descriptor_.release();
}

void Connection::finish_libpq() noexcept
{
    if (pg_ == nullptr)
        return;
    if (fork_generation_ != fork_generation()) {
        // the session is the parent's: what libpq and Asio do to the socket must not reach it
        if (int const nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0) {
            ::dup2(nowhere, PQsocket(pg_));
            ::close(nowhere);
        }
    }
    release_descriptor();
    PQfinish(std::exchange(pg_, nullptr));
}

void Connection::lose(net::StreamError error)
{
    if (state_ == State::closed)
        return;
    auto const lost = std::exchange(events_.lost, nullptr);
    close(error);
    if (lost)
        lost(error);
}

void Connection::close(net::StreamError const& why) noexcept
{
    if (std::exchange(state_, State::closed) == State::closed)
        return;
    limit_.cancel();
    lookup_.reset();
    finish_libpq();
    events_ = {};
    if (pending_.empty())
        return;
    runtime_->post([pending = std::exchange(pending_, {}), why]() mutable {
        for (auto& one : pending) {
            one.reply.lost = why;
            one.handler(std::move(one.reply));
        }
    });
}

} // namespace tenure::postgresql
