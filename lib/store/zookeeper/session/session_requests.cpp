// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: its requests, the regular writes, and the proofs of nodes.
#include "session.hpp"

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

namespace
{

/** Calls `run` with each of them, in order. An exception of one call does not keep the others from theirs. */
template <class One, class Run>
void for_each_of(std::shared_ptr<Runtime> const& runtime, std::vector<One> all, Run run)
{
    for (std::size_t next = 0; next < all.size();)
        try {
            run(std::move(all[next++]));
        } catch (...) {
            all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(next));
            runtime->post([runtime, rest = std::move(all), run = std::move(run)]() mutable {
                for_each_of(runtime, std::move(rest), std::move(run));
            });
            throw;
        }
}

void answer(NodeProofs::Proof proof, Response const& response)
{
    proof.handler(response, response);
}

} // namespace

Clock::duration Session::period() const
{
    return std::clamp<Clock::duration>(timeout() / 12, std::min<Clock::duration>(50ms, config_->tick), config_->tick);
}

void Session::note(Request::Kind kind, Response const& response)
{
    using Kind = Request::Kind;
    bool const writes = kind != Kind::get && kind != Kind::exists && kind != Kind::children && kind != Kind::sync &&
                        kind != Kind::unwatch;
    if (writes && online_ && is_answered(response.code) && response.sent >= client_->connection_begun())
        life_.wrote(response.sent, response.answered);
    if (response.code == ZSESSIONEXPIRED && client_ != nullptr)
        client_->drop_connection(); // the next connection shows whether the session has expired
}

void Session::ask(Request request, ResponseHandler handler, Terms terms)
{
    last_used_ = runtime_->now();
    RequestQueue::Queued one{std::move(request), std::move(handler), std::move(terms)};
    if (!connected()) {
        drop(std::move(one), Response{ZINVALIDSTATE});
        return;
    }
    requests_.push(std::move(one));
    send_queued();
}

void Session::send_queued()
{
    if (requests_.empty())
        return;
    auto const now = runtime_->now();
    while (connected()) {
        auto one = requests_.next();
        if (!one)
            return;
        if (one->over(now)) {
            drop(std::move(*one), Response{.code = ZINVALIDSTATE, .dropped = true});
        } else {
            requests_.sent(one->terms.deadline, now);
            send(std::move(*one), true);
        }
    }
}

void Session::drop(RequestQueue::Queued one, Response const& why)
{
    // never inside the call that asks
    runtime_->post([handler = std::move(one.handler), why]() mutable { handler(why); });
}

void Session::send(RequestQueue::Queued one, bool queued)
{
    auto const kind = one.request.kind;
    client_->ask(
        std::move(one.request), [self = shared_from_this(), kind, queued, deadline = std::move(one.terms.deadline),
                                 handler = std::move(one.handler)](Response const& response) mutable {
            if (queued)
                self->requests_.answered();
            if (is_answered(response.code)) {
                deadline.progressed(response.answered);
                self->requests_.progressed(response.answered);
            }
            self->note(kind, response);
            try {
                handler(response);
            } catch (...) {
                self->runtime_->post([self] { self->send_queued(); });
                throw;
            }
            self->send_queued(); // behind what the handler asks for
        });
}

void Session::fail_unsent()
{
    for (auto& one : requests_.take_all())
        drop(std::move(one), Response{ZINVALIDSTATE});
    // requests that wait for a read fail with it
    for_each_of(
        runtime_, proofs_.take(), [](NodeProofs::Proof proof) { answer(std::move(proof), Response{ZINVALIDSTATE}); });
}

void Session::write(ResponseHandler handler)
{
    ask({Request::Kind::check, config_->chroot.empty() ? "/" : config_->chroot}, std::move(handler));
}

void Session::unwatch(std::string const& path)
{
    // a connection takes its watches along
    if (connected())
        ask({Request::Kind::unwatch, path}, [](Response const&) {});
}

void Session::forget(std::string const& path)
{
    if (!proofs_.knows(path))
        return;
    proofs_.changed(path);
    unwatch(path);
}

void Session::prove(NodeProofs::Proof proof)
{
    last_used_ = runtime_->now();
    if (!proofs_.knows(proof.path)) {
        read_known(std::move(proof));
        return;
    }
    bool const first = !proofs_.any_waits();
    proofs_.wait(std::move(proof));
    if (first) // the others of this turn go with it
        runtime_->post([self = shared_from_this()] { self->arm_regular_write(); });
}

void Session::read_known(NodeProofs::Proof proof)
{
    Request read{Request::Kind::get, proof.path};
    read.watch = true;
    Terms terms{Urgency::proof, proof.not_after};
    if (!proofs_.begin_read(std::move(proof)))
        return;
    auto answered = [self = shared_from_this(), path = read.path](Response const& response) {
        auto proofs = self->proofs_.end_read(path);
        if (response.code == ZOK)
            self->proofs_.was_read(path, response);
        for_each_of(self->runtime_, std::move(proofs), [self, response](NodeProofs::Proof proof) {
            if (response.code == ZOK)
                self->prove(std::move(proof));
            else
                answer(std::move(proof), response);
        });
    };
    ask(std::move(read), std::move(answered), std::move(terms));
}

void Session::decide(std::vector<NodeProofs::Proof> proofs, Response const& write)
{
    for_each_of(runtime_, std::move(proofs), [self = shared_from_this(), write](NodeProofs::Proof proof) {
        if (!is_answered(write.code))
            answer(std::move(proof), write);
        else if (!self->proofs_.knows(proof.path))
            self->read_known(std::move(proof)); // its watch has fired
        else
            proof.handler(write, self->proofs_.read_of(proof.path));
    });
}

void Session::arm_regular_write()
{
    bool const proofs_wait = proofs_.any_waits();
    if (!connected() || (writing_ && !proofs_wait))
        return;
    auto const now = runtime_->now();
    auto const pause = proofs_wait ? period() / 2 : period();
    auto const due = last_regular_write_ == Instant::min() ? now : last_regular_write_ + pause;
    write_timer_.cancel();
    if (due <= now)
        write_regularly();
    else
        write_timer_.at(due, weak_from_this(), &Session::write_regularly);
}

void Session::write_regularly()
{
    if (!connected() || (!proofs_.any_waits() && (writing_ || settings_.holds_no_leases)))
        return;
    auto const now = runtime_->now();
    std::vector<NodeProofs::Proof> decided;
    for (auto& proof : proofs_.take())
        if (!proof.not_after.over(now))
            decided.push_back(std::move(proof));
        else
            runtime_->post([proof = std::move(proof)]() mutable {
                answer(std::move(proof), Response{.code = ZINVALIDSTATE, .dropped = true});
            });
    writing_ = true;
    last_regular_write_ = now;
    auto written = [self = shared_from_this(), decided = std::move(decided)](Response const& response) mutable {
        self->writing_ = false;
        if (self->connected())
            self->arm_regular_write();
        self->decide(std::move(decided), response);
    };
    // not through the queue: every lease of the session depends on it
    send({{Request::Kind::check, config_->chroot.empty() ? "/" : config_->chroot}, std::move(written), {}}, false);
}

} // namespace tenure::zookeeper
