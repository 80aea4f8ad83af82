// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ConnectionMachine: connecting, requests, and timeouts.
#include "connection_machine.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

namespace tenure::redis
{

namespace
{

/// after a shorter connection, the machine pauses before it reconnects
constexpr std::chrono::seconds proven{1};
/// the reason why a stream could not connect may name several servers
constexpr std::size_t longest_reason = 1024;
/// limit of one write; the rest follows with a later timestamp
constexpr std::size_t largest_write = std::size_t{256} * 1024;
/// with fewer waiting requests each look at all of them is cheap
constexpr std::size_t few = 64;
/// a look at one request takes a hundredth of this
constexpr std::chrono::microseconds pause_per_request{1};
/// an answer that takes longer is late, whatever the ttl
constexpr std::chrono::milliseconds longest_answer_of_all{500};

std::string whole_milliseconds(Instant::duration duration)
{
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + " ms";
}

constexpr char const* too_late = "still unwritten when its time was over";

/// unique among all connections of the process
std::uint64_t next_login() noexcept
{
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// users see this library's errors; the system's message goes into the detail
error_code public_code(error_code error)
{
    return error.category() == tenure_category() ? error : make_error_code(errc::store_unavailable);
}

} // namespace

ConnectionMachine::ConnectionMachine(
    RedisConfig const& config, ConnectionOptions options, std::function<std::uint64_t()> random)
    : options_(std::move(options))
    , connect_timeout_(config.connect_timeout)
    , handshake_(
          config, {options_.master_only, options_.learns_run_id, options_.proves_scripts, options_.acknowledged_by})
    , backoff_(config.reconnect_backoff, std::move(random))
{
}

template <class Predicate>
void ConnectionMachine::refuse_waiting(Predicate is_over, Refusal const& why)
{
    queue_.take_waiting(is_over, [&](Request request) { not_sent(request, why); });
    earliest_not_after_ = Instant::max();
    queue_.for_each_waiting([this](Request const& request) { note_deadline(request); });
}

// -- events --

void ConnectionMachine::open(Instant now)
{
    if (phase_ == Phase::idle || (phase_ == Phase::failed && now >= deadline_))
        begin_connect(now);
}

void ConnectionMachine::execute(resp::Command&& command, Deadline&& not_after, OutcomeHandler&& handler)
{
    Request request(std::move(command), std::move(not_after), std::move(handler));
    if (request.not_after.abandoned()) {
        not_sent(request, {});
    } else if (phase_ == Phase::closed || phase_ == Phase::failed) {
        not_sent(request, failure_);
    } else {
        note_deadline(request);
        queue_.push(std::move(request));
    }
}

void ConnectionMachine::drop_abandoned(Instant now)
{
    look_due_ = queue_.waiting() > 0;
    if (look_due_)
        expire_waiting(now, true);
}

void ConnectionMachine::connected(StreamError const& error, Instant now)
{
    if (phase_ != Phase::connecting)
        return;
    if (error) {
        fail({public_code(error.code), handshake_.harmless(error.text(), longest_reason), error.fatal}, now);
        return;
    }
    try {
        handshake_.start(address_);
    } catch (std::exception const& thrown) {
        fail(
            {make_error_code(errc::authentication_failed),
             std::string("the credentials callback of the config failed: ") + thrown.what(), false},
            now);
        return;
    }
    parser_.reset();
    transaction_ = {};
    subscribed_ = false;
    handed_out_ = write_begin_ = 0;
    enter(Phase::login);
}

void ConnectionMachine::lost(StreamError const& error, Instant now)
{
    if (!has_stream())
        return;
    std::string detail = handshake_.harmless(error.text());
    if (phase_ == Phase::login && !error.fatal)
        detail += " before the login was answered";
    // a connection that has worked is retried after any error; the next attempt shows whether a person must act
    fail({public_code(error.code), std::move(detail), error.fatal && phase_ != Phase::ready}, now);
}

void ConnectionMachine::written(StreamError const& error, std::size_t bytes, Instant now)
{
    if (!error || !has_stream())
        return;
    // requests that certainly were not sent wait for the next connection
    while (!queue_.written().empty() && queue_.written().back().first_byte >= write_begin_ + bytes) {
        note_deadline(queue_.written().back());
        queue_.unmark_written();
    }
    lost(error, now);
}

void ConnectionMachine::hurry(Instant now)
{
    if (phase_ == Phase::backing_off)
        begin_connect(now);
}

void ConnectionMachine::timeout(Instant now, StreamError const& overdue)
{
    if (now >= deadline_) {
        if (phase_ == Phase::connecting && overdue) {
            auto const code = has_worked_ ? make_error_code(errc::store_unavailable) : public_code(overdue.code);
            fail({code, handshake_.harmless(overdue.text(), longest_reason), overdue.fatal}, now);
        } else if (phase_ == Phase::connecting || phase_ == Phase::login) {
            auto const limit = whole_milliseconds(connect_timeout_);
            fail(
                {make_error_code(errc::store_unavailable),
                 phase_ == Phase::connecting ? "no connection within " + limit
                                             : "connected, but no answer to the login within " + limit,
                 false},
                now);
        } else if (phase_ == Phase::backing_off) {
            begin_connect(now);
        }
    }
    // on a connection that works the requests are just too late
    bool const works = phase_ == Phase::ready && now - longest_answer_of_all < silent_since();
    expire_waiting(now, works);
}

void ConnectionMachine::invalidate(std::string_view what, Instant now)
{
    if (phase_ == Phase::ready)
        protocol_failure(std::string(what), now);
}

void ConnectionMachine::close()
{
    end({make_error_code(errc::closed), "the connection was closed", false});
}

void ConnectionMachine::give_up()
{
    end(
        {make_error_code(errc::store_unavailable), "no answer came on this connection, and another one took its place",
         false});
}

void ConnectionMachine::end(Refusal why)
{
    if (phase_ == Phase::closed)
        return;
    bool const had_stream = has_stream();
    failure_ = std::move(why);
    answer_written();
    refuse_all();
    if (had_stream)
        actions_.emplace_back(DropStream{});
    parser_.reset();
    enter(Phase::closed);
}

// -- results --

bool ConnectionMachine::next(Action& action, Instant now)
{
    for (;;) {
        if (!actions_.empty()) {
            action = std::move(actions_.front());
            actions_.pop_front();
            return true;
        }
        if (phase_ != Phase::login && phase_ != Phase::ready)
            return false;
        auto limit = options_.max_reply_bytes;
        if (!queue_.written().empty())
            limit = std::max(limit, queue_.written().front().command.expected_reply_bytes());
        resp::Value value;
        switch (parser_.next(value, limit)) {
        case resp::Parser::Status::incomplete:
            return false;
        case resp::Parser::Status::malformed:
            protocol_failure(parser_.error(), now);
            break;
        case resp::Parser::Status::complete:
            if (take_value(action, std::move(value), now))
                return true;
            break;
        }
    }
}

bool ConnectionMachine::has_output() const noexcept
{
    return phase_ == Phase::ready ? writable() > 0 : phase_ == Phase::login && handshake_.has_bytes();
}

std::size_t ConnectionMachine::writable() const noexcept
{
    if (phase_ != Phase::ready || unanswered_bytes() >= most_unanswered_bytes)
        return 0;
    return owes_too_much() ? queue_.waiting(resp::Urgency::renewal).size() : queue_.waiting();
}

bool ConnectionMachine::owes_too_much() const noexcept
{
    return queue_.owed() >= pace_.limit();
}

std::uint64_t ConnectionMachine::unanswered_bytes() const noexcept
{
    return queue_.written().empty() ? 0 : handed_out_ - queue_.written().front().first_byte;
}

Clock::duration ConnectionMachine::longest_answer() const noexcept
{
    auto const by_ttl = shortest_ttl_ / 12;
    // a WAIT, and another one behind which it was sent
    return 2 * delay_ + (shortest_ttl_.count() > 0 ? std::min(longest_answer_of_all, by_ttl) : longest_answer_of_all);
}

void ConnectionMachine::take_output(std::string& out, Instant now)
{
    if (phase_ == Phase::login) {
        out += handshake_.take_bytes();
        return;
    }
    if (phase_ != Phase::ready)
        return;
    write_begin_ = handed_out_;
    if (queue_.owed() == 0)
        pace_.begin_burst(now);
    // Where nothing has to wait, releases do not overtake claims: the next claims then begin together, in larger calls.
    bool const all_fits = queue_.owed() + queue_.waiting() <= pace_.limit();
    write_all(out, resp::Urgency::renewal, now);
    while (all_fits && queue_.waiting() > 0 && has_room(out) && !owes_too_much())
        write_with_next(out, queue_.oldest(), now);
    for (auto const urgency : {resp::Urgency::step, resp::Urgency::first})
        write_all(out, urgency, now);
    if (queue_.waiting() == 0)
        earliest_not_after_ = Instant::max();
}

bool ConnectionMachine::has_room(std::string const& out) const noexcept
{
    return out.size() < largest_write && unanswered_bytes() < most_unanswered_bytes;
}

void ConnectionMachine::write_all(std::string& out, resp::Urgency urgency, Instant now)
{
    bool const is_renewal = urgency == resp::Urgency::renewal;
    while (!queue_.waiting(urgency).empty() && has_room(out) && (is_renewal || !owes_too_much()))
        write_with_next(out, urgency, now);
}

void ConnectionMachine::write_with_next(std::string& out, resp::Urgency urgency, Instant now)
{
    while (write_one(out, urgency, now) && !queue_.waiting(urgency).empty()) {
    }
}

bool ConnectionMachine::write_one(std::string& out, resp::Urgency urgency, Instant now)
{
    auto& ring = queue_.waiting(urgency);
    auto& request = ring.front();
    bool const is_over = request.not_after.over(now);
    if (is_over || !request.command.compose(now)) {
        not_sent(request, {{}, is_over ? too_late : "", false}, !is_over);
        ring.pop_front();
        return false;
    }
    auto const before = out.size();
    // Only here is the receiving server process known. A connection stays with one process, so the run id from the
    // login is valid for everything written on it.
    if (request.command.wants_run_id())
        request.command.set_run_id(server().run_id);
    request.command.append_to(out);
    request.since = now;
    request.not_after.progressed(now);
    request.missing = request.expected = request.command.expected_answers();
    request.first_byte = handed_out_;
    handed_out_ += out.size() - before;
    bool const more_follows = request.command.leaves_with_next();
    queue_.mark_written(urgency);
    return more_follows;
}

Instant ConnectionMachine::wake_at() const noexcept
{
    Instant when = Instant::max();
    if (queue_.waiting() > 0)
        when = look_due_ ? look_after_ : std::max(earliest_not_after_, look_after_);
    if (phase_ == Phase::connecting || phase_ == Phase::login || phase_ == Phase::backing_off)
        when = std::min(when, deadline_);
    return when;
}

ConnectionState ConnectionMachine::state() const noexcept
{
    switch (phase_) {
    case Phase::idle:
        return ConnectionState::idle;
    case Phase::connecting:
    case Phase::login:
        return ConnectionState::connecting;
    case Phase::ready:
        return ConnectionState::ready;
    case Phase::backing_off:
        return ConnectionState::backing_off;
    case Phase::failed:
        return ConnectionState::failed;
    case Phase::closed:
        break;
    }
    return ConnectionState::closed;
}

Instant ConnectionMachine::oldest_unanswered() const noexcept
{
    return queue_.written().empty() ? Instant::max() : queue_.written().front().since;
}

Instant ConnectionMachine::silent_since() const noexcept
{
    return queue_.written().empty() ? Instant::max() : std::max(queue_.written().front().since, last_answer_);
}

// -- transitions --

bool ConnectionMachine::has_stream() const noexcept
{
    return phase_ == Phase::connecting || phase_ == Phase::login || phase_ == Phase::ready;
}

void ConnectionMachine::enter(Phase phase)
{
    auto const before = state();
    phase_ = phase;
    if (state() != before)
        actions_.emplace_back(TellState{state()});
}

void ConnectionMachine::begin_connect(Instant now)
{
    deadline_ = now + connect_timeout_;
    address_.clear();
    enter(Phase::connecting);
    actions_.emplace_back(ConnectStream{deadline_});
}

void ConnectionMachine::become_ready(Instant now)
{
    ready_since_ = now;
    has_worked_ = true;
    login_ = next_login();
    failure_ = {};
    auto const& server = handshake_.server();
    std::string what =
        server.server.empty() ? "a server that does not tell its version" : server.server + " " + server.version.text();
    if (!server.mode.empty())
        what += ", " + server.mode + " " + server.role;
    if (!address_.empty())
        what += " at " + address_;
    log(LogLevel::info, "connected to " + what + ", RESP" + std::to_string(server.protocol));
    if (auto const outage = failed_attempts_.end(now))
        log(LogLevel::warning, "reachable again after " + elapsed_text(outage->lasting) +
                                   "; failed attempts to connect: " + std::to_string(outage->total));
    enter(Phase::ready);
}

void ConnectionMachine::fail(Refusal why, Instant now)
{
    bool const was_ready = phase_ == Phase::ready;
    auto const unanswered = queue_.written().size();
    failure_ = std::move(why);
    if (!address_.empty())
        failure_.detail.insert(0, address_ + ": ");
    parser_.reset();
    actions_.emplace_back(DropStream{});
    answer_written();
    if (failure_.fatal) {
        deadline_ = now + (options_.carries_leases ? backoff_.after_refusal() : backoff_.after_rejection());
        fail_for_good(now);
    } else {
        retry(was_ready, unanswered, now);
    }
}

void ConnectionMachine::fail_for_good(Instant now)
{
    if (auto const repeated = failed_attempts_.happened(failure_.detail, now))
        log(LogLevel::error, "cannot be used: " + failure_.detail + how_often(*repeated));
    refuse_all();
    enter(Phase::failed);
}

void ConnectionMachine::retry(bool was_ready, std::size_t unanswered, Instant now)
{
    auto const pause = !was_ready                     ? backoff_.after_failure()
                       : now - ready_since_ >= proven ? backoff_.after_loss()
                       : options_.carries_leases      ? backoff_.after_short_life()
                                                      : backoff_.after_rejection();
    deadline_ = now + pause;
    auto const repeated = (was_ready ? losses_ : failed_attempts_).happened(failure_.detail, now);
    log(repeated ? LogLevel::warning : LogLevel::debug,
        (was_ready ? "lost the connection: " : "cannot connect: ") + failure_.detail +
            how_often(repeated.value_or(Repeated())) +
            (unanswered > 0 ? "; requests without an answer: " + std::to_string(unanswered) : "") +
            "; trying again in " + whole_milliseconds(pause));
    // requests that wait for no other connection, or after an attempt for only one, fail with its error
    refuse_waiting(
        [was_ready](Request const& request) {
            return request.command.needs_connection() || (!was_ready && request.not_after.one_attempt());
        },
        failure_);
    enter(Phase::backing_off);
}

void ConnectionMachine::expire_waiting(Instant now, bool can_write)
{
    if (!look_due_ && now < earliest_not_after_)
        return;
    auto const many = queue_.waiting();
    if (many > few && now < look_after_)
        return;
    look_due_ = false;
    look_after_ = many > few ? now + pause_per_request * static_cast<Clock::rep>(many) : Instant{};
    Refusal why{failure_.error, failure_.detail, false};
    if (!why.error && !can_write)
        why.error = make_error_code(errc::store_unavailable);
    if (why.detail.empty())
        why.detail = too_late;
    queue_.take_waiting(
        [now](Request const& request) { return request.not_after.over(now); },
        [&](Request request) { not_sent(request, request.not_after.abandoned() ? Refusal() : why); });
    earliest_not_after_ = Instant::max();
    queue_.for_each_waiting([this](Request const& request) { note_deadline(request); });
}

void ConnectionMachine::answer_written()
{
    for (; !queue_.written().empty(); queue_.pop_written()) {
        auto& request = queue_.written().front();
        Outcome outcome;
        outcome.delivery = Delivery::unknown;
        outcome.since = request.since;
        outcome.error = failure_.error;
        outcome.detail = failure_.detail;
        complete(request, std::move(outcome));
    }
}

void ConnectionMachine::refuse_all()
{
    assert(queue_.written().empty());
    refuse_waiting([](Request const&) { return true; }, failure_);
}

void ConnectionMachine::not_sent(Request& request, Refusal const& why, bool unwanted)
{
    Outcome outcome;
    outcome.unwanted = unwanted;
    outcome.error = why.error;
    outcome.detail = why.detail;
    outcome.fatal = why.fatal;
    complete(request, std::move(outcome));
}

void ConnectionMachine::complete(Request& request, Outcome outcome)
{
    actions_.emplace_back(Complete{std::move(request.handler), std::move(outcome)});
}

void ConnectionMachine::log(LogLevel level, std::string line)
{
    actions_.emplace_back(
        WriteLog{options_.quiet ? std::min(level, LogLevel::debug) : level, options_.name + ": " + std::move(line)});
}

} // namespace tenure::redis
