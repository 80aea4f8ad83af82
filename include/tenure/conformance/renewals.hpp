// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure::conformance
{

/** A reply to a renewal that may not have arrived yet. */
using LaterRenewReply = std::shared_ptr<std::optional<backend::RenewReply>>;

/** Renews several claims in one call. A handler that is given a second answer to one of them throws std::logic_error.
 */
inline std::vector<LaterRenewReply> renew_together(Backend& backend, std::vector<backend::RenewRequest> requests)
{
    std::vector<LaterRenewReply> replies;
    for (std::size_t i = 0; i < requests.size(); ++i)
        replies.push_back(std::make_shared<std::optional<backend::RenewReply>>());
    backend.renew(std::move(requests), [replies](std::span<backend::RenewAnswer> answers) {
        for (auto& answer : answers) {
            auto& reply = *replies.at(answer.request);
            if (reply)
                throw std::logic_error("a renewal was answered twice");
            reply = std::move(answer.reply);
        }
    });
    return replies;
}

/** Renews one claim. */
inline LaterRenewReply renew_one(Backend& backend, backend::RenewRequest request)
{
    return renew_together(backend, {std::move(request)}).front();
}

/** Renews one claim, and passes the answer to the handler. */
inline void
renew_one(Backend& backend, backend::RenewRequest request, backend::ReplyHandler<backend::RenewReply> handler)
{
    auto const shared = std::make_shared<backend::ReplyHandler<backend::RenewReply>>(std::move(handler));
    backend.renew({std::move(request)}, [shared](std::span<backend::RenewAnswer> answers) {
        (*shared)(std::move(answers.front().reply));
    });
}

} // namespace tenure::conformance
