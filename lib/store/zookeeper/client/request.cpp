// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Meaning of ZooKeeper's error codes.
#include "request.hpp"

#include <tenure/errc.hpp>

namespace tenure::zookeeper
{

namespace
{

Failure permission(std::string const& where, std::string const& what, std::string const& login)
{
    auto const who = login.empty() ? std::string("without a login") : "as the digest user '" + login + "'";
    return Failure::refused(
        errc::permission_denied,
        where + ": " + what + ": NOAUTH: the ACL of this node, or of one above it, does not allow it " + who +
            "; check user and password (a wrong password looks the same), or grant create, delete, read and write",
        true);
}

} // namespace

bool is_answered(int code) noexcept
{
    switch (code) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZCLOSING:
    case ZINVALIDSTATE:
    case ZRUNTIMEINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZAUTHFAILED:
    case ZSSLCONNECTIONERROR:
    case ZSYSTEMERROR:
    case ZTHROTTLEDOP: // the asked server decides, without the leader
        return false;
    default:
        return true;
    }
}

Failure
failure_of(Response const& response, std::string const& where, std::string const& what, std::string const& login)
{
    if (response.dropped)
        return Failure::dropped();
    auto const words = where + ": " + what + ": " + ::zerror(response.code);
    switch (response.code) {
    case ZINVALIDSTATE:
        return Failure::not_sent(errc::store_unavailable, where + ": " + what + ": not connected");
    case ZNOAUTH:
    case ZINVALIDACL:
        return permission(where, what, login);
    case ZAUTHFAILED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
        return Failure::refused(
            errc::authentication_failed, words + "; the server wants another login than scheme digest gives it", true);
    case ZNOCHILDRENFOREPHEMERALS:
        return Failure::refused(
            errc::key_conflict,
            words + "; the node above the key is another program's ephemeral node: use another key");
    default:
        break;
    }
    if (!is_answered(response.code))
        return Failure::unknown(errc::store_unavailable, words + " before the response was there");
    return Failure::refused(errc::store_refused, words);
}

} // namespace tenure::zookeeper
