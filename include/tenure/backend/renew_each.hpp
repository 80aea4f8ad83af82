// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tenure::backend
{

/** Implements `Backend::renew` for a store that renews one claim at a time.
 *
 *  @param renew_one  called for each request, as `renew_one(RenewRequest, ReplyHandler<RenewReply>)`; it must not call
 *    the handler inside that call */
template <class RenewOne>
void renew_each(std::vector<RenewRequest> requests, RenewHandler handler, RenewOne renew_one)
{
    auto const shared = std::make_shared<RenewHandler const>(std::move(handler));
    for (std::size_t i = 0; i < requests.size(); ++i)
        renew_one(std::move(requests[i]), ReplyHandler<RenewReply>([shared, i](RenewReply&& reply) {
                      RenewAnswer answer{i, std::move(reply)};
                      (*shared)(std::span(&answer, 1));
                  }));
}

} // namespace tenure::backend
