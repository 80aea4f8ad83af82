// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SentinelQuery: requests to all sentinels, and their replies.
#include "sentinel_query.hpp"

#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::redis
{

SentinelQuery::SentinelQuery(
    std::shared_ptr<Runtime> runtime, SentinelConnect connect, Request request, Handler handler)
    : runtime_(std::move(runtime))
    , connect_(std::move(connect))
    , request_(std::move(request))
    , handler_(std::move(handler))
    , vote_(request_.rules)
    , timer_(*runtime_)
{
}

SentinelQuery::~SentinelQuery()
{
    cancel();
}

void SentinelQuery::start()
{
    for (std::size_t i = 0; i < request_.sentinels.size(); ++i) {
        ask(request_.sentinels[i]);
        if (i >= request_.rules.configured)
            learned_.push_back(request_.sentinels[i]);
    }
    conclude_if_decided();
}

void SentinelQuery::cancel() noexcept
{
    handler_ = nullptr;
    timer_.cancel();
    for (auto& asked : asked_)
        if (auto const connection = std::exchange(asked.connection, nullptr))
            connection->close();
}

void SentinelQuery::ask(SentinelEntry const& sentinel)
{
    auto const number = vote_.ask(sentinel.address);
    asked_.emplace_back().connection = connect_(sentinel.address);
    asked_.back().connection->on_state([weak = weak_from_this(), number](ConnectionState now) {
        if (auto const self = weak.lock())
            self->state_changed(number, now);
    });
    send(number, id, resp::Command("SENTINEL", "MYID"));
    // in one write, so that both answers are of the same moment
    send(number, address, resp::Command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", request_.rules.master_name));
    send(number, state, resp::Command("SENTINEL", "MASTER", request_.rules.master_name));
    send(number, others, resp::Command("SENTINEL", "SENTINELS", request_.rules.master_name));
}

void SentinelQuery::send(std::size_t sentinel, Part part, resp::Command command)
{
    // the round has a time limit, and drops the connection then
    asked_[sentinel].connection->execute(
        std::move(command), Instant::max(), [weak = weak_from_this(), sentinel, part](Outcome outcome) {
            if (auto const self = weak.lock())
                self->answered(sentinel, part, std::move(outcome));
        });
}

void SentinelQuery::state_changed(std::size_t sentinel, ConnectionState now)
{
    // a connection that failed for good reports the reason through its replies
    if (handler_ == nullptr || now != ConnectionState::backing_off)
        return;
    // there is time for one attempt only: others may have answered by now
    vote_.failed(
        sentinel, {make_error_code(errc::store_unavailable), asked_[sentinel].connection->last_error(), false});
    asked_[sentinel].connection->close();
    ask_learned_if_needed();
    conclude_if_decided();
}

void SentinelQuery::answered(std::size_t sentinel, Part part, Outcome outcome)
{
    if (handler_ == nullptr)
        return;
    if (outcome.delivery != Delivery::answered) {
        StreamError error{
            outcome.error ? outcome.error : make_error_code(errc::store_unavailable), std::move(outcome.detail),
            outcome.fatal};
        if (error.detail.empty())
            error.detail = "no answer in time";
        if (error.code == errc::authentication_failed)
            error.detail += "; sentinels have a user and password of their own, sentinel_user and sentinel_password";
        vote_.failed(sentinel, std::move(error));
        ask_learned_if_needed();
        conclude_if_decided();
        return;
    }
    asked_[sentinel].replies[part] = std::move(outcome.reply);
    if (--asked_[sentinel].missing == 0)
        understand(sentinel);
}

void SentinelQuery::understand(std::size_t sentinel)
{
    auto const& replies = asked_[sentinel].replies;
    auto const& master_state = replies[state];
    if (master_state.is_error() && master_state.as_string().find("No such master") != std::string_view::npos) {
        vote_.knows_no_such(sentinel, runtime_->now());
    } else if (master_state.is_error()) {
        vote_.failed(sentinel, refusal(master_state));
    } else if (auto report = read_master(master_state, replies[address])) {
        report->id = replies[id].as_string().substr(0, 64);
        if (replies[id].is_error())
            report->id.clear();
        vote_.reported(sentinel, std::move(*report), runtime_->now());
        learn(replies[others]);
    } else {
        vote_.failed(sentinel, {make_error_code(errc::protocol_error), "malformed reply to SENTINEL MASTER", false});
    }
    ask_learned_if_needed();
    conclude_if_decided();
}

StreamError SentinelQuery::refusal(resp::Value const& error)
{
    auto const understood = classify(error.as_string());
    if (understood.error == errc::wrong_server)
        return {
            make_error_code(errc::wrong_server),
            "is no sentinel (" + understood.words + "): name the sentinels, whose usual port is 26379", true};
    if (understood.error == errc::permission_denied)
        return {
            make_error_code(errc::permission_denied),
            understood.words + "; grant the sentinels' user +sentinel|myid +sentinel|get-master-addr-by-name "
                               "+sentinel|master +sentinel|sentinels",
            true};
    return {understood.error, understood.words, understood.fatal};
}

void SentinelQuery::learn(resp::Value const& others_reply)
{
    for (auto& entry : read_sentinels(others_reply, learned_at_most)) {
        auto const same = [&entry](SentinelEntry const& other) {
            return other.address == entry.address || (!entry.id.empty() && other.id == entry.id);
        };
        if (learned_.size() < learned_at_most && std::ranges::none_of(learned_, same))
            learned_.push_back(std::move(entry));
    }
}

void SentinelQuery::ask_learned_if_needed()
{
    if (!vote_.needs_more())
        return;
    // asking does not extend `learned_`
    for (auto const& entry : learned_)
        if (!vote_.knows(entry))
            ask(entry);
}

void SentinelQuery::conclude_if_decided()
{
    auto const now = runtime_->now();
    if (!std::holds_alternative<std::monostate>(vote_.verdict(now))) {
        timer_.cancel();
        runtime_->post([self = shared_from_this()] { self->finish(); });
        return;
    }
    timer_.by(vote_.decides_at(), weak_from_this(), &SentinelQuery::conclude_if_decided);
}

void SentinelQuery::finish()
{
    if (handler_ == nullptr)
        return;
    Result result;
    result.verdict = vote_.verdict(runtime_->now());
    if (std::holds_alternative<std::monostate>(result.verdict)) {
        // an answer that came meanwhile named more sentinels
        conclude_if_decided();
        return;
    }
    result.answered = vote_.answered();
    result.silent = vote_.silent(runtime_->now());
    for (auto& entry : learned_)
        if (!vote_.knows(entry, request_.rules.configured))
            result.learned.push_back(std::move(entry));
    auto const handler = std::exchange(handler_, nullptr);
    cancel();
    handler(std::move(result));
}

} // namespace tenure::redis
