// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request_pace.hpp"
#include "store/etcd/cluster_context.hpp"
#include "store/etcd/http/messages.hpp"

#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** Reads of held keys that a majority confirms. Proofs that wait for a connection together are one transaction.
 *
 *  The transaction compares the revision of each key's last change, which no other change of any key has. If all are as
 *  known, each key has its value and its lease, and nothing of them is read. Otherwise the keys are read, and so are
 *  keys whose last change is not known, because they may have moved to another lease.
 *
 *  The transaction also reads one key: without a read, etcd would not ask the majority. Everything runs on the
 *  strand. */
class Proofs : public std::enable_shared_from_this<Proofs>
{
public:
    /// the key, or nothing if it does not exist
    using Reply = std::variant<RangeReply, Failure>;
    using Handler = OneShot<void(Reply&&)>;

    explicit Proofs(ClusterPtr cluster)
        : cluster_(std::move(cluster))
        , timer_(cluster_->runtime())
    {
    }

    /** Reads the key of the claim, which has a `HeldKey`. */
    void add(ClaimPtr claim, Instant not_after, Handler handler);

private:
    struct Wanted {
        ClaimPtr claim;
        Instant not_after{};
        Handler handler;
        /// the key as it is if its comparison holds; nullopt: it is read
        std::optional<KeyValue> compared = std::nullopt;
    };
    struct Batch {
        std::vector<Wanted> wanted;
        /// a comparison has failed
        bool reads_all = false;
        /// number of keys that are read
        std::size_t reads = 0;
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
    [[nodiscard]] bool compose(Batch& batch, HttpRequest& request);
    void ended(BatchPtr const& batch, Outcome outcome);
    void answered(Batch batch, TransactionReply reply);
    /** Sends the keys of the batch in two requests, or one where `reads_all` is all that changes. */
    void send_part(Batch& batch, std::size_t begin, std::size_t end, bool reads_all);

    ClusterPtr cluster_;
    /// the last batch, while keys are added to it; null: none
    BatchPtr open_;
    RequestPace pace_;
    OncePerTurn turn_;
    /// for a batch that waits for its time
    Timer timer_;
};

} // namespace tenure::etcd
