// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <boost/system/error_code.hpp>

#include <string>

namespace tenure::store
{

/** Delivery of a request: the three cases that a lease must distinguish. */
enum class Delivery {
    /// a reply arrived, good or bad
    answered,
    /// the request was not sent completely, so it was not executed
    not_sent,
    /// possibly sent, and no reply can arrive
    unknown
};

/** How a request to a server ended, except its reply. */
struct Exchange {
    Delivery delivery = Delivery::not_sent;
    /// just before the request was written (answered and unknown)
    Instant since{};
    /// not_sent and unknown: the cause; clear if only `not_after` passed before the request was written
    boost::system::error_code error = {};
    std::string detail = {};
    /// not_sent: permanent until a person acts (wrong password, wrong database, certificate)
    bool fatal = false;

    /** not_sent and unknown: the cause as text for people. */
    [[nodiscard]] std::string reason() const { return detail.empty() ? error.message() : detail; }

    /** not_sent and unknown: the failure of the request. */
    [[nodiscard]] Failure undelivered() const
    {
        return delivery == Delivery::not_sent ? Failure::not_sent(error, detail, fatal)
                                              : Failure::unknown(error, detail);
    }
};

} // namespace tenure::store
