// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and examination: without locks, nothing is changed.
#include "operations.hpp"
#include "store/ended_claim.hpp"

#include <chrono>
#include <string>

namespace tenure::file
{

namespace
{

KeyState state_of(Look& look, Record const& record, std::uint32_t index)
{
    KeyState state;
    state.index = index;
    state.fencing_token = record.token;
    auto const seen = look.at(record);
    if (!seen.taken)
        return state;
    auto const ended = read_ended_claim(record.value());
    state.kind = ended ? ended->kind : KeyState::Kind::held;
    state.owner = ended ? ended->last_owner : record.value();
    if (seen.until)
        state.remaining = time_until(*seen.until, look.now);
    if (!ended)
        state.held_for =
            std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds(look.now - record.granted));
    return state;
}

} // namespace

ReadyReply ready(Context const& context, Deadline const&)
{
    context.session->check_intact();
    return Ready{};
}

InspectReply inspect(Context const& context, KeyRangePtr const& range)
{
    auto& session = *context.session;
    session.check_intact();
    std::vector<KeyState> states;
    for (auto const& segment : segments_of(*range)) {
        Look look(session);
        if (auto const file = session.find(segment.stem))
            file->each(segment, [&](std::uint32_t, RecordPair const& pair) {
                states.push_back(state_of(look, current(pair), static_cast<std::uint32_t>(states.size())));
                return true;
            });
        for (auto next = states.size(); next < segment.index + segment.count; ++next)
            states.emplace_back().index = static_cast<std::uint32_t>(next);
    }
    return states;
}

Findings examine(Session const& session)
{
    auto const& directory = session.directory;
    Findings findings;
    findings.push_back(
        {Finding::Severity::ok, "directory",
         directory.path + ", of user " + std::to_string(directory.status.st_uid) +
             ((directory.status.st_mode & 077) != 0 ? ", shared with other users" : ", for that user alone"),
         "only processes of this machine that name this directory exclude each other"});
    Finding kind{Finding::Severity::ok, "file system", directory.file_system.name, ""};
    if (kind.observed == "btrfs" || kind.observed == "zfs")
        kind.advice = "it copies on write: on a full disk renewals fail and leases are lost; use a tmpfs such as /run";
    else if (kind.observed != "tmpfs")
        kind.advice = "writes to a disk may stall for seconds, and a lease may be lost then; use a tmpfs such as /run";
    if (!kind.advice.empty())
        kind.severity = Finding::Severity::warning;
    findings.push_back(std::move(kind));
    return findings;
}

} // namespace tenure::file
