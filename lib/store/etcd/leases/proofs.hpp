// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "batches.hpp"
#include "leases.hpp"
#include "runtime/names.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/http/messages.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace tenure::etcd
{

/** The proof of one held key. */
struct WantedProof {
    ClaimPtr claim;
    Instant not_after{};
    OneShot<void(std::variant<RangeReply, Failure>&&)> handler;
    /// the key as it is if its comparison holds; nullopt: it is read
    std::optional<KeyValue> compared = std::nullopt;
};

struct ProofBatch : BatchOf<WantedProof> {
    /// a comparison has failed
    bool reads_all = false;
    /// number of keys that are read
    std::size_t reads = 0;
};

/** Reads of held keys that a majority confirms. Each request is one transaction.
 *
 *  The transaction compares the revision of each key's last change, which no other change of any key has. If all are as
 *  known, each key has its value and its lease, and nothing of them is read. Otherwise the keys are read, and so are
 *  keys whose last change is not known, because they may have moved to another lease.
 *
 *  The transaction also reads one key: without a read, etcd would not ask the majority. */
class Proofs final : public Batches<ProofBatch>
{
public:
    /// the key, or nothing if it does not exist
    using Reply = std::variant<RangeReply, Failure>;
    using Handler = OneShot<void(Reply&&)>;

    Proofs(ClientPtr client, std::shared_ptr<Leases> leases)
        : Batches(std::move(client), "kv/txn")
        , leases_(std::move(leases))
    {
    }

    /** Reads the key of the claim, which has a `HeldKey`. */
    void add(ClaimPtr claim, Instant not_after, Handler handler);

private:
    using Batch = ProofBatch;
    using Wanted = WantedProof;

    void add(Wanted wanted);
    [[nodiscard]] bool compose(Batch& batch, HttpRequest& request) override;
    void ended(Batch batch, Outcome outcome) override;
    void answered(Batch batch, TransactionReply reply);
    /** Sends the keys of the batch in two requests, or one where `reads_all` is all that changes. */
    void send_part(Batch& batch, std::size_t begin, std::size_t end, bool reads_all);

    std::shared_ptr<Leases> leases_;
};

} // namespace tenure::etcd
