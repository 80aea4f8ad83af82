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
    auto cause = error == condition::busy ? std::string() : store.diagnostics().last_detail;
    if (cause.empty())
        return store.describe() + ": " + words_for(error);
    // details name the store where it has several servers
    if (!cause.starts_with(store.describe()))
        cause.insert(0, store.describe() + ": ");
    if (error == errc::store_unavailable)
        cause += ": check that it runs and can be reached";
    return cause;
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
