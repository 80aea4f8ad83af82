// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/errc.hpp>

#include <optional>
#include <string>
#include <variant>

namespace tenure::engine
{

/** What a failed request has in common, whichever way it failed. */
struct Failure {
    error_code error;
    std::string detail;
    /// asking again cannot help until a person acts
    bool fatal = false;
    /// the request may have taken effect, or may still do so
    bool may_take_effect = false;
    /// it came too late to be sent, which tells nothing about the store
    bool overdue = false;
};

/** The failure in a reply of any kind; nothing if the store gave a real answer. */
template <class Reply>
[[nodiscard]] std::optional<Failure> failure_of(Reply const& reply)
{
    if (auto const* refused = std::get_if<Refused>(&reply))
        return Failure{refused->error, refused->detail, refused->fatal, false};
    if (auto const* not_sent = std::get_if<NotSent>(&reply))
        return Failure{
            not_sent->error ? not_sent->error : make_error_code(errc::store_unavailable), not_sent->detail,
            not_sent->fatal, false, !not_sent->error};
    if (auto const* unknown = std::get_if<Unknown>(&reply))
        return Failure{unknown->error, unknown->detail, false, true};
    return std::nullopt;
}

} // namespace tenure::engine
