// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "queued_client.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace tenure::simulation
{

namespace
{

constexpr std::size_t renewals_per_request = 100;

} // namespace

struct QueuedClient::Pending {
    Deadline deadline;
    OneShot<void()> execute;
    OneShot<void()> answered;
};

QueuedClient::QueuedClient(
    std::shared_ptr<Runtime> runtime, SlowServer& server, std::size_t window, QueuedClient::Writes writes)
    : runtime_(std::move(runtime))
    , server_(server)
    , most_written_(writes == Writes::pipelined ? std::numeric_limits<std::size_t>::max() : window)
    , window_(std::make_shared<store::ClaimWindow>(runtime_, window))
{
}

void QueuedClient::send(Kind kind, Deadline deadline, OneShot<void()> execute, OneShot<void()> answered)
{
    queues_.at(static_cast<std::size_t>(kind))
        .push_back(std::make_shared<Pending>(Pending{std::move(deadline), std::move(execute), std::move(answered)}));
    pump();
}

void QueuedClient::pump()
{
    while (written_ < most_written_) {
        auto const queue = std::ranges::find_if(queues_, [](auto const& one) { return !one.empty(); });
        if (queue == queues_.end())
            return;
        auto const pending = std::move(queue->front());
        queue->pop_front();
        ++written_;
        pending->deadline.progressed(runtime_->now());
        written_at_.push_back(runtime_->now());
        server_.arrive([weak = weak_from_this(), pending] {
            pending->execute();
            auto const self = weak.lock();
            if (!self || self->closed_)
                return;
            self->runtime_->post([self, pending] {
                --self->written_;
                self->longest_answer_ = self->longest_silence();
                self->written_at_.pop_front();
                pending->deadline.progressed(self->runtime_->now());
                pending->answered();
                self->pump();
            });
        });
    }
}

Clock::duration QueuedClient::longest_silence() const noexcept
{
    return written_at_.empty() ? longest_answer_ : std::max(longest_answer_, runtime_->now() - written_at_.front());
}

void QueuedClient::claim(ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    most_claims_ = std::max(most_claims_, ++claims_[request.owner]);
    auto const shared = std::make_shared<ClaimRequest>(std::move(request));
    auto const answer = std::make_shared<ReplyHandler<ClaimReply>>(std::move(handler));
    window_->begin(shared->not_after, [this, shared, answer](std::variant<store::ClaimWindow::Place, Failure>&& turn) {
        if (auto* const failure = std::get_if<Failure>(&turn))
            std::move (*answer)(ClaimReply(std::move(*failure)));
        else
            begin(shared, std::move(std::get<store::ClaimWindow::Place>(turn)), std::move(*answer));
    });
}

void QueuedClient::begin(
    std::shared_ptr<ClaimRequest> request, store::ClaimWindow::Place place, ReplyHandler<ClaimReply> handler)
{
    struct Begun {
        store::ClaimWindow::Place place;
        ReplyHandler<ClaimReply> handler;
        std::optional<ClaimReply> reply;
    };
    auto const begun = std::make_shared<Begun>(Begun{std::move(place), std::move(handler), std::nullopt});
    send(
        Kind::first_step, request->not_after, [] {},
        [this, request, begun] {
            auto execute = [this, request, begun, written = runtime_->now()] {
                begun->reply = server_.domain()->claim(*request, runtime_->now());
                if (auto* const granted = std::get_if<Granted>(&*begun->reply))
                    granted->since = written;
            };
            send(Kind::later_step, request->not_after, std::move(execute), [begun] {
                begun->place = {};
                std::move(begun->handler)(std::move(*begun->reply));
            });
        });
}

void QueuedClient::renew(std::vector<RenewRequest> requests, RenewHandler handler)
{
    auto const answer = std::make_shared<RenewHandler>(std::move(handler));
    for (auto const& request : requests)
        most_renewals_ = std::max(most_renewals_, ++renewals_[request.claim->owner]);
    for (std::size_t first = 0; first < requests.size(); first += renewals_per_request) {
        auto const last = std::min(requests.size(), first + renewals_per_request);
        auto const batch = std::make_shared<std::vector<RenewRequest>>(
            requests.begin() + static_cast<std::ptrdiff_t>(first),
            requests.begin() + static_cast<std::ptrdiff_t>(last));
        auto const answers = std::make_shared<std::vector<RenewAnswer>>();
        auto execute = [this, batch, answers, first, written = runtime_->now()] {
            for (std::size_t i = 0; i < batch->size(); ++i) {
                auto const& request = (*batch)[i];
                auto reply = request.claim->mark.ended ? RenewReply(Failure::dropped())
                                                       : server_.domain()->renew(request, runtime_->now());
                if (auto* const renewed = std::get_if<Renewed>(&reply))
                    renewed->since = written;
                answers->push_back({first + i, std::move(reply)});
            }
        };
        send(Kind::renewal, Instant::max(), std::move(execute), [this, answer, answers, batch] {
            for (auto const& request : *batch)
                --renewals_[request.claim->owner];
            (*answer)(*answers);
        });
    }
}

void QueuedClient::release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const reply = std::make_shared<ReleaseReply>();
    auto execute = [this, reply, request] { *reply = server_.domain()->release(request, runtime_->now()); };
    send(Kind::later_step, request.not_after, std::move(execute), [reply, handler = std::move(handler)]() mutable {
        std::move(handler)(std::move(*reply));
    });
}

void QueuedClient::withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    auto const reply = std::make_shared<WithdrawReply>();
    auto execute = [this, reply, request] { *reply = server_.domain()->withdraw(request, runtime_->now()); };
    send(Kind::later_step, request.not_after, std::move(execute), [reply, handler = std::move(handler)]() mutable {
        std::move(handler)(std::move(*reply));
    });
}

std::unique_ptr<Watch> QueuedClient::watch(KeyRangePtr, WatchAs, WatchHandler handler)
{
    runtime_->post([handler = std::move(handler)] { handler(WatchEvent::unavailable); });
    return std::make_unique<Watch>();
}

template <class Reply>
void QueuedClient::refuse(ReplyHandler<Reply> handler)
{
    runtime_->post([handler = std::move(handler)]() mutable {
        std::move(handler)(Failure::not_sent(make_error_code(errc::store_refused), "nothing asks for it here"));
    });
}

void QueuedClient::ready(Deadline, ReplyHandler<ReadyReply> handler)
{
    refuse(std::move(handler));
}

void QueuedClient::inspect(InspectRequest, ReplyHandler<InspectReply> handler)
{
    refuse(std::move(handler));
}

void QueuedClient::evict(EvictRequest, ReplyHandler<EvictReply> handler)
{
    refuse(std::move(handler));
}

void QueuedClient::examine(std::chrono::milliseconds, Deadline, ReplyHandler<Findings> handler)
{
    runtime_->post([handler = std::move(handler)]() mutable { std::move(handler)(Findings{}); });
}

void QueuedClient::shutdown() noexcept
{
    closed_ = true;
    window_->fail_all(Failure::dropped());
    for (auto& queue : queues_)
        queue.clear();
}

} // namespace tenure::simulation
