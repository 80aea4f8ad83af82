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

constexpr std::uint32_t first_cells = 112; // they fill the first page
constexpr std::int64_t offset_of(std::uint32_t cell) noexcept
{
    return cells_at + static_cast<std::int64_t>(cell * sizeof(Cell));
}

} // namespace

OwnHolder::OwnHolder(HolderId id, Descriptor file, Descriptor fifo)
    : id_(id)
    , file_(std::move(file))
    , fifo_(std::move(fifo))
    , file_in_children_(file_.number())
    , fifo_in_children_(fifo_.number())
{
}

std::variant<std::shared_ptr<OwnHolder>, Failure> OwnHolder::make(Directory const& directory, Runtime& runtime)
{
    constexpr int attempts = 8; // another process may clear the file away before it is locked
    for (int attempt = 0; attempt < attempts; ++attempt) {
        HolderId id;
        runtime.random_bytes(id.bytes);
        auto const name = id.text();
        auto file = directory.create_file(directory.holders(), name);
        if (!file)
            return failed_call(errno, "cannot make a file in " + directory.path());
        if (!file.try_lock(whole_file) || file.deleted())
            continue;
        HolderHeader header;
        header.pid = ::getpid();
        std::strncpy(header.program.data(), program_invocation_short_name, header.program.size() - 1);
        if (!file.write(0, header))
            return failed_call(errno, "cannot write in " + directory.path());
        if (!directory.create_fifo(name))
            return failed_call(errno, "cannot make a FIFO in " + directory.path());
        auto fifo = directory.open_file(directory.wake(), name, O_RDWR);
        if (!fifo)
            return failed_call(errno, "cannot open a FIFO in " + directory.path());
        return std::shared_ptr<OwnHolder>(new OwnHolder(id, std::move(file), std::move(fifo)));
    }
    return failed_call(EAGAIN, "cannot keep a file in " + directory.path());
}

bool OwnHolder::grow(BootTime now)
{
    for (std::uint32_t cell = 0; cell < cells_.size(); ++cell)
        if (cells_[cell].claim != 0 && cells_[cell].until <= now && users_[cell].expired())
            free_cell(cell);
    if (!free_.empty())
        return true;
    auto const have = static_cast<std::uint32_t>(cells_.size());
    auto const want = std::max(first_cells, have * 2);
    // blocks now, so that renewals and releases never need any
    if (int const error = ::posix_fallocate(file_.number(), 0, offset_of(want)); error != 0) {
        errno = error;
        return false;
    }
    cells_.resize(want);
    users_.resize(want);
    free_.reserve(want);
    for (auto cell = want; cell > have;)
        free_cell(--cell);
    return true;
}

std::variant<std::shared_ptr<Tenancy>, Failure> OwnHolder::take(BootTime until, BootTime now)
{
    if (free_.empty() && !grow(now))
        return failed_call(errno, "no space for another lease");
    auto const cell = free_.back();
    auto tenancy = std::make_shared<Tenancy>(Tenancy{shared_from_this(), cell, ++last_claim_, {}, 0});
    Cell value{0, tenancy->claim, until};
    value.seal();
    if (!file_.write(offset_of(cell), value))
        return failed_call(errno, "cannot write the holder file");
    cells_[cell] = value;
    users_[cell] = tenancy;
    free_.pop_back();
    return tenancy;
}

std::optional<BootTime> OwnHolder::until(Tenancy const& tenancy) const noexcept
{
    auto const& cell = cells_[tenancy.cell];
    return cell.claim == tenancy.claim ? std::optional(cell.until) : std::nullopt;
}

bool OwnHolder::extend(std::span<Extension const> extensions)
{
    auto const [first, last] = std::ranges::minmax(extensions, {}, &Extension::cell);
    std::vector<Cell> span(cells_.begin() + first.cell, cells_.begin() + last.cell + 1);
    for (auto const& extension : extensions) {
        auto& cell = span[extension.cell - first.cell];
        cell.until = extension.until;
        cell.seal();
    }
    if (!file_.write_at(offset_of(first.cell), span.data(), span.size() * sizeof(Cell)))
        return false;
    std::ranges::copy(span, cells_.begin() + first.cell);
    return true;
}

bool OwnHolder::end(Tenancy const& tenancy)
{
    Cell ended;
    ended.seal();
    if (!file_.write(offset_of(tenancy.cell), ended))
        return false;
    forget(tenancy);
    return true;
}

void OwnHolder::forget(Tenancy const& tenancy) noexcept
{
    if (cells_[tenancy.cell].claim == tenancy.claim)
        free_cell(tenancy.cell);
}

void OwnHolder::free_cell(std::uint32_t cell) noexcept
{
    // whole, because the next extension may write it: a record may still name the cell
    cells_[cell] = {};
    cells_[cell].seal();
    free_.push_back(cell);
}

void OwnHolder::note(std::uint64_t inode) noexcept
{
    if (noted_ == inode)
        return;
    noted_ = inode;
    // only for people: the lock itself matters
    static_cast<void>(file_.write(offsetof(HolderHeader, locks), inode));
}

BootTime OwnHolder::last_end() const noexcept
{
    BootTime last = 0;
    for (auto const& cell : cells_)
        if (cell.claim != 0)
            last = std::max(last, cell.until);
    return last;
}

void OwnHolder::remove(Directory const& directory) noexcept
{
    auto const name = id_.text();
    ::unlinkat(directory.wake().number(), name.c_str(), 0);
    ::unlinkat(directory.holders().number(), name.c_str(), 0);
}

} // namespace tenure::file
