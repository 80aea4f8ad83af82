// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <string>

namespace tenure
{

/** User and password of one login. */
struct Credentials {
    /// empty: the default user
    std::string username = {};
    /// never logged
    std::string password = {};
};

/** Returns the credentials for one login, if they change while the program runs: short-lived credentials of a cloud
 * provider, rotated secrets.
 *
 *  Called on the store's strand before each login, so it must not block: keep the newest credentials in the program,
 * and return them. An exception or an empty password fails that attempt to connect, with the exception's text in the
 * error; the next attempt calls the function again. Credentials that the server refuses end waiting operations with
 * errc::authentication_failed. A connection to Redis that was logged in before tries again instead, because a new
 * password may reach the server before it reaches the program.
 */
using CredentialsSource = std::function<Credentials()>;

} // namespace tenure
