// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One request to the gateway of etcd and its outcome, and the meaning of its errors.
#pragma once

#include "limits.hpp"
#include "runtime/names.hpp"

#include <store/claim_window.hpp>
#include <store/delivery.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>
#include <tenure/errc.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

using store::Delivery;

/** How a request ended. */
struct Outcome : store::Exchange {
    /// of a reply: the HTTP status and the body
    unsigned status = 0;
    std::string body = {};

    [[nodiscard]] bool good() const noexcept { return delivery == Delivery::answered && status == 200; }
};
using OutcomeHandler = OneShot<void(Outcome&&)>;

/** The queue in which a request waits for a connection. Each queue is first in, first out, and waits for those before
 *  it. */
enum class Line : std::uint8_t {
    /// renewals and their proofs: held leases come first
    renewals,
    /// releases, withdrawals, and later steps of claims: what has begun is ended before anything else begins
    later_steps,
    /// first steps of everything else
    first_steps
};

/// identifies the owner of a request, for its withdrawal; null: none
using OwnerTag = void const*;

/** The part of a client that sends a request. */
struct Sender {
    Line line = Line::first_steps;
    OwnerTag owner = nullptr;
    /// of a claim that has begun, unless it was given to another one; null: the request belongs to no claim
    std::shared_ptr<store::ClaimWindow::Place> place = nullptr;
};

/** A request to the gateway. */
struct HttpRequest {
    /// below /v3/: "kv/txn"
    std::string_view path;
    std::string body;
    /// dropped and answered as not sent, if still unwritten then; gets the progress of the request
    Deadline not_after;
    Sender sender = {};
    /// answered as not sent as soon as there is no connection
    bool only_if_connected = false;
    /// dropped if still unwritten when this claim has ended
    ClaimPtr unless_ended = nullptr;
    /// limit of the body of a good reply
    std::size_t reply_bytes = most_reply_bytes;
    /// completes the request right before it is written, so that it can carry what was added meanwhile; empty: it is
    /// complete. False: nothing is left to send, and the handler gets an outcome that was not sent, without an error
    std::function<bool(HttpRequest&)> complete = nullptr;
};

/** Meaning of an error reply of the gateway for leases. */
struct GatewayVerdict {
    errc error;
    /// retries cannot succeed until a person acts
    bool fatal = false;
    enum class Executed {
        /// certainly not
        no,
        /// the member gave up, and the cluster may still execute it
        maybe
    } executed = Executed::no;
    /// another member may succeed
    bool another_member = false;
    /// the token is invalid or has expired; nothing was executed
    bool wants_token = false;
    bool lease_not_found = false;
    /// what to do about it; empty if only waiting helps
    std::string_view advice = {};
};

/** An error reply of the gateway. */
struct GatewayError : GatewayVerdict {
    std::string words;

    /** "words; advice" */
    [[nodiscard]] std::string text() const;
};

/** Parses a reply whose status is not 200, or the error in a stream. */
[[nodiscard]] GatewayError classify(unsigned status, std::string_view body);

/** Makes the failure of a request without a good reply. `where` names the server, `what` the key. */
[[nodiscard]] Failure failure(Outcome const& outcome, std::string const& where, std::string const& what);

/** Makes the failure of a malformed reply: the request may have taken effect. */
[[nodiscard]] Failure malformed_reply(std::string const& where, std::string const& what);

/** The reply as parsed by `parse`, or the failure. */
template <class Reply>
[[nodiscard]] std::variant<Reply, Failure> read_reply(
    Outcome outcome, std::string const& where, std::string const& what, std::optional<Reply> (*parse)(std::string_view))
{
    if (!outcome.good())
        return failure(outcome, where, what);
    if (auto reply = parse(outcome.body))
        return std::move(*reply);
    return malformed_reply(where, what);
}

} // namespace tenure::etcd
