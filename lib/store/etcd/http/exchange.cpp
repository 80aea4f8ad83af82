// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Meaning of the gateway's errors.
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

using Executed = GatewayVerdict::Executed;

constexpr std::string_view grant_advice =
    "let the user's role read and write the keys: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX";

struct Rule {
    /// of the server's error text
    std::string_view part;
    GatewayVerdict verdict;
};

// The first match counts.
constexpr std::array rules{
    Rule{"invalid auth token", {.error = errc::authentication_failed, .wants_token = true}},
    Rule{"auth revision", {.error = errc::authentication_failed, .wants_token = true}},
    Rule{"revision of auth store is old", {.error = errc::authentication_failed, .wants_token = true}},
    Rule{
        "authentication failed",
        {.error = errc::authentication_failed, .fatal = true, .advice = "check user and password"}},
    Rule{
        "authentication is not enabled",
        {.error = errc::authentication_failed,
         .fatal = true,
         .advice = "leave out user and password, or switch it on: etcdctl auth enable"}},
    Rule{
        "user name is empty",
        {.error = errc::authentication_failed, .fatal = true, .advice = "give user and password"}},
    Rule{"user name not found", {.error = errc::authentication_failed, .fatal = true, .advice = "check the user"}},
    Rule{"permission denied", {.error = errc::permission_denied, .fatal = true, .advice = grant_advice}},
    // A member refuses a write with this error before it proposes it. Only if one write was too many, the error follows
    // an executed write.
    Rule{
        "database space exceeded",
        {.error = errc::store_refused,
         .executed = Executed::maybe,
         .advice = "the server takes no more writes: compact and defragment it, then etcdctl alarm disarm"}},
    Rule{
        "request is too large",
        {.error = errc::store_refused, .fatal = true, .advice = "raise the server's --max-request-bytes"}},
    Rule{
        "too many operations in txn",
        {.error = errc::store_refused, .fatal = true, .advice = "raise the server's --max-txn-ops to 128"}},
    Rule{"too many requests", {.error = errc::store_refused}},
    Rule{
        "corrupt",
        {.error = errc::store_refused, .another_member = true, .advice = "a member has lost its data: replace it"}},
    // the member looked for a leader before it executed anything
    Rule{"etcdserver: no leader", {.error = errc::store_unavailable, .another_member = true}},
    Rule{"HTTP request to an HTTPS server", {.error = errc::tls_failed, .fatal = true, .advice = "use etcds://"}},
    Rule{"lease not found", {.error = errc::store_refused, .lease_not_found = true}},
};

/// for words of another server or of a proxy
GatewayVerdict verdict_on(unsigned status)
{
    switch (status) {
    case 401: // UNAUTHENTICATED
        return {
            .error = errc::authentication_failed,
            .fatal = true,
            .wants_token = true,
            .advice = "the server or a proxy before it asks for another login: check user and password"};
    case 403: // PERMISSION_DENIED
        return {.error = errc::permission_denied, .fatal = true, .advice = grant_advice};
    case 404:
    case 405:
    case 501: // UNIMPLEMENTED
        return {
            .error = errc::wrong_server,
            .fatal = true,
            .advice = "leases need the JSON gateway of etcd 3.4 or newer, below /v3/"};
    case 413:
        return {.error = errc::store_refused, .fatal = true, .advice = "raise the proxy's limit of a request's size"};
    default:
        break;
    }
    // request timed out, leader changed, server stopped ...: the proposal may be pending
    if (status >= 500)
        return {.error = errc::store_unavailable, .executed = Executed::maybe, .another_member = true};
    return {.error = errc::store_refused};
}

GatewayVerdict verdict_on(std::string_view words, unsigned status)
{
    for (auto const& rule : rules)
        if (words.find(rule.part) != std::string_view::npos)
            return rule.verdict;
    return verdict_on(status);
}

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

/** Makes the text safe for terminals and logs: control characters and line breaks must not pass. */
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
    return advice.empty() ? words : words + "; " + std::string(advice);
}

GatewayError classify(unsigned status, std::string_view body)
{
    auto words = words_of(body);
    tidy(words);
    auto const verdict = verdict_on(words, status);
    if (words.empty())
        words = "HTTP status " + std::to_string(status);
    return {verdict, std::move(words)};
}

Failure failure(Outcome const& outcome, std::string const& where, std::string const& what)
{
    if (outcome.delivery != Delivery::answered)
        return outcome.undelivered();
    auto const error = classify(outcome.status, outcome.body);
    auto detail = where + ": " + what + ": " + error.text();
    if (error.executed == Executed::maybe)
        return Failure::unknown(error.error, std::move(detail));
    return Failure::refused(error.error, std::move(detail), error.fatal);
}

Failure malformed_reply(std::string const& where, std::string const& what)
{
    return Failure::unknown(errc::protocol_error, where + ": " + what + ": malformed reply");
}

} // namespace tenure::etcd
