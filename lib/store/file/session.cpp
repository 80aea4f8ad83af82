// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: opening and end, range files, locks, clearing away. Look: the state of keys.
#include "watches.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

namespace
{

/** Keeps a holder whose store was closed while keys were held: the work that they cover may still run. */
void keep_until_over(std::shared_ptr<OwnHolder> const& holder, BootTime now)
{
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<OwnHolder>>;
    std::lock_guard const lock(mutex);
    std::erase_if(*kept, [now](auto const& one) { return one->last_end() <= now; });
    kept->push_back(holder);
}

} // namespace

std::uint32_t RangeFile::slots() const noexcept
{
    auto const bytes = std::max<std::int64_t>(file.status().st_size - records_at, 0);
    return static_cast<std::uint32_t>(bytes / Segment{}.area().length);
}

void RangeFile::each(
    Segment const& segment, std::function<bool(std::uint32_t slot, RecordPair const&)> const& visit) const
{
    std::vector<RecordPair> pairs;
    for (std::uint32_t done = 0; done < segment.count; done += static_cast<std::uint32_t>(pairs.size())) {
        // a few at first, since one of the first keys is mostly free
        pairs.resize(std::min(segment.count - done, done == 0 ? 16U : 1024U));
        auto const slot = segment.slot + done;
        file.read_at(Segment::record_at(slot), pairs.data(), pairs.size() * sizeof(RecordPair));
        for (std::uint32_t i = 0; i < pairs.size(); ++i)
            if (!visit(slot + i, pairs[i]))
                return;
    }
}

void RangeFile::write(std::uint32_t slot, RecordPair const& old, Record record) const
{
    auto const& last = current(old);
    record.sequence = last.sequence + 1;
    seal(record);
    auto const offset = Segment::record_at(slot);
    if (last.sequence == 0)
        file.write(offset, RecordPair{record, record});
    else
        file.write(&last == old.data() ? offset + std::int64_t{sizeof(Record)} : offset, record);
}

Session::Session(FileConfig const& config, std::shared_ptr<Runtime> of)
    : runtime(std::move(of))
    , directory(config)
    , holder(std::make_shared<OwnHolder>(directory.folders(), *runtime))
{
    try {
        directory.clear_other_boots();
    } catch (...) {
        directory.folders().remove(holder->id.text());
        throw;
    }
}

void Session::close() noexcept
{
    if (std::exchange(closed, true) || fork_generation() != generation_)
        return;
    try {
        if (holder->last_end() <= now())
            directory.folders().remove(holder->id.text());
        else
            keep_until_over(holder, now());
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: another process clears the files away
    }
}

bool Session::intact() noexcept
{
    lost = lost || !directory.is_same() || holder->file.deleted();
    return !lost;
}

void Session::check_intact()
{
    if (!intact())
        throw Failure::refused(
            errc::wrong_server,
            directory.path + " was deleted or replaced: other processes may hold the same keys; all leases are lost");
}

Failure Session::explain(std::exception const& error)
try {
    check_intact();
    return failure_of(error);
} catch (Failure const& gone) {
    return gone;
}

Tenancy const* Session::tenancy_of(Claim const& claim) const noexcept
{
    auto const* const tenancy = static_cast<Tenancy const*>(claim.handle.get());
    return tenancy != nullptr && tenancy->holder == holder ? tenancy : nullptr;
}

RangeFilePtr Session::find(std::string const& stem)
{
    if (auto const found = open_.find(stem); found != open_.end() && found->second->file.deleted())
        open_.erase(found);
    return open(stem);
}

RangeFilePtr Session::open(std::string const& stem)
{
    constexpr std::size_t most_open = 256;
    if (auto const found = open_.find(stem); found != open_.end())
        return found->second;
    auto file = directory.open_file(directory.ranges, file_name_of(stem), O_RDWR);
    if (!file && errno == ENOENT)
        return nullptr;
    if (!file)
        throw_errno("cannot open a file in " + directory.path);
    if (open_.size() >= most_open)
        open_.clear();
    auto const inode = file.status().st_ino;
    return open_[stem] = std::make_shared<RangeFile>(RangeFile{std::move(file), inode});
}

RangeFilePtr Session::lock(std::string const& stem, Area area)
{
    constexpr int yields = 4;
    for (;;) {
        auto const range = open(stem);
        if (range == nullptr) {
            static_cast<void>(directory.create_file(directory.ranges, file_name_of(stem), "." + holder->id.text()));
            continue;
        }
        // a process that needs two areas waits for the first one
        if (locked_ == 0)
            holder->note(range->inode);
        for (int yielded = 0; !range->file.try_lock(area); ++yielded) {
            if (yielded == yields)
                throw Contended{stem, range->inode};
            ::sched_yield();
        }
        ++locked_;
        RangeFilePtr locked(range.get(), [this, range, area](RangeFile const* file) {
            file->file.unlock(area);
            --locked_;
        });
        if (!range->file.deleted())
            return locked;
        open_.erase(stem);
    }
}

Failure Session::stuck(Contended const& at) const
{
    return Failure::not_sent(
        errc::store_unavailable, directory.path + ": the file of '" + at.stem + "' stays locked, by " +
                                     directory.folders().locker_of(at.inode, holder->id) +
                                     ": continue or end that process");
}

void Session::sweep() noexcept
try {
    if (unswept_.empty() && runtime->now() >= next_sweep_) {
        next_sweep_ = runtime->now() + 60s;
        unswept_ = directory.holders.names();
        std::ranges::copy(directory.ranges.names(), std::back_inserter(unswept_));
    }
    // a few names at each call
    for (int count = 0; count < 4 && !unswept_.empty(); ++count) {
        auto const name = std::move(unswept_.back());
        unswept_.pop_back();
        if (name.starts_with('='))
            sweep_range(name);
        else if (!name.starts_with('.') && name != holder->id.text())
            directory.folders().sweep(name, now());
    }
} catch (std::exception const&) { // NOLINT(bugprone-empty-catch): another round follows
}

void Session::sweep_range(std::string const& name) const
{
    constexpr std::int64_t largest = 4 << 20; // reading more would hold the strand up
    auto file = directory.open_file(directory.ranges, name, O_RDWR);
    auto const found = file.status();
    auto const unused = std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(found.st_mtime);
    if (!file || unused < 10min || found.st_size > largest || !file.try_lock(whole_file) || file.deleted())
        return;
    RangeFile const range{std::move(file)};
    Look look(*this);
    Line line(range, directory.folders());
    line.drop_dead();
    bool needed = !line.entries.empty();
    range.each({{}, 0, range.slots()}, [&](std::uint32_t, RecordPair const& pair) {
        needed = needed || look.at(current(pair)).taken;
        return !needed;
    });
    if (!needed)
        ::unlinkat(directory.ranges.number(), name.c_str(), 0);
}

Occupancy Look::at(Record const& record)
{
    if (record.length == 0)
        return {};
    if (record.until != 0)
        return {now < record.until, record.until};
    if (record.holder == session_.holder->id) {
        auto const until = session_.holder->until(record.cell, record.claim);
        return {until && now < *until, until};
    }
    auto const cell = holders_.cell(record.holder, record.cell);
    bool const alive = holders_.alive(record.holder);
    if (!alive && (record.reuse_after == 0 || !is_whole(cell)))
        return {};
    if (!is_whole(cell))
        return {true, std::nullopt};
    return {cell.claim == record.claim && now < cell.until, cell.until};
}

} // namespace tenure::file
