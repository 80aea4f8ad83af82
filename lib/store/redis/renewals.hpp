// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_context.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** Renewals on one server. Renewals of one call are sent together, up to 100 keys with one ttl per script call. Each
 *  gets its own answer, and a refused one does not affect the others. */
class Renewals : public std::enable_shared_from_this<Renewals>
{
public:
    explicit Renewals(ServerPtr server)
        : server_(std::move(server))
    {
    }

    void add(std::vector<RenewRequest> requests, RenewHandler handler);

private:
    struct Pending {
        RenewRequest request;
        /// position among the requests of its call
        std::size_t number;
    };
    /** Some of the requests of a call. */
    struct Batch {
        std::vector<Pending> pending;
        /// shared by all batches of the call
        std::shared_ptr<RenewHandler const> handler;
    };

    void begin(Batch all);
    void send(Batch batch);
    void send_script(Batch batch, bool by_text = false);
    void send_natively(Batch single);
    void answered(Batch batch, Outcome const& outcome);
    void answered_natively(Batch single, Outcome const& outcome);
    /// Makes the reply to an extended lease: a failure if too few replicas have acknowledged it.
    [[nodiscard]] RenewReply renewed(RenewRequest const& request, Outcome const& outcome) const;
    void retry_alone(Pending pending, std::shared_ptr<RenewHandler const> const& handler, Failure reason);
    /// Removes and answers leases that have expired by now, because they must not be written again.
    static void drop_ended(Batch& batch);

    ServerPtr server_;
};

} // namespace tenure::redis
