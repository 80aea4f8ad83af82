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
    : id_(random_id(runtime))
    , file_(directory.create_file(directory.holders, id_.text(), "." + id_.text()))
    , fifo_(directory.create_fifo(id_.text()))
    , file_in_children_(file_.number())
    , fifo_in_children_(fifo_.number())
{
    HolderHeader header;
    header.pid = ::getpid();
    std::strncpy(header.program.data(), program_invocation_short_name, header.program.size() - 1);
    file_.write(0, header);
}

void OwnHolder::grow(BootTime now)
{
    // A claim that nobody released may have its cell until its end, and not longer.
    for (std::uint32_t cell = 0; cell < cells_.size(); ++cell)
        if (cells_[cell].claim != 0 && cells_[cell].until <= now) {
            cells_[cell].claim = 0;
            free_.push_back(cell);
        }
    if (!free_.empty())
        return;
    constexpr std::uint32_t first_cells = 112; // they fill the first page
    auto const have = static_cast<std::uint32_t>(cells_.size());
    auto const want = std::max(first_cells, have * 2);
    // blocks now, so that renewals and releases never need any
    errno = ::posix_fallocate(file_.number(), 0, cell_at(want));
    if (errno != 0)
        throw_errno("no space for another lease");
    cells_.resize(want);
    for (auto cell = want; cell > have;)
        free_.push_back(--cell);
}

std::shared_ptr<Tenancy> OwnHolder::take(BootTime until, BootTime now)
{
    if (free_.empty())
        grow(now);
    auto const cell = free_.back();
    auto tenancy = std::make_shared<Tenancy>(Tenancy{shared_from_this(), cell, ++last_claim_});
    Cell value{0, tenancy->claim, until};
    value.seal();
    file_.write(cell_at(cell), value);
    cells_[cell] = value;
    free_.pop_back();
    return tenancy;
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
        cell.seal();
    file_.write_at(cell_at(first.cell), span.data(), span.size() * sizeof(Cell));
    std::ranges::copy(span, cells_.begin() + first.cell);
}

void OwnHolder::end(Tenancy const& tenancy)
{
    if (cells_[tenancy.cell].claim != tenancy.claim)
        return;
    Cell ended;
    ended.seal();
    file_.write(cell_at(tenancy.cell), ended);
    cells_[tenancy.cell] = ended;
    free_.push_back(tenancy.cell);
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
        file_.write(offsetof(HolderHeader, locks), inode);
}

} // namespace tenure::file
