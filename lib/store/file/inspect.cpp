// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and examination: without locks, nothing is changed.
#include "operations.hpp"

#include "store/diagnosis.hpp"
#include "store/ended_claim.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

namespace tenure::file
{

namespace
{

KeyState state_of(Session& session, Record const& record, std::uint32_t index, BootTime now)
{
    KeyState state;
    state.index = index;
    state.fencing_token = record.token;
    auto const seen = session.look(record, now);
    if (!seen.taken)
        return state;
    auto const ended = read_ended_claim(record.value());
    state.kind = ended ? ended->kind : KeyState::Kind::held;
    state.owner = ended ? ended->last_owner : record.value();
    if (seen.until)
        state.remaining = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(*seen.until - now));
    if (!ended)
        state.held_for = std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds(now - record.granted));
    return state;
}

} // namespace

InspectReply inspect(Session& session, KeyRange const& range)
{
    std::vector<KeyState> states;
    states.reserve(range.count);
    session.others().begin(range.count > 1);
    for (auto const& segment : segments_of(range)) {
        auto const found = session.ranges().find(segment.stem);
        if (auto const* const failure = std::get_if<Failure>(&found))
            return *failure;
        auto const& file = std::get<RangeFilePtr>(found);
        std::vector<RecordPair> pairs;
        for (std::uint32_t slot = 0; slot < segment.count; ++slot) {
            constexpr std::uint32_t page = 1024;
            auto const now = session.now();
            if (slot % page == 0) {
                auto const count = std::min(page, segment.count - slot);
                pairs.assign(count, {});
                if (file != nullptr && !file->read(segment.slot + slot, count, pairs))
                    return failed_call(errno, "cannot read in " + session.directory().path());
            }
            states.push_back(state_of(session, current(pairs[slot % page]), segment.index + slot, now));
        }
    }
    return states;
}

Findings examine(Session& session, std::chrono::milliseconds ttl)
{
    auto const& directory = session.directory();
    auto const mode = directory.status().st_mode & 0777;
    Findings findings;
    findings.push_back(
        {Finding::Severity::ok, "directory",
         directory.path() + ", of user " + std::to_string(directory.status().st_uid) +
             ((mode & 077) == 0 ? ", for that user alone" : ", shared with other users"),
         "only processes of this machine that name this directory exclude each other"});
    auto const& filesystem = directory.filesystem();
    Finding kind{Finding::Severity::ok, "file system", filesystem, ""};
    if (filesystem == "btrfs" || filesystem == "zfs") {
        kind.severity = Finding::Severity::warning;
        kind.advice = "it copies on write: on a full disk renewals fail and leases are lost; use a tmpfs such as /run";
    } else if (filesystem != "tmpfs") {
        kind.severity = Finding::Severity::warning;
        kind.advice = "writes to a disk may stall for seconds, and a lease may be lost then; use a tmpfs such as /run";
    }
    findings.push_back(std::move(kind));
    std::vector<std::chrono::nanoseconds> times;
    constexpr int samples = 5;
    for (int sample = 0; sample < samples; ++sample) {
        auto const before = session.runtime().now();
        session.holder().note(static_cast<std::uint64_t>(sample) + 1);
        static_cast<void>(session.intact());
        times.push_back(session.runtime().now() - before);
    }
    findings.push_back(judge_round_trips(std::move(times), ttl));
    if (session.clock().offset().count() != 0)
        findings.push_back(
            {Finding::Severity::ok, "time namespace",
             "this process counts " + std::to_string(session.clock().offset().count() / 1'000'000'000) +
                 " s more than the machine",
             "taken into account"});
    return findings;
}

} // namespace tenure::file
