// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// OwnHolder: the cells of this store.
#include "own_holder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

HolderId random_id(Runtime& runtime)
{
    HolderId id;
    runtime.random_bytes(id.bytes);
    return id;
}

} // namespace

OwnHolder::OwnHolder(Directory const& directory, Runtime& runtime)
    : id(random_id(runtime))
    , file(directory.create_file(directory.holders, id.text(), "." + id.text()))
    , fifo(directory.create_fifo(directory.wake, id.text()))
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

std::shared_ptr<Tenancy> OwnHolder::take(BootTime until, BootTime now)
{
    // A claim that nobody released may have its cell until its end, and not longer.
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
    return std::make_shared<Tenancy>(Tenancy{shared_from_this(), next_, ++last_claim_});
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

} // namespace tenure::file
