// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request_pace.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/http/exchange.hpp"

#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <tenure/clock.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::etcd
{

/** What a request of several parts carries, from the first part to the answer. */
template <class Part>
struct BatchOf {
    /// at least one
    std::vector<Part> wanted;
    /// it waits for a connection
    bool queued = false;
    /// when its request was written; unset: it was not
    std::optional<Instant> written = std::nullopt;
};

/** Requests of one kind for renewals, each for many parts. The parts that wait for a connection together share a
 *  request, and `RequestPace` limits the requests under way. Everything runs on the strand.
 *
 *  @tparam Batch  derived from `BatchOf` */
template <class Batch>
class Batches : public std::enable_shared_from_this<Batches<Batch>>
{
protected:
    using BatchPtr = std::shared_ptr<Batch>;

    /** @param path  of the requests, as `HttpRequest::path` */
    Batches(ClientPtr client, std::string_view path)
        : client_(std::move(client))
        , path_(path)
        , timer_(client_->runtime())
    {
    }
    ~Batches() = default;

    /** Writes the body of the request. False: no part needs it any longer. */
    [[nodiscard]] virtual bool compose(Batch& batch, HttpRequest& request) = 0;
    /** Passes the outcome to the parts. */
    virtual void ended(Batch batch, Outcome outcome) = 0;
    /** No part is added to the batch from now on. */
    virtual void shut(BatchPtr const& batch)
    {
        if (open_ == batch)
            open_ = nullptr;
    }

    /** Sends the open batch at the end of this turn, if its time has come. */
    void flush_soon() { turn_.post(client_->runtime(), this->weak_from_this(), &Batches::flush); }

    void send(BatchPtr const& batch)
    {
        batch->queued = true;
        HttpRequest http_request{path_, {}, batch->wanted.front().not_after};
        http_request.sender = {.line = Line::renewals};
        http_request.only_if_connected = true;
        http_request.complete = [self = this->shared_from_this(), batch](HttpRequest& request) {
            self->shut(batch);
            if (!self->compose(*batch, request))
                return false;
            batch->written = self->client_->runtime().now();
            self->pace_.begins(*batch->written);
            return true;
        };
        client_->send(std::move(http_request), [self = this->shared_from_this(), batch](Outcome outcome) {
            self->shut(batch);
            if (batch->written) {
                self->pace_.ends(*batch->written);
                self->flush_soon();
            }
            self->ended(std::move(*batch), std::move(outcome));
        });
    }

    /** True if the part may be sent again: the deadline of its request was that of the first part. */
    template <class Part>
    [[nodiscard]] bool may_wait_longer(Part const& part, Outcome const& outcome) const
    {
        bool const waited_too_long = outcome.delivery == Delivery::not_sent && !outcome.error;
        return waited_too_long && client_->runtime().now() < part.not_after;
    }

    ClientPtr client_;
    /// the last batch, while parts are added to it; null: none
    BatchPtr open_;

private:
    void flush()
    {
        if (open_ == nullptr || open_->queued)
            return;
        if (pace_.allows(client_->runtime().now())) {
            timer_.cancel();
            send(BatchPtr(open_));
        } else {
            timer_.at(pace_.allows_at(), this->weak_from_this(), &Batches::flush);
        }
    }

    std::string_view path_;
    RequestPace pace_;
    OncePerTurn turn_;
    /// for a batch that waits for its time
    Timer timer_;
};

} // namespace tenure::etcd
