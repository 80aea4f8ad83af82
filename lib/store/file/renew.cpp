// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: without a lock, in the cells of this store.
#include "operations.hpp"

#include <cerrno>
#include <chrono>
#include <optional>

namespace tenure::file
{

namespace
{

/** A claim that is being extended. */
struct Due {
    std::size_t request;
    Tenancy const* tenancy;
    /// when the key would have been free
    BootTime old_end;
};

/** Looks into the record of the claim: another process may have evicted it, or deleted the file.
 *  @param checked  the file that was seen to exist by this call's last look */
bool is_named(Session& session, Claim const& claim, Tenancy const& tenancy, RangeFilePtr& checked)
{
    auto file = tenancy.file.lock();
    if (file == nullptr) {
        auto const found = session.ranges().find(place_of(*claim.range, claim.index).stem);
        if (auto const* const opened = std::get_if<RangeFilePtr>(&found))
            file = *opened;
    }
    if (file == nullptr || (file != checked && file->file().deleted()))
        return false;
    checked = file;
    auto const pair = file->file().read<RecordPair>(records(tenancy.slot, 1).begin);
    return names(current(pair), session.holder(), tenancy, claim.owner);
}

} // namespace

std::vector<RenewAnswer> renew(Session& session, std::vector<RenewRequest> const& requests)
{
    auto const since = session.runtime().now();
    auto const now = session.clock().at(since);
    std::vector<RenewAnswer> answers;
    std::vector<Due> due;
    std::vector<OwnHolder::Extension> extensions;
    answers.reserve(requests.size());
    for (auto const& request : requests) {
        answers.push_back({answers.size(), NotOwner{}});
        if (request.claim->mark.ended || since >= request.not_after) {
            answers.back().reply = Failure::dropped();
            continue;
        }
        auto const* const tenancy = session.tenancy_of(*request.claim);
        auto const old_end = tenancy != nullptr ? session.holder().until(*tenancy) : std::nullopt;
        if (!old_end || now >= *old_end)
            continue;
        due.push_back({answers.back().request, tenancy, *old_end});
        extensions.push_back({tenancy->cell, now + std::chrono::nanoseconds(request.lifetime()).count()});
    }
    if (due.empty())
        return answers;
    if (!session.holder().extend(extensions)) {
        auto const failure = failed_call(errno, "cannot write the holder file");
        for (auto const& one : due)
            answers[one.request].reply = failure;
        return answers;
    }
    // Another process may have found the key free before the write: then the old end has passed by now.
    auto const written = session.now();
    bool const intact = session.intact();
    std::vector<OwnHolder::Extension> refused;
    RangeFilePtr checked;
    for (auto const& one : due) {
        auto const& request = requests[one.request];
        if (intact && written < one.old_end && is_named(session, *request.claim, *one.tenancy, checked))
            answers[one.request].reply = Renewed{request.ttl, since};
        else
            refused.push_back({one.tenancy->cell, one.old_end});
    }
    // an evicted key frees when its holder's validity ends, and not later
    if (!refused.empty())
        static_cast<void>(session.holder().extend(refused));
    return answers;
}

} // namespace tenure::file
