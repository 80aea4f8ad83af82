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

/** Renewals of one server. Those of one call leave together, up to 100 keys of one ttl to a script call; each gets its
 * own answer, and one that the server refuses spoils no other. */
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
        /// its place among the requests of its call
        std::size_t number;
    };
    /** Some of the requests of a call. */
    struct Batch {
        std::vector<Pending> pending;
        /// of all that call's batches
        std::shared_ptr<RenewHandler const> handler;
    };

    void begin(Batch all);
    void send(Batch batch);
    void send_script(Batch batch, bool by_text = false);
    void send_natively(Batch single);
    void answered(Batch batch, Outcome const& outcome);
    void answered_natively(Batch single, Outcome const& outcome);
    /// extended, unless replicas that were asked for do not have it
    [[nodiscard]] RenewReply renewed(RenewRequest const& request, Outcome const& outcome) const;
    void retry_alone(Pending pending, std::shared_ptr<RenewHandler const> const& handler, Failure reason);
    /// takes out and answers leases that are over by now: they must not be written again
    static void drop_ended(Batch& batch);

    ServerPtr server_;
};

} // namespace tenure::redis
