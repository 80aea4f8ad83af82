// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/auditor.hpp"

#include "harness/child_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tenure::test
{

namespace
{

constexpr std::uint64_t magic = 0x74656e7572650002;
constexpr std::uint32_t most_cells = 1024;
constexpr std::uint32_t most_entries = 1U << 20;
constexpr std::uint32_t most_violations = 1024;

using Atomic64 = std::atomic<std::int64_t>;
static_assert(Atomic64::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/** The shared record of one interval. The plain fields are written before the cell points here. */
struct SharedHolding {
    std::uint32_t cell;
    pid_t pid;
    std::uint64_t process_started;
    std::uint64_t fencing_token;
    std::uint64_t mark;
    Atomic64 entered;
    Atomic64 valid_until;
    Atomic64 left;
    Atomic64 confirmed;
};

struct SharedViolation {
    std::uint32_t earlier;
    std::uint32_t later;
};

Holding snapshot(SharedHolding const& shared)
{
    return {shared.cell,        shared.pid,  shared.process_started, shared.fencing_token, shared.mark, shared.entered,
            shared.valid_until, shared.left, shared.confirmed};
}

/** Its validity was over before it entered: it relied on nothing. */
bool came_too_late(Holding const& holding)
{
    return holding.valid_until != 0 && holding.valid_until <= holding.entered && holding.confirmed <= holding.entered;
}

std::uint64_t process_start(pid_t pid)
{
    auto const state = process_state(pid);
    return state ? state->started : 0;
}

bool process_lives(pid_t pid, std::uint64_t started)
{
    auto const state = process_state(pid);
    return state && state->started == started && state->state != 'Z' && state->state != 'X';
}

} // namespace

struct Auditor::Memory {
    std::uint64_t magic;
    std::uint32_t cells;
    std::atomic<std::uint32_t> entries;
    std::atomic<std::uint32_t> violations;
    /// number of the interval that is in the cell, plus 1; 0: none
    std::array<std::atomic<std::uint32_t>, most_cells> occupant;
    std::array<SharedViolation, most_violations> violation;
    /// the file is sparse: only what is used takes memory
    std::array<SharedHolding, most_entries> holding;
};

std::int64_t boottime_ns() noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string Violation::describe() const
{
    std::ostringstream text;
    auto const put = [&](char const* name, Holding const& holding) {
        text << name << " pid " << holding.pid << " token " << holding.fencing_token << " entered " << holding.entered
             << " valid until " << holding.valid_until << " left " << holding.left << " confirmed " << holding.confirmed
             << "; ";
    };
    text << "cell " << earlier.cell << ": ";
    put("earlier", earlier);
    put("later", later);
    return text.str();
}

Auditor Auditor::create(std::string path, std::uint32_t cells)
{
    if (cells > most_cells)
        throw std::invalid_argument("the auditor has no room for so many cells");
    return Auditor{std::move(path), true, cells};
}

Auditor Auditor::open(std::string path)
{
    return Auditor{std::move(path), false, 0};
}

Auditor::Auditor(std::string path, bool create, std::uint32_t cells)
{
    int const file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 || (create && ::ftruncate(file, sizeof(Memory)) != 0))
        throw std::system_error(errno, std::generic_category(), path);
    void* const mapped = ::mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int const error = errno;
    ::close(file);
    if (mapped == MAP_FAILED)
        throw std::system_error(error, std::generic_category(), path);
    // A new file reads as zeros, which is what the atomics start with.
    memory_ = static_cast<Memory*>(mapped);
    if (create) {
        memory_->cells = cells;
        memory_->magic = magic;
    } else if (memory_->magic != magic) {
        ::munmap(mapped, sizeof(Memory));
        throw std::runtime_error(path + " is no auditor's file");
    }
}

Auditor::Auditor(Auditor&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr))
{
}

Auditor::~Auditor()
{
    if (memory_ != nullptr)
        ::munmap(memory_, sizeof(Memory));
}

Auditor::Entry Auditor::enter(
    std::uint32_t cell, std::int64_t valid_until, std::uint64_t fencing_token, std::uint64_t mark, pid_t holder)
{
    if (cell >= memory_->cells)
        throw std::out_of_range("no cell " + std::to_string(cell));
    Entry const entry = memory_->entries++;
    if (entry >= most_entries)
        throw std::length_error("the auditor's log is full");
    auto& holding = memory_->holding[entry];
    holding.cell = cell;
    holding.pid = holder != 0 ? holder : ::getpid();
    holding.process_started = process_start(holding.pid);
    holding.fencing_token = fencing_token;
    holding.mark = mark;
    holding.valid_until = valid_until;
    holding.entered = boottime_ns();

    auto& occupant = memory_->occupant[cell];
    auto before = occupant.load();
    for (;;) {
        // One that leaves between the two looks was live at the first: the clock is read first.
        auto const now = boottime_ns();
        // A holder that was paused until its lease ended no longer relies on it, and may find another holder here.
        if (valid_until != 0 && valid_until <= now)
            return entry;
        bool const overlap = before != 0 && live(before, now);
        if (occupant.compare_exchange_strong(before, entry + 1)) {
            if (overlap)
                record(before - 1, entry);
            return entry;
        }
    }
}

void Auditor::extend(Entry entry, std::int64_t valid_until) noexcept
{
    memory_->holding[entry].valid_until = valid_until;
}

void Auditor::confirm(Entry entry, std::int64_t instant) noexcept
{
    memory_->holding[entry].confirmed = instant;
}

void Auditor::leave(Entry entry) noexcept
{
    auto& holding = memory_->holding[entry];
    holding.left = boottime_ns();
    auto mine = entry + 1;
    memory_->occupant[holding.cell].compare_exchange_strong(mine, 0);
}

std::uint32_t Auditor::cells() const noexcept
{
    return memory_->cells;
}

bool Auditor::occupied(std::uint32_t cell) const noexcept
{
    auto const occupant = memory_->occupant[cell].load();
    return occupant != 0 && live(occupant, boottime_ns());
}

std::optional<Holding> Auditor::occupant(std::uint32_t cell) const
{
    auto const occupant = memory_->occupant[cell].load();
    if (occupant == 0)
        return std::nullopt;
    auto const result = snapshot(memory_->holding[occupant - 1]);
    return result.left == 0 ? std::optional{result} : std::nullopt;
}

std::vector<Holding> Auditor::holdings() const
{
    std::vector<Holding> result;
    auto const count = std::min(memory_->entries.load(), most_entries);
    for (std::uint32_t entry = 0; entry < count; ++entry)
        if (memory_->holding[entry].entered != 0)
            result.push_back(snapshot(memory_->holding[entry]));
    return result;
}

std::vector<Violation> Auditor::violations() const
{
    std::vector<Violation> result;
    auto const caught = std::min(memory_->violations.load(), most_violations);
    for (std::uint32_t i = 0; i < caught; ++i) {
        auto const& pair = memory_->violation[i];
        result.push_back({snapshot(memory_->holding[pair.earlier]), snapshot(memory_->holding[pair.later])});
    }

    // The log proves only intervals with a recorded end: the death of a killed process is not recorded.
    auto log = holdings();
    std::erase_if(log, came_too_late);
    std::stable_sort(log.begin(), log.end(), [](Holding const& a, Holding const& b) {
        return std::pair{a.cell, a.entered} < std::pair{b.cell, b.entered};
    });
    auto const end = [](Holding const& holding) { return holding.left != 0 ? holding.left : holding.valid_until; };
    for (std::size_t i = 0; i + 1 < log.size(); ++i)
        for (std::size_t later = i + 1; later < log.size() && log[later].cell == log[i].cell; ++later) {
            auto const limit = log[i].valid_until != 0 ? std::min(end(log[i]), log[i].valid_until) : end(log[i]);
            auto const until = std::max(limit, log[i].confirmed);
            if (until > log[later].entered)
                result.push_back({log[i], log[later]});
            else
                break;
        }
    return result;
}

std::size_t Auditor::tokens_out_of_order() const
{
    auto log = holdings();
    std::erase_if(log, came_too_late);
    std::ranges::stable_sort(log, {}, &Holding::entered);
    std::map<std::uint32_t, std::uint64_t> greatest;
    std::size_t count = 0;
    for (auto const& holding : log) {
        auto& before = greatest[holding.cell];
        count += holding.fencing_token <= before ? 1U : 0U;
        before = std::max(before, holding.fencing_token);
    }
    return count;
}

bool Auditor::live(std::uint32_t entry_plus_one, std::int64_t now) const noexcept
{
    auto const& holding = memory_->holding[entry_plus_one - 1];
    if (holding.left != 0)
        return false;
    auto const until = holding.valid_until.load();
    return until != 0 ? until > now : process_lives(holding.pid, holding.process_started);
}

void Auditor::record(Entry earlier, Entry later) noexcept
{
    auto const number = memory_->violations++;
    if (number < most_violations)
        memory_->violation[number] = {earlier, later};
}

} // namespace tenure::test
