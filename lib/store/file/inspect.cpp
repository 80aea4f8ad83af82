// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and examination: without locks, nothing is changed.
#include "places.hpp"
#include "store/ended_claim.hpp"
#include "store/share_sum.hpp"

#include <chrono>
#include <string>

namespace tenure::file
{

namespace
{

KeyState state_of(Record const& record, Occupancy const& seen, BootTime now)
{
    KeyState state;
    state.fencing_token = record.token;
    if (!seen.taken)
        return state;
    auto const ended = read_ended_claim(record.value());
    state.kind = ended ? ended->kind : KeyState::Kind::held;
    state.owner = ended ? ended->last_owner : record.value();
    state.remaining = time_until(seen.until, now);
    if (!ended)
        state.held_for = std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds(now - record.granted));
    return state;
}

/** The state of a key without a plain claim: that of its first place, if it has one. */
void add_places(Session& session, std::string const& key, KeyState& state)
{
    Look look(session);
    PlacesSeen const all(session.find(places_of(key).stem), look);
    ShareSum sum;
    std::vector<tenure::Place> places;
    for (auto const& place : all.places) {
        if (!place.state.taken)
            continue;
        auto const seen = state_of(place.record, place.state, look.now);
        if (places.empty())
            state = seen;
        places.push_back(
            {.owner = std::string(place.record.value()),
             .weight = place.record.weight,
             .capacity = place.record.capacity,
             .fencing_token = seen.fencing_token,
             .remaining = seen.remaining.value_or(std::chrono::milliseconds{0}),
             .holds = sum.add(place.share())});
    }
    state.places = std::move(places);
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
    std::vector<KeyState> states(range->count);
    for (auto const& segment : segments_of(*range)) {
        Look look(session);
        if (auto const file = session.find(segment.stem))
            file->each(segment, [&](std::uint32_t slot, RecordPair const& pair) {
                auto const& record = current(pair);
                states[segment.index + slot - segment.slot] = state_of(record, look.at(record), look.now);
                return true;
            });
    }
    for (std::uint32_t index = 0; index < range->count; ++index) {
        if (states[index].kind == KeyState::Kind::free)
            add_places(session, range->key(index), states[index]);
        states[index].index = index;
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
