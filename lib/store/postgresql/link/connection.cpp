// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Connection: libpq on the strand.
#include "connection.hpp"

#include "runtime/fork_guard.hpp"
#include "store/postgresql/backend.hpp"
#include "store/postgresql/protocol.hpp"

#include <tenure/errc.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

namespace tenure::postgresql
{

namespace
{

constexpr std::string_view greeting =
    "SELECT pg_backend_pid(), extract(epoch FROM a.backend_start), current_setting('default_transaction_isolation'), "
    "pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', version() "
    "FROM (SELECT) x LEFT JOIN pg_stat_activity a ON a.pid = pg_backend_pid()";

/** One line of a message of libpq. */
std::string line_of(std::string_view text)
{
    text = text.substr(0, text.find("\nLOCATION"));
    std::string line(text.substr(0, text.find_last_not_of(" \n") + 1));
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

// -- connecting --

void Connection::open(std::weak_ptr<ConnectionOwner> owner)
{
    owner_ = std::move(owner);
    deadline_ = runtime_->now() + config_->connect_timeout;
    auto const digits = std::to_string(100'000'000 + runtime_->random() % 100'000'000);
    session_.application = config_->application_name + "/" + digits.substr(1);
    login_ = {config_->username, config_->password};
    try {
        if (config_->credentials)
            login_ = config_->credentials();
    } catch (std::exception const& error) {
        last_failure_ = {errc::authentication_failed, std::string("the credentials callback failed: ") + error.what()};
    }
    if (!endpoint_ && !last_failure_)
        addresses_.emplace_back();
    limit_.at(endpoint_ && !last_failure_ ? deadline_ : runtime_->now(), weak_from_this(), &Connection::try_next);
    if (!endpoint_ || last_failure_)
        return;
    lookup_.emplace(
        runtime_, endpoint_->host,
        [weak = weak_from_this()](net::StreamError const& error, net::NameLookup::Addresses const& found) {
            auto const self = weak.lock();
            if (self == nullptr || self->state_ != State::connecting)
                return;
            for (auto const& address : found)
                self->addresses_.push_back(address.to_string());
            if (error)
                self->last_failure_ = {errc::store_unavailable, net::NameLookup::explain(self->endpoint_->host, error)};
            self->try_next();
        });
}

void Connection::try_next()
{
    finish_libpq();
    pending_.clear();
    farewell_.clear();
    auto const now = runtime_->now();
    if (addresses_.empty() || now >= deadline_) {
        lose(last_failure_ ? last_failure_ : net::StreamError{errc::store_unavailable, "no answer in time"});
        return;
    }
    // a silent address leaves time for the others
    auto const share = (deadline_ - now) / static_cast<Clock::rep>(addresses_.size());
    limit_.at(now + share, weak_from_this(), [](Connection& self) { self.attempt_failed("no answer in time"); });
    auto given = config_->parameters;
    given["host"] = endpoint_ ? endpoint_->host : config_->socket_directory;
    given["hostaddr"] = addresses_.front();
    given["port"] = std::to_string(endpoint_ ? endpoint_->port : config_->socket_port);
    given["dbname"] = config_->database;
    given["user"] = login_.username;
    given["password"] = login_.password;
    given["application_name"] = session_.application;
    given["client_encoding"] = "UTF8";
    // the default may talk to a key server inside a poll
    given.try_emplace("gssencmode", "disable");
    given["tcp_user_timeout"] = "30000";
    given["keepalives_idle"] = "10";
    given["keepalives_interval"] = "5";
    given["keepalives_count"] = "3";
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

void Connection::attempt_failed(std::string const& message)
{
    bool const needs_password = pg_ != nullptr && PQconnectionNeedsPassword(pg_) != 0 && login_.password.empty();
    last_failure_ = connect_failure(line_of(message), needs_password);
    try_next();
}

void Connection::poll()
{
    // libpq may close this socket, and open another one
    release_descriptor();
    auto const next = PQconnectPoll(pg_);
    if (next == PGRES_POLLING_OK)
        greet();
    else if (next == PGRES_POLLING_FAILED)
        attempt_failed(PQerrorMessage(pg_));
    else
        wait(next == PGRES_POLLING_WRITING);
}

void Connection::greet()
{
    PQsetErrorVerbosity(pg_, PQERRORS_DEFAULT);
    if (PQsetnonblocking(pg_, 1) != 0 || PQenterPipelineMode(pg_) != 1) {
        attempt_failed(PQerrorMessage(pg_));
        return;
    }
    wait(false);
    std::vector<Statement> statements;
    if (config_->create)
        statements.push_back({install_statement(config_->schema, config_->roles)});
    statements.push_back({std::string(greeting)});
    statements.push_back({in_schema("SELECT v[1], v[2] FROM tenure.version() v", config_->schema)});
    send(std::move(statements), [weak = weak_from_this()](TransactionReply&& reply) {
        if (auto const self = weak.lock(); self != nullptr && self->state_ == State::connecting && !reply.lost)
            self->greeted(reply);
    });
}

void Connection::greeted(TransactionReply const& reply)
{
    if (auto const refusal = greeting_failure(reply, config_->schema)) {
        lose(*refusal);
        return;
    }
    auto const& about = reply.results[reply.results.size() - 2];
    session_.pid = about.text(0);
    session_.started = about.text(1);
    sets_isolation_ = about.text(2) != "read committed";
    pooled_ = session_.pid != std::to_string(PQbackendPID(pg_));
    limit_.cancel();
    state_ = State::ready;
    if (!pooled_)
        prepare();
    if (auto const owner = owner_.lock())
        owner->on_ready(*this);
}

/** Saves the server from parsing the frequent statements each time, a third of its work for a claim of a held key. */
void Connection::prepare()
{
    std::vector<Statement> statements;
    decltype(prepared_) names;
    for (auto const sql : {claim_sql, renew_sql, release_sql, announce_sql}) {
        auto const text = in_schema(sql, config_->schema);
        // of this session alone: behind a pooler that shows itself nowhere, another one answers that it has none
        auto const name = "tenure_" + session_.pid + session_.application.substr(session_.application.size() - 8) +
                          "_" + std::to_string(names.size());
        statements.push_back({"PREPARE " + name + " AS " + text});
        names.emplace(text, name);
    }
    send(std::move(statements), [weak = weak_from_this(), names = std::move(names)](TransactionReply&& reply) mutable {
        if (auto const self = weak.lock(); self != nullptr && !reply.error && !reply.lost)
            self->prepared_ = std::move(names);
    });
}

// -- transactions --

bool Connection::put(Statement const& statement)
{
    std::vector<char const*> values;
    for (auto const& value : statement.values)
        values.push_back(value ? value->c_str() : nullptr);
    auto const count = static_cast<int>(values.size());
    if (auto const known = prepared_.find(statement.text); known != prepared_.end())
        return PQsendQueryPrepared(pg_, known->second.c_str(), count, values.data(), nullptr, nullptr, 0) == 1;
    return PQsendQueryParams(pg_, statement.text.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0) == 1;
}

void Connection::send(std::vector<Statement> statements, TransactionHandler handler)
{
    if (pending_.empty())
        last_progress_ = runtime_->now();
    if (sets_isolation_)
        statements.insert(statements.begin(), {"SET transaction_isolation = 'read committed'"});
    if (pooled_)
        statements.push_back({"SELECT " + std::to_string(runtime_->random())});
    pending_.push_back({std::move(handler), std::move(statements)});
    if (!pooled_ || pending_.size() == 1)
        write(pending_.back());
}

void Connection::write(Pending const& next)
{
    bool good = pg_ != nullptr && fork_generation_ == fork_generation();
    for (auto const& statement : next.statements)
        good = good && put(statement);
    if (good && PQpipelineSync(pg_) == 1)
        flush();
    else
        runtime_->post([weak = weak_from_this(), why = line_of(PQerrorMessage(pg_))] {
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

std::vector<Connection::Pending> Connection::take_results()
{
    std::vector<Pending> finished;
    // null: the end of one statement's results; twice in a row: nothing is left
    for (int ends = 0; !pending_.empty() && farewell_.empty() && ends < 2 && PQisBusy(pg_) == 0;) {
        auto* const raw = PQgetResult(pg_);
        ends = raw == nullptr ? ends + 1 : 0;
        if (raw == nullptr)
            continue;
        Result result(raw);
        auto& reply = pending_.front().reply;
        auto const status = result.status();
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            reply.results.push_back(std::move(result));
        } else if (status == PGRES_PIPELINE_SYNC) {
            finish(pending_.front());
            finished.push_back(std::move(pending_.front()));
            pending_.pop_front();
            if (pooled_ && !pending_.empty())
                write(pending_.front());
        } else if (status != PGRES_PIPELINE_ABORTED) {
            reply.error = {
                std::string(Result::error_field(raw, PG_DIAG_SQLSTATE)),
                line_of(Result::error_field(raw, PG_DIAG_MESSAGE_PRIMARY))};
            if (reply.error->code == not_prepared_code)
                prepared_.clear();
            // FATAL proves nothing: a session that ends while it waits for a standby has committed. No answer to the
            // Sync follows, so the transaction is lost
            if (Result::error_field(raw, PG_DIAG_SEVERITY_NONLOCALIZED) != "ERROR" && !reply.error->code.empty())
                farewell_ = reply.error->message + " (" + reply.error->code + ")";
        }
    }
    return finished;
}

/** Removes the results of what `send` has added. */
void Connection::finish(Pending& pending)
{
    auto& [handler, statements, reply] = pending;
    if (reply.error)
        return;
    auto& results = reply.results;
    if (results.size() != statements.size() ||
        (pooled_ && "SELECT " + std::string(results.back().text(0)) != statements.back().text)) {
        farewell_ = "the answers are not those to the requests";
        reply.lost = {errc::protocol_error, farewell_};
        return;
    }
    if (pooled_)
        results.pop_back();
    if (sets_isolation_)
        results.erase(results.begin());
}

/** libpq calls it while it reads the answer to the Sync of the first pending transaction. */
void Connection::on_notice(void* self, PGresult const* notice)
{
    // "The transaction has already committed locally, but might not have been replicated to the standby."
    auto& pending = static_cast<Connection*>(self)->pending_;
    if (!pending.empty() && Result::error_field(notice, PG_DIAG_SQLSTATE) == "01000" &&
        Result::error_field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING")
        pending.front().reply.unreplicated = true;
}

// -- the descriptor --

void Connection::wait(bool for_writing)
{
    if (!descriptor_.is_open()) {
        error_code error;
        descriptor_.assign(PQsocket(pg_), error);
        if (error) {
            limit_.at(runtime_->now(), weak_from_this(), [error](Connection& self) { self.lose({error, ""}); });
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
    flush();
    if (writable)
        return;
    bool const alive = PQconsumeInput(pg_) == 1;
    last_progress_ = runtime_->now();
    // a handler may close or drop this object
    auto const self = shared_from_this();
    for (auto& one : take_results())
        one.handler(std::move(one.reply));
    for (PGnotify* news = nullptr; pg_ != nullptr && (news = PQnotifies(pg_)) != nullptr;) {
        std::string const channel = news->relname;
        PQfreemem(news);
        if (auto const owner = owner_.lock(); owner != nullptr && state_ == State::ready)
            owner->on_notification(*this, channel);
    }
    if (pg_ == nullptr)
        return;
    if (!alive || PQstatus(pg_) == CONNECTION_BAD || !farewell_.empty())
        lose({errc::store_unavailable, farewell_.empty() ? line_of(PQerrorMessage(pg_)) : farewell_});
    else
        wait(false);
}

void Connection::lose(net::StreamError const& error)
{
    auto const self = shared_from_this();
    auto const owner = owner_.lock();
    // first, because it asks whether transactions are pending
    if (owner != nullptr)
        owner->on_lost(*this, error);
    close(error);
}

void Connection::close(net::StreamError const& why) noexcept
{
    state_ = State::closed;
    limit_.cancel();
    lookup_.reset();
    finish_libpq();
    owner_.reset();
    if (pending_.empty())
        return;
    runtime_->post([pending = std::exchange(pending_, {}), why]() mutable {
        for (auto& one : pending) {
            one.reply.lost = why;
            one.handler(std::move(one.reply));
        }
    });
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

} // namespace tenure::postgresql
