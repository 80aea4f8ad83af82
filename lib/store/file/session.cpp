// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: opening and end, range files, locks, the state of keys.
#include "session.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace tenure::file
{

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

/** True if the process is stopped, by SIGSTOP or by a debugger. */
bool is_stopped(int pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    auto const name_end = line.rfind(')');
    return line.find_first_of("Tt", name_end) == name_end + 2;
}

} // namespace

void RangeFile::each(
    Segment const& segment, std::function<bool(std::uint32_t slot, RecordPair const&)> const& visit) const
{
    std::vector<RecordPair> pairs;
    for (std::uint32_t done = 0; done < segment.count; done += static_cast<std::uint32_t>(pairs.size())) {
        // a few at first, since one of the first keys is mostly free
        pairs.resize(std::min(segment.count - done, done == 0 ? 16U : 1024U));
        auto const slot = segment.slot + done;
        file.read_at(records(slot, 1).begin, pairs.data(), pairs.size() * sizeof(RecordPair));
        for (std::uint32_t i = 0; i < pairs.size(); ++i)
            if (!visit(slot + i, pairs[i]))
                return;
    }
}

void RangeFile::write(std::uint32_t slot, RecordPair const& old, Record record) const
{
    auto const& last = current(old);
    record.sequence = last.sequence + 1;
    record.seal();
    auto const offset = records(slot, 1).begin;
    std::int64_t const older = &last == old.data() ? sizeof(Record) : 0;
    if (last.sequence == 0)
        file.write(offset, RecordPair{record, record});
    else
        file.write(offset + older, record);
}

Session::Session(FileConfig const& config, std::shared_ptr<Runtime> of)
    : runtime(std::move(of))
    , directory(config)
    , holder(std::make_shared<OwnHolder>(directory, *runtime))
{
}

void Session::close() noexcept
{
    if (std::exchange(closed, true) || fork_generation() != generation_)
        return;
    try {
        if (holder->last_end() <= now())
            directory.remove_holder(holder->id().text());
        else
            keep_until_over(holder, now());
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: another process clears the files away
    }
}

void Session::check_intact()
{
    if (!intact())
        throw Failed(
            errc::wrong_server,
            directory.path + " was deleted or replaced: other processes may hold the same keys; all leases are lost",
            false);
}

Tenancy const* Session::tenancy_of(Claim const& claim) const noexcept
{
    auto const* const tenancy = static_cast<Tenancy const*>(claim.handle.get());
    return tenancy != nullptr && tenancy->holder == holder ? tenancy : nullptr;
}

RangeFilePtr Session::find(std::string const& stem)
{
    constexpr std::size_t most_open = 256;
    if (auto const found = open_.find(stem); found != open_.end())
        return found->second;
    auto file = directory.open_file(directory.ranges, file_name(stem), O_RDWR);
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
        auto const range = find(stem);
        if (range == nullptr) {
            static_cast<void>(directory.create_file(directory.ranges, file_name(stem), "." + holder->id().text()));
            continue;
        }
        holder->note(range->inode);
        for (int yielded = 0; !range->file.try_lock(area); ++yielded) {
            if (yielded == yields)
                throw Contended(stem, range->inode);
            ::sched_yield();
        }
        RangeFilePtr locked(range.get(), [range, area](RangeFile const* file) { file->file.unlock(area); });
        if (!range->file.deleted())
            return locked;
        open_.erase(stem);
    }
}

Failure Session::stuck(Contended const& at) const
{
    std::string culprit = "an unknown process";
    for (auto const& name : directory.holders.names()) {
        auto const file = directory.open_file(directory.holders, name, O_RDONLY);
        if (!file || name == holder->id().text() || !file.locked_elsewhere())
            continue;
        auto const header = file.read<HolderHeader>(0);
        if (header.locks != at.inode)
            continue;
        bool const stopped = is_stopped(header.pid);
        culprit = header.program.data() + (" (pid " + std::to_string(header.pid)) + (stopped ? ", stopped)" : ")");
        if (stopped)
            break;
    }
    return Failure::not_sent(
        errc::store_unavailable, directory.path + ": the file of '" + at.stem + "' stays locked, by " + culprit +
                                     ": continue or end that process");
}

bool Session::is_alive(HolderId const& id) const
{
    if (id == holder->id())
        return true;
    auto const file = directory.open_file(directory.holders, id.text(), O_RDONLY);
    return file ? file.locked_elsewhere() : errno != ENOENT;
}

void Session::wake(HolderId const& id, Wake const& news) const
{
    // For reading also: if the store has just ended, the write would otherwise raise SIGPIPE.
    if (auto const fifo = directory.open_file(directory.wake, id.text(), O_RDWR))
        static_cast<void>(::write(fifo.number(), &news, sizeof(news)) == sizeof(news));
}

Look::Seen Look::cell_of(Record const& record)
{
    auto const [found, is_new] = holders_.try_emplace(record.holder);
    auto& holder = found->second;
    if (is_new) {
        holder.file = session_.directory.open_file(session_.directory.holders, record.holder.text(), O_RDONLY);
        // what cannot be opened may be alive
        holder.alive = holder.file ? holder.file.locked_elsewhere() : errno != ENOENT;
    }
    Seen seen{{}, holder.alive};
    if (!holder.file)
        return seen;
    auto const block = record.cell / block_size;
    if (!holder.blocks.contains(block))
        holder.blocks[block] = holder.file.read<std::array<Cell, block_size>>(cell_at(block * block_size));
    seen.cell = holder.blocks[block][record.cell % block_size];
    // its holder may have been writing it
    constexpr int attempts = 100;
    for (int attempt = 0; !seen.cell.valid() && attempt < attempts; ++attempt)
        seen.cell = holder.file.read<Cell>(cell_at(record.cell));
    return seen;
}

Occupancy Look::at(Record const& record)
{
    if (record.length == 0)
        return {};
    if (record.until != 0)
        return {now < record.until, record.until};
    if (record.holder == session_.holder->id()) {
        auto const until = session_.holder->until(record.cell, record.claim);
        return {until && now < *until, until};
    }
    auto const seen = cell_of(record);
    if (!seen.alive && (record.reuse_after == 0 || !seen.cell.valid()))
        return {};
    if (!seen.cell.valid())
        return {true, std::nullopt};
    return {seen.cell.claim == record.claim && now < seen.cell.until, seen.cell.until};
}

} // namespace tenure::file
