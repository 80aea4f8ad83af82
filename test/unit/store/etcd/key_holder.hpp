// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "gateway.hpp"

#include <string>

namespace tenure::test
{

/** A leader of this term is elected. */
inline void elect(EtcdGateway& gateway, int term)
{
    gateway.term_of_transactions = gateway.term_of_grants = gateway.term_of_keep_alives = term;
}

/** The gateway of a member, and the holder of its key. */
struct KeyHolder : EtcdGateway {
    using EtcdGateway::release;
    using EtcdGateway::renew;

    RenewReply renew() { return renew(claimed); }
    ReleaseReply release() { return release(claimed); }

    ClaimPtr claimed = held(claim());
    /// the lease that the key bore first
    std::string first_lease = lease_of_key;
};

} // namespace tenure::test
