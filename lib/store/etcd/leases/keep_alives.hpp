// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request_pace.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/http/messages.hpp"

#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** Keep-alives of leases. Keep-alives that wait for a connection together share a request, so leases cost less when
 * there are many of them. Each lease has its own answer. Everything runs on the strand. */
class KeepAlives : public std::enable_shared_from_this<KeepAlives>
{
public:
    struct Kept {
        LeaseReply reply;
        /// before the request was written
        Instant since{};
    };
    using Reply = std::variant<Kept, Failure>;
    using Handler = OneShot<void(Reply&&)>;

    explicit KeepAlives(ClientPtr client)
        : client_(std::move(client))
        , timer_(client_->runtime())
    {
    }

    /** Keeps the lease of this claim alive. A second call for a lease that is still unsent gets the same answer. */
    void add(LeaseId lease, ClaimPtr claim, Instant not_after, Handler handler);

private:
    struct Wanted {
        LeaseId lease = 0;
        ClaimPtr claim;
        Instant not_after{};
        std::vector<Handler> handlers;
    };
    struct Batch {
        std::vector<Wanted> wanted;
        /// of the body with all of them
        std::size_t bytes = 0;
        /// it waits for a connection
        bool queued = false;
        /// when its request was written; unset: it was not
        std::optional<Instant> written = std::nullopt;
    };
    using BatchPtr = std::shared_ptr<Batch>;

    void add(Wanted wanted);
    /** Sends what was collected in this turn, if its time has come. */
    void flush();
    void send(BatchPtr const& batch);
    /** Writes the body, without leases that need no keep-alive any longer. False: none is left. */
    [[nodiscard]] bool compose(Batch& batch, HttpRequest& request);
    /** No lease is added to the batch from now on. */
    void shut(BatchPtr const& batch);
    void ended(BatchPtr const& batch, Outcome outcome);
    void answered(Batch batch, Outcome const& outcome);
    static void answer(Wanted& wanted, Reply const& reply);
    void answer_later(Wanted wanted, Failure failure);
    void fail(std::vector<Wanted> all, Outcome const& outcome);

    ClientPtr client_;
    /// the last batch, while leases are added to it; null: none
    BatchPtr open_;
    RequestPace pace_;
    OncePerTurn turn_;
    /// for a batch that waits for its time
    Timer timer_;
    /// by lease: its unsent batch, and its place there
    std::map<LeaseId, std::pair<Batch*, std::size_t>> unsent_;
};

} // namespace tenure::etcd
