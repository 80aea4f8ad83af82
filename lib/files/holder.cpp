// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// OwnHolder: the cells of this process. OtherHolders: those of others, and whether these live.
#include "holder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

namespace tenure
{

namespace
{

/** True if the process is stopped, by SIGSTOP or by a debugger. */
bool is_stopped(int pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    auto const name_end = line.rfind(')');
    return line.find_first_of("Tt", name_end) == name_end + 2;
}

HolderId random_id(Runtime& runtime)
{
    HolderId id;
    runtime.random_bytes(id.bytes);
    return id;
}

} // namespace

std::uint64_t Cell::sum() const noexcept
{
    return tenure::checksum(&claim, sizeof(claim) + sizeof(until));
}

OwnHolder::OwnHolder(HolderFolders const& folders, Runtime& runtime)
    : id(random_id(runtime))
    , file(folders.directory.create_file(folders.holders, id.text(), "." + id.text()))
    , fifo(folders.directory.create_fifo(folders.fifos, id.text()))
    , file_in_children_(file.number())
    , fifo_in_children_(fifo.number())
{
    HolderHeader header;
    header.pid = ::getpid();
    std::strncpy(header.program.data(), program_invocation_short_name, header.program.size() - 1);
    file.write(0, header);
}

void OwnHolder::grow()
{
    constexpr std::uint32_t first_cells = 112; // they fill the first page
    auto const want = std::max(first_cells, 2 * static_cast<std::uint32_t>(cells_.size()));
    // blocks now, so that renewals and releases never need any
    errno = ::posix_fallocate(file.number(), 0, cell_at(want));
    if (errno != 0)
        throw_errno("no space for another lease");
    cells_.resize(want);
}

Tenancy OwnHolder::take(BootTime until, BootTime now)
{
    // An unreleased claim has its cell until its end, and not longer.
    auto const is_used = [&](Cell const& cell) { return cell.claim != 0 && now < cell.until; };
    auto const have = static_cast<std::uint32_t>(cells_.size());
    std::uint32_t looked = 0;
    for (; looked < have && is_used(cells_[next_]); ++looked)
        next_ = (next_ + 1) % have;
    if (looked == have) {
        grow();
        next_ = have;
    }
    Cell cell{0, last_claim_ + 1, until};
    seal(cell);
    file.write(cell_at(next_), cell);
    cells_[next_] = cell;
    return {nullptr, next_, ++last_claim_};
}

std::optional<BootTime> OwnHolder::until(std::uint32_t cell, std::uint64_t claim) const noexcept
{
    return cells_[cell].claim == claim ? std::optional(cells_[cell].until) : std::nullopt;
}

void OwnHolder::extend(std::span<Extension const> extensions)
{
    auto const [first, last] = std::ranges::minmax(extensions, {}, &Extension::cell);
    std::vector<Cell> span(cells_.begin() + first.cell, cells_.begin() + last.cell + 1);
    for (auto const& extension : extensions)
        span[extension.cell - first.cell].until = extension.until;
    for (auto& cell : span)
        seal(cell);
    file.write_at(cell_at(first.cell), span.data(), span.size() * sizeof(Cell));
    std::ranges::copy(span, cells_.begin() + first.cell);
}

void OwnHolder::end(Tenancy const& tenancy)
{
    if (cells_[tenancy.cell].claim != tenancy.claim)
        return;
    Cell ended;
    seal(ended);
    file.write(cell_at(tenancy.cell), ended);
    cells_[tenancy.cell] = ended;
    next_ = tenancy.cell;
}

BootTime OwnHolder::last_end() const noexcept
{
    BootTime last = 0;
    for (auto const& cell : cells_)
        if (cell.claim != 0)
            last = std::max(last, cell.until);
    return last;
}

void OwnHolder::note(std::uint64_t inode)
{
    if (std::exchange(noted_, inode) != inode)
        file.write(offsetof(HolderHeader, locks), inode);
}

bool HolderFolders::is_alive(HolderId const& id) const noexcept
{
    auto const file = directory.open_file(holders, id.text(), O_RDONLY);
    // what cannot be opened may be alive
    return file ? file.locked_elsewhere() : errno != ENOENT;
}

std::string HolderFolders::locker_of(std::uint64_t inode, HolderId const& but) const
{
    std::string locker = "an unknown process";
    for (auto const& name : holders.names()) {
        auto const file = directory.open_file(holders, name, O_RDONLY);
        if (!file || name == but.text() || !file.locked_elsewhere())
            continue;
        auto const header = file.read<HolderHeader>(0);
        if (header.locks != inode)
            continue;
        bool const stopped = is_stopped(header.pid);
        locker = header.program.data() + (" (pid " + std::to_string(header.pid)) + (stopped ? ", stopped)" : ")");
        if (stopped)
            break;
    }
    return locker;
}

void HolderFolders::sweep(std::string const& name, BootTime now) const
{
    auto const file = directory.open_file(holders, name, O_RDWR);
    if (!file || !file.try_lock(whole_file))
        return;
    auto const bytes = std::max<std::int64_t>(file.status().st_size - cell_at(0), 0);
    std::vector<Cell> cells(static_cast<std::size_t>(bytes) / sizeof(Cell));
    file.read_at(cell_at(0), cells.data(), cells.size() * sizeof(Cell));
    if (std::ranges::none_of(cells, [now](auto const& cell) { return cell.claim != 0 && cell.until > now; }))
        remove(name);
}

void HolderFolders::remove(std::string const& name) const noexcept
{
    ::unlinkat(fifos.number(), name.c_str(), 0);
    ::unlinkat(holders.number(), name.c_str(), 0);
}

OtherHolders::Holder& OtherHolders::find(HolderId const& id)
{
    auto const [found, is_new] = holders_.try_emplace(id);
    auto& holder = found->second;
    if (is_new) {
        holder.file = folders_.directory.open_file(folders_.holders, id.text(), O_RDONLY);
        holder.alive = holder.file ? holder.file.locked_elsewhere() : errno != ENOENT;
    }
    return holder;
}

Cell OtherHolders::cell(HolderId const& id, std::uint32_t number)
{
    auto& holder = find(id);
    if (!holder.file)
        return {};
    auto const block = number / block_size;
    if (!holder.blocks.contains(block))
        holder.blocks[block] = holder.file.read<std::array<Cell, block_size>>(cell_at(block * block_size));
    auto cell = holder.blocks[block][number % block_size];
    // its holder may have been writing it
    constexpr int attempts = 100;
    for (int attempt = 0; !is_whole(cell) && attempt < attempts; ++attempt)
        cell = holder.file.read<Cell>(cell_at(number));
    return cell;
}

} // namespace tenure
