// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::etcd
{

enum class Delivery {
    /// there is a reply, good or bad
    answered,
    /// the request did not leave as a whole, so it was not executed
    not_sent,
    /// it left, and no reply can come any more
    unknown
};

/** How a request ended. */
struct Outcome {
    Delivery delivery = Delivery::not_sent;
    /// of an answer: the HTTP status and the body
    unsigned status = 0;
    std::string body = {};
    /// before the request was written
    Instant since{};
    /// where there is no answer: why; clear if only `not_after` came before the request's turn
    error_code error = {};
    std::string detail = {};
    /// asking again cannot help until a person acts
    bool fatal = false;

    [[nodiscard]] bool good() const noexcept { return delivery == Delivery::answered && status == 200; }
};
using OutcomeHandler = OneShot<void(Outcome&&)>;

/** A request to the gateway. */
struct Call {
    /// below /v3/: "kv/txn"
    std::string_view path;
    std::string body;
    /// dropped, and answered as not sent, if it is still unwritten then
    Deadline not_after;
    /// goes ahead of others
    bool urgent = false;
    /// answered as not sent at once while there is no connection
    bool only_if_connected = false;
    /// not written any more once this claim has ended
    ClaimPtr unless_ended = nullptr;
    /// the longest body of a good reply
    std::size_t reply_bytes = std::size_t{64} * 1024;
};

} // namespace tenure::etcd
