// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace tenure::tool
{

namespace
{

[[noreturn]] void fail(char const* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

void* map(int descriptor, std::size_t size)
{
    auto* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        fail("cannot map the demo's board");
    return memory;
}

std::int64_t count(Instant instant) noexcept
{
    return instant.time_since_epoch().count();
}

} // namespace

void DemoBoard::Unmap::operator()(Content* content) const noexcept
{
    ::munmap(content, sizeof(Content));
}

DemoBoard::DemoBoard()
    : memory_(::memfd_create("tenure-demo", MFD_CLOEXEC))
{
    if (memory_.number() < 0 || ::ftruncate(memory_.number(), sizeof(Content)) != 0)
        fail("cannot make the demo's board");
    content_.reset(new (map(memory_.number(), sizeof(Content))) Content);
}

DemoBoard::DemoBoard(int descriptor)
    : memory_(descriptor)
    , content_(std::launder(static_cast<Content*>(map(descriptor, sizeof(Content)))))
{
}

void DemoBoard::enter(
    std::uint32_t slot, std::uint32_t worker, std::uint64_t fencing_token, Instant valid_until) noexcept
{
    auto& entry = content_->slots[slot];
    auto const before = entry.holder.exchange(worker + 1);
    // one that was killed never left: its claim counts for as long as its lease was valid
    if (before != 0 && count(Clock::now()) < entry.valid_until)
        ++content_->collisions;
    if (fencing_token <= entry.last_token.exchange(fencing_token))
        ++content_->disorders;
    entry.valid_until = count(valid_until);
    auto& row = content_->workers[worker];
    row.slot = slot;
    row.slots_had |= std::uint64_t{1} << slot;
    ++row.turns;
    row.doing = Doing::working;
}

void DemoBoard::stay(std::uint32_t slot, Instant valid_until) noexcept
{
    content_->slots[slot].valid_until = count(valid_until);
}

void DemoBoard::leave(std::uint32_t slot, std::uint32_t worker) noexcept
{
    bool const was_paused = content_->workers[worker].doing.exchange(Doing::waiting) == Doing::paused;
    auto expected = worker + 1;
    if (!content_->slots[slot].holder.compare_exchange_strong(expected, 0) && !was_paused)
        ++content_->collisions;
}

std::string demo_worker_name(std::uint32_t index)
{
    return "worker-" + std::to_string(index + 1);
}

} // namespace tenure::tool
