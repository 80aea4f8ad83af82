// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>
#include <tenure/errc.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

enum class Delivery {
    /// there is a reply, good or bad
    answered,
    /// the request did not leave as a whole, so it was not executed
    not_sent,
    /// it left, and no reply can come
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
struct HttpRequest {
    /// below /v3/: "kv/txn"
    std::string_view path;
    std::string body;
    /// dropped, and answered as not sent, if it is still unwritten then
    Deadline not_after;
    /// goes ahead of others
    bool urgent = false;
    /// answered as not sent at once while there is no connection
    bool only_if_connected = false;
    /// dropped, if it is still unwritten, once this claim has ended
    ClaimPtr unless_ended = nullptr;
    /// the longest body of a good reply
    std::size_t reply_bytes = std::size_t{64} * 1024;
};

/** What an error reply of the gateway means for leases. */
struct GatewayVerdict {
    errc error;
    /// asking again cannot help until a person acts
    bool fatal = false;
    enum class Executed {
        /// surely not
        no,
        /// the member gave up on it, and the cluster may still do it
        maybe
    } executed = Executed::no;
    /// another member may do better
    bool another_member = false;
    /// the token is not valid or has expired; nothing was executed
    bool wants_token = false;
    bool lease_not_found = false;
    /// what to do about it; empty where waiting is all there is
    std::string_view advice = {};
};

/** An error reply of the gateway. */
struct GatewayError : GatewayVerdict {
    std::string words;

    /** "words; advice" */
    [[nodiscard]] std::string text() const;
};

/** Reads a reply whose status is not 200, or the error in a stream. */
[[nodiscard]] GatewayError classify(unsigned status, std::string_view body);

/** What a request ended as that brought no good reply. `where` names the server, `what` the key. */
[[nodiscard]] Failure failure(Outcome outcome, std::string const& where, std::string const& what);

/** The failure of a malformed reply, which may hide any effect. */
[[nodiscard]] Failure malformed_reply(std::string const& where, std::string const& what);

/** The reply as `parse` reads it, or the failure. */
template <class Reply>
[[nodiscard]] std::variant<Reply, Failure> read_reply(
    Outcome outcome, std::string const& where, std::string const& what, std::optional<Reply> (*parse)(std::string_view))
{
    if (!outcome.good())
        return failure(std::move(outcome), where, what);
    if (auto reply = parse(outcome.body))
        return std::move(*reply);
    return malformed_reply(where, what);
}

} // namespace tenure::etcd
