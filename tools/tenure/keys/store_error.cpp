// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keys/store_error.hpp"

#include <tenure/errc.hpp>

namespace tenure::tool
{

std::string words_for(error_code error)
{
    if (error == errc::timed_out)
        return "held by others until the wait ended";
    if (error == errc::store_unavailable)
        return "the store did not answer in time: check that it runs and can be reached";
    if (error == errc::store_refused)
        return "the store answered with an error";
    if (error == errc::permission_denied)
        return "the store's user lacks a permission that leases need";
    if (error == errc::wrong_server)
        return "the server is not of the kind that the URL names";
    if (error == errc::key_conflict)
        return "another program wrote the key, or the counter of fencing tokens";
    if (error == errc::ttl_too_short)
        return "the round trip to the store leaves nothing of the ttl: use a longer --ttl";
    return error.message();
}

std::string explain(Store const& store, error_code error)
{
    auto const diagnostics = store.diagnostics();
    auto text = store.describe() + ": " + words_for(error);
    if (error != condition::busy && !diagnostics.last_detail.empty())
        text += " (" + diagnostics.last_detail + ")";
    return text;
}

ExitCode exit_code_for(error_code error) noexcept
{
    if (error == condition::busy)
        return none_free;
    if (error == errc::lease_lost)
        return lease_lost;
    return store_failed;
}

} // namespace tenure::tool
