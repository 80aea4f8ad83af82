// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "exchange.hpp"

#include "json.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace tenure::etcd
{

namespace
{

using Executed = GatewayError::Executed;

struct Rule {
    /// what the server's words hold
    std::string_view part;
    errc error;
    bool fatal = false;
    Executed executed = Executed::no;
    bool turn = false;
    bool wants_token = false;
    std::string_view advice = {};
};

constexpr std::string_view grant_advice =
    "let the user's role read and write the keys: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX";

// The first that fits counts.
constexpr std::array rules{
    Rule{"invalid auth token", errc::authentication_failed, false, Executed::no, false, true},
    Rule{"auth revision", errc::authentication_failed, false, Executed::no, false, true},
    Rule{"revision of auth store is old", errc::authentication_failed, false, Executed::no, false, true},
    Rule{
        "authentication failed", errc::authentication_failed, true, Executed::no, false, false,
        "check user and password"},
    Rule{
        "authentication is not enabled", errc::authentication_failed, true, Executed::no, false, false,
        "leave out user and password, or switch it on: etcdctl auth enable"},
    Rule{"user name is empty", errc::authentication_failed, true, Executed::no, false, false, "give user and password"},
    Rule{"user name not found", errc::authentication_failed, true, Executed::no, false, false, "check the user"},
    Rule{"permission denied", errc::permission_denied, true, Executed::no, false, false, grant_advice},
    // Before it proposes a write a member refuses it with these words; and after it has carried one out, if only that
    // was one too many.
    Rule{
        "database space exceeded", errc::store_refused, false, Executed::maybe, false, false,
        "the server takes no more writes: compact and defragment it, then etcdctl alarm disarm"},
    Rule{
        "request is too large", errc::store_refused, true, Executed::no, false, false,
        "raise the server's --max-request-bytes"},
    Rule{
        "too many operations in txn", errc::store_refused, true, Executed::no, false, false,
        "raise the server's --max-txn-ops to 128"},
    Rule{"too many requests", errc::store_refused},
    Rule{"corrupt", errc::store_refused, false, Executed::no, true, false, "a member has lost its data: replace it"},
    // the member looked for a leader before it did anything
    Rule{"etcdserver: no leader", errc::store_unavailable, false, Executed::no, true},
    Rule{"HTTP request to an HTTPS server", errc::tls_failed, true, Executed::no, false, false, "use etcds://"},
};

std::string words_of(std::string_view body)
{
    boost::system::error_code error;
    auto const value = json::parse(body, error);
    if (!error && value.is_object()) {
        auto const* const inner = value.as_object().if_contains("error");
        auto const* const object = inner != nullptr && inner->is_object() ? inner->if_object() : value.if_object();
        if (auto const* const message = object->if_contains("message"); message != nullptr && message->is_string())
            return std::string(message->as_string());
        if (inner != nullptr && inner->is_string())
            return std::string(inner->as_string());
    }
    return std::string(body);
}

/** Shown on terminals and in logs, where it must not steer anything or look like another line. */
void tidy(std::string& words)
{
    words.resize(std::min<std::size_t>(words.size(), 300));
    std::ranges::replace_if(words, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    while (!words.empty() && words.back() == ' ')
        words.pop_back();
}

} // namespace

std::string GatewayError::text() const
{
    return advice.empty() ? words : words + "; " + advice;
}

GatewayError classify(unsigned status, std::string_view body)
{
    GatewayError result;
    result.words = words_of(body);
    tidy(result.words);
    for (auto const& rule : rules) {
        if (result.words.find(rule.part) == std::string::npos)
            continue;
        result.error = rule.error;
        result.fatal = rule.fatal;
        result.executed = rule.executed;
        result.turn = rule.turn;
        result.wants_token = rule.wants_token;
        result.advice = rule.advice;
        return result;
    }
    if (result.words.find("lease not found") != std::string::npos) {
        result.error = errc::store_refused;
        result.lease_not_found = true;
    } else if (status == 404) {
        result.error = errc::wrong_server;
        result.fatal = true;
        result.advice = "leases need the JSON gateway of etcd 3.4 or newer, below /v3/";
    } else if (status >= 500) {
        // request timed out, leader changed, server stopped ...: the proposal may be on its way
        result.error = errc::store_unavailable;
        result.executed = Executed::maybe;
        result.turn = true;
    } else {
        result.error = errc::store_refused;
    }
    if (result.words.empty())
        result.words = "HTTP status " + std::to_string(status);
    return result;
}

Failure failure(Outcome outcome, std::string const& where, std::string const& what)
{
    if (outcome.delivery == Delivery::not_sent)
        return Failure::not_sent(outcome.error, std::move(outcome.detail), outcome.fatal);
    if (outcome.delivery == Delivery::unknown)
        return Failure::unknown(outcome.error, std::move(outcome.detail));
    auto const error = classify(outcome.status, outcome.body);
    auto detail = where + ": " + what + ": " + error.text();
    if (error.executed == GatewayError::Executed::maybe)
        return Failure::unknown(error.error, std::move(detail));
    return Failure::refused(error.error, std::move(detail), error.fatal);
}

Failure nonsense(std::string const& where, std::string const& what)
{
    return Failure::unknown(errc::protocol_error, where + ": " + what + ": the reply makes no sense");
}

} // namespace tenure::etcd
