// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "directory.hpp"

#include "directory_lock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace own_store
{

using namespace tenure;
using namespace tenure::backend;
using std::chrono::milliseconds;

namespace
{

// The values of a key that its last holder left taken. No worker may be called like these.
constexpr std::string_view resting = "resting/";
constexpr std::string_view kept = "kept/";

/** So that a loss of power does not undo it, either. False: see errno. */
bool make_durable(std::filesystem::path const& path)
{
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bool const done = descriptor >= 0 && ::fsync(descriptor) == 0;
    if (descriptor >= 0)
        ::close(descriptor);
    return done;
}

/** Frees the key or quarantines it: a quarantined key is taken without an owner. */
void end_claim(Record& record, milliseconds reuse_after, Instant now)
{
    if (reuse_after == milliseconds{0}) {
        record.owner.clear();
        return;
    }
    record.owner.insert(0, resting);
    record.expire_after(reuse_after, now);
}

KeyState state_of(Record const& record, std::uint32_t index, Instant now)
{
    KeyState state;
    state.index = index;
    state.fencing_token = record.token;
    if (record.is_foreign)
        state.kind = KeyState::Kind::foreign;
    if (record.is_foreign || record.is_free(now))
        return state;
    state.kind = KeyState::Kind::held;
    state.owner = record.owner;
    state.remaining = record.remaining(now);
    for (auto const& [mark, kind] :
         {std::pair(resting, KeyState::Kind::resting), std::pair(kept, KeyState::Kind::kept)})
        if (record.owner.starts_with(mark)) {
            state.kind = kind;
            state.owner.erase(0, mark.size());
        }
    return state;
}

} // namespace

Directory::Directory(std::filesystem::path path)
    : path_(std::move(path))
{
    std::filesystem::create_directories(path_);
    std::ofstream(released_file(), std::ios::app);
}

template <class Reply>
Reply Directory::locked(Deadline const& not_after, std::function<Reply()> const& function)
{
    try {
        DirectoryLock const lock(path_, not_after, closed_);
        return function();
    } catch (Failed const& error) {
        return error.failure;
    }
}

Record Directory::load(std::string const& key)
{
    auto const path = path_ / file_name(key);
    errno = 0;
    std::ifstream file(path);
    if (!file && errno == ENOENT)
        return {};
    // Longer than any record. It limits the read of a file that another program wrote.
    std::array<char, 4096> buffer;
    if (!file || file.read(buffer.data(), buffer.size()).bad())
        throw failed(Failure::Effect::refused, "read", path);
    bool is_of_other_boot = false;
    auto record = read_record({buffer.data(), static_cast<std::size_t>(file.gcount())}, Clock::now(), is_of_other_boot);
    if (is_of_other_boot)
        store(key, record);
    return record;
}

void Directory::store(std::string const& key, Record const& record)
{
    // One draft for all keys: the holder of the lock writes it. One that a killed process left is overwritten.
    auto const file = path_ / file_name(key);
    if (!(std::ofstream(draft()) << to_text(record) << std::flush) || !make_durable(draft()))
        throw failed(Failure::Effect::refused, "write", draft());
    // Up to here nothing has changed. From here on an error does not say whether the record was replaced, nor whether
    // it stays so after a loss of power. The effect is unknown, and the engine finds out by asking again.
    if (::rename(draft().c_str(), file.c_str()) != 0 || !make_durable(path_))
        throw failed(Failure::Effect::unknown, "replace", file);
}

void Directory::tell_waiters() const
{
    // A lost hint costs a waiter one pause, so an error here does not fail the release.
    std::error_code ignored;
    std::filesystem::last_write_time(released_file(), std::filesystem::file_time_type::clock::now(), ignored);
}

Granted Directory::grant(ClaimRequest const& request, std::uint32_t index, Record record, Instant since)
{
    auto const now = Clock::now();
    bool const is_repeated = record.is_held_by(request.owner, now);
    if (request.fencing && !is_repeated)
        ++record.token;
    record.owner = request.owner;
    record.expire_after(request.lifetime(), now);
    store(request.range->key(index), record);
    return {index, request.fencing ? record.token : 0, request.ttl, since, nullptr};
}

ClaimReply Directory::claim(ClaimRequest const& request)
{
    // The engine counts the ttl from before the request. The record counts from later on: it ends later as well.
    auto const since = Clock::now();
    return locked<ClaimReply>(request.not_after, [&]() -> ClaimReply {
        auto const& range = *request.range;
        // An attempt whose answer got lost may have been granted any key: a second one must not be taken.
        if (request.earliest_attempt)
            for (std::uint32_t index = 0; index < range.count; ++index)
                if (auto record = load(range.key(index)); record.is_held_by(request.owner, Clock::now()))
                    return grant(request, index, std::move(record), since);
        std::optional<milliseconds> earliest;
        for (std::uint32_t index = 0; index < range.count; ++index) {
            auto record = load(range.key(index));
            auto const now = Clock::now();
            if (record.is_free(now))
                return grant(request, index, std::move(record), since);
            if (!record.is_foreign)
                earliest = std::min(earliest.value_or(milliseconds::max()), record.remaining(now));
        }
        return Busy{earliest, !earliest};
    });
}

std::vector<RenewAnswer> Directory::renew(std::vector<RenewRequest> const& requests)
{
    auto const since = Clock::now();
    std::vector<RenewAnswer> answers;
    // all of them under one lock, and each with an answer of its own
    auto const together = locked<RenewReply>(Instant::max(), [&]() -> RenewReply {
        for (auto const& request : requests)
            try {
                answers.push_back({answers.size(), renew_one(request, since)});
            } catch (Failed const& error) {
                answers.push_back({answers.size(), error.failure});
            }
        return Renewed{};
    });
    while (answers.size() < requests.size())
        answers.push_back({answers.size(), together});
    return answers;
}

RenewReply Directory::renew_one(RenewRequest const& request, Instant since)
{
    auto const now = Clock::now();
    // as late as can be: a release may have come meanwhile, and what it freed must not be taken again
    if (now >= request.not_after || request.claim->mark.ended)
        return Failure::dropped();
    auto record = load(request.claim->key());
    // `NotOwner` is the result of a comparison and never of an error: the holder's work ends because of it.
    if (!record.is_held_by(request.claim->owner, now))
        return NotOwner{};
    record.expire_after(request.lifetime(), now);
    store(request.claim->key(), record);
    return Renewed{request.ttl, since};
}

ReleaseReply Directory::release(ReleaseRequest const& request)
{
    return locked<ReleaseReply>(request.not_after, [&]() -> ReleaseReply {
        auto const now = Clock::now();
        auto const& claim = *request.claim;
        auto record = load(claim.key());
        // asked again, because the first answer got lost
        if (request.keep_for && record.is_held_by(std::string(kept) + claim.owner, now))
            return Released{};
        if (!record.is_held_by(claim.owner, now))
            return NotOwner{};
        if (!request.keep_for)
            end_claim(record, claim.reuse_after, now);
        else {
            record.owner.insert(0, kept);
            if (*request.keep_for > milliseconds{0})
                record.expire_after(*request.keep_for, now);
        }
        store(claim.key(), record);
        if (request.notifications && !request.keep_for)
            tell_waiters();
        return Released{};
    });
}

WithdrawReply Directory::withdraw(WithdrawRequest const& request)
{
    bool changed = false;
    auto reply = locked<WithdrawReply>(request.not_after, [&]() -> WithdrawReply {
        for (std::uint32_t index = 0; index < request.range->count; ++index) {
            auto const now = Clock::now();
            auto record = load(request.range->key(index));
            if (!record.is_held_by(request.owner, now))
                continue;
            end_claim(record, request.reuse_after, now);
            store(request.range->key(index), record);
            changed = true;
        }
        return Released{};
    });
    if (changed && request.notifications)
        tell_waiters();
    // "refused" promises that nothing has changed
    if (auto* const failure = std::get_if<Failure>(&reply); failure != nullptr && changed)
        failure->effect = Failure::Effect::unknown;
    return reply;
}

ReadyReply Directory::ready(Deadline const& not_after)
{
    return locked<ReadyReply>(not_after, [] { return Ready{}; });
}

InspectReply Directory::inspect(InspectRequest const& request)
{
    return locked<InspectReply>(request.not_after, [&] {
        auto const& range = *request.range;
        std::vector<KeyState> states;
        for (std::uint32_t index = 0; index < range.count; ++index)
            states.push_back(state_of(load(range.key(index)), index, Clock::now()));
        return states;
    });
}

EvictReply Directory::evict(EvictRequest const& request)
{
    return locked<EvictReply>(request.not_after, [&]() -> EvictReply {
        auto const now = Clock::now();
        auto record = load(request.range->key(request.index));
        if (!record.is_held_by(request.owner, now))
            return NotOwner{};
        // The holder may work on until its lease ends: the key stays taken for as long.
        record.owner = "evicted/" + request.evicted_by;
        store(request.range->key(request.index), record);
        return Evicted{record.remaining(now)};
    });
}

} // namespace own_store
