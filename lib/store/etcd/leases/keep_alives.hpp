// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "batches.hpp"
#include "runtime/names.hpp"
#include "store/etcd/http/client.hpp"
#include "store/etcd/http/messages.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::etcd
{

/** The answer to the keep-alive of one lease. */
struct Kept {
    LeaseReply reply;
    /// before the request was written
    Instant since{};
};

/** The keep-alive of one lease. */
struct WantedKeepAlive {
    LeaseId lease = 0;
    ClaimPtr claim;
    Instant not_after{};
    std::vector<OneShot<void(std::variant<Kept, Failure>&&)>> handlers;
};

struct KeepAliveBatch : BatchOf<WantedKeepAlive> {
    /// of the body with all of them
    std::size_t bytes = 0;
};

/** Keep-alives of leases. Each lease has its own answer. */
class KeepAlives final : public Batches<KeepAliveBatch>
{
public:
    using Reply = std::variant<Kept, Failure>;
    using Handler = OneShot<void(Reply&&)>;

    explicit KeepAlives(ClientPtr client)
        : Batches(std::move(client), "lease/keepalive")
    {
    }

    /** Keeps the lease of this claim alive. A second call for a lease that is still unsent gets the same answer. */
    void add(LeaseId lease, ClaimPtr claim, Instant not_after, Handler handler);

private:
    using Batch = KeepAliveBatch;
    using Wanted = WantedKeepAlive;

    void add(Wanted wanted);
    /** Leaves out leases that need no keep-alive any longer. */
    [[nodiscard]] bool compose(Batch& batch, HttpRequest& request) override;
    void shut(BatchPtr const& batch) override;
    void ended(Batch batch, Outcome outcome) override;
    void answered(Batch batch, Outcome const& outcome);
    static void answer(Wanted& wanted, Reply const& reply);
    void answer_later(Wanted wanted, Failure failure);
    void fail(std::vector<Wanted> all, Outcome const& outcome);

    /// by lease: its unsent batch, and its place there
    std::map<LeaseId, std::pair<Batch*, std::size_t>> unsent_;
};

} // namespace tenure::etcd
