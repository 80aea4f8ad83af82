// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store_error.hpp"

#include <tenure/errc.hpp>

namespace tenure::tool
{

std::string explain(Store const& store, error_code error)
{
    auto const diagnostics = store.diagnostics();
    auto text = store.describe() + ": " + error.message();
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
