// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "exchange.hpp"

#include <tenure/backend/backend.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

/** What an error reply of the gateway means for leases. */
struct GatewayError {
    error_code error;
    /// asking again cannot help until a person acts
    bool fatal = false;
    enum class Executed {
        /// surely not
        no,
        /// the member gave up on it, and the cluster may still do it
        maybe
    } executed = Executed::no;
    /// another member may do better
    bool turn = false;
    /// the token is not good (any more); nothing was executed
    bool wants_token = false;
    bool lease_not_found = false;
    /// the server's words
    std::string words;
    /// what to do about it; empty where waiting is all there is
    std::string advice;

    /** "words; advice" */
    [[nodiscard]] std::string text() const;
};

/** Reads a reply whose status is not 200, or the error in a stream. */
[[nodiscard]] GatewayError classify(unsigned status, std::string_view body);

/** What a request ended as that brought no good reply. `where` names the server, `what` the key. */
[[nodiscard]] Failure failure(Outcome outcome, std::string const& where, std::string const& what);

/** A reply that makes no sense is not believed: anything may have happened. */
[[nodiscard]] Failure nonsense(std::string const& where, std::string const& what);

/** The reply as `parse` reads it, or why there is none. */
template <class Reply>
[[nodiscard]] std::variant<Reply, Failure> read_reply(
    Outcome outcome, std::string const& where, std::string const& what, std::optional<Reply> (*parse)(std::string_view))
{
    if (!outcome.good())
        return failure(std::move(outcome), where, what);
    if (auto reply = parse(outcome.body))
        return std::move(*reply);
    return nonsense(where, what);
}

} // namespace tenure::etcd
