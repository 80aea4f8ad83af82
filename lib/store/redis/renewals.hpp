// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "server_context.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::redis
{

class RenewalBatch;

/** Renewals on one server. Renewals of one call are sent together, up to 100 keys with one ttl per script call. Each
 *  gets its own answer, and a refused one does not affect the others.
 *
 *  A renewal waits in the queue of a working connection until its `not_after`. Without a connection it fails at once.
 */
class Renewals : public std::enable_shared_from_this<Renewals>
{
public:
    /// A script reads all keys of a call at once, and Lua takes at most 8,000 values.
    static constexpr std::size_t claims_per_call = 100;

    explicit Renewals(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(std::vector<RenewRequest> requests, RenewHandler handler);

private:
    friend RenewalBatch;
    using BatchPtr = std::shared_ptr<RenewalBatch>;

    void begin(RenewalBatch& all);
    void send(BatchPtr const& batch);
    void send_script(BatchPtr const& batch);
    void send_natively(BatchPtr const& single);
    void answered(BatchPtr const& batch, Outcome const& outcome);
    void answered_natively(BatchPtr const& single, Outcome const& outcome);
    /** Ends the renewals of a batch that were not written in time, and sends the others again. */
    void too_late(BatchPtr const& batch);
    /// Makes the reply to an extended lease: a failure if too few replicas have acknowledged it.
    [[nodiscard]] RenewReply renewed(RenewRequest const& request, Outcome const& outcome) const;
    void retry_each_alone(RenewalBatch& batch, Failure const& reason);

    ServerPtr server_;
};

} // namespace tenure::redis
