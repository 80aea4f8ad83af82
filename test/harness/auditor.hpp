// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test
{

/** Nanoseconds of CLOCK_BOOTTIME, read here and not by the library. */
[[nodiscard]] std::int64_t boottime_ns() noexcept;

/** Nanoseconds as milliseconds. */
[[nodiscard]] constexpr double in_milliseconds(std::int64_t nanoseconds) noexcept
{
    return static_cast<double>(nanoseconds) / 1e6;
}

/** One interval in which a key was held, in its layout in the shared memory. */
struct Holding {
    std::uint32_t cell;
    pid_t pid;
    /// start of the process in clock ticks since boot: tells it from a later one with the same id
    std::uint64_t process_started;
    std::uint64_t fencing_token;
    /// the mark of this claim in the key's value in the store (owner_mark.hpp); 0: unknown
    std::uint64_t mark;
    std::int64_t entered;
    /// up to when the holder may rely on it; 0: as long as the process lives
    std::int64_t valid_until;
    /// when it left, before it gave the key back; 0: it has not
    std::int64_t left;
    /// the last instant at which it was told that it holds the key, whatever `valid_until` says; 0: it never said
    std::int64_t confirmed;
};

/** Two holders of one cell that were live at the same time. */
struct Violation {
    Holding earlier;
    Holding later;
    [[nodiscard]] std::string describe() const;
};

/** Watches that no two live holders have the same key (S1), across processes.
 *
 *  One file, mapped by every holder, has a cell per key and a log of intervals. A holder enters its cell by
 * compare-and-swap right after it was granted the key and leaves before it gives it back. An entry while the previous
 * holder is still live is recorded as a violation. The auditor does not depend on the library.
 */
class Auditor
{
public:
    /** Makes the file, for `cells` keys. */
    static Auditor create(std::string path, std::uint32_t cells);
    /** Opens a file that `create` made. */
    static Auditor open(std::string path);
    Auditor(Auditor&& other) noexcept;
    Auditor(Auditor const&) = delete;
    Auditor& operator=(Auditor const&) = delete;
    ~Auditor();

    /** Names one interval of the log. */
    using Entry = std::uint32_t;

    /** The caller holds the key from now until `valid_until` (ns of CLOCK_BOOTTIME; 0: while its process lives).
     *  @param holder  the process that is noted as the holder; 0: this one */
    Entry enter(
        std::uint32_t cell, std::int64_t valid_until, std::uint64_t fencing_token = 0, std::uint64_t mark = 0,
        pid_t holder = 0);
    /** A renewal moved `valid_until`. */
    void extend(Entry entry, std::int64_t valid_until) noexcept;
    /** The grantor of the key said at `instant` that the caller holds it: from then on it counts as held until
     * `valid_until`.
     */
    void confirm(Entry entry, std::int64_t instant) noexcept;
    /** The caller relies on it no more: before it releases, or when its token fired. */
    void leave(Entry entry) noexcept;

    [[nodiscard]] std::uint32_t cells() const noexcept;
    /** Whether a live holder is in the cell now. */
    [[nodiscard]] bool occupied(std::uint32_t cell) const noexcept;
    /** The last process to enter the cell, unless it has left; it may no longer be live. */
    [[nodiscard]] std::optional<Holding> occupant(std::uint32_t cell) const;
    /** All intervals so far, in the order in which they were entered. */
    [[nodiscard]] std::vector<Holding> holdings() const;
    /** The violations caught at the entry, and those that a comparison of all intervals finds. */
    [[nodiscard]] std::vector<Violation> violations() const;
    /** How many entered a cell with a fencing token that is not greater than all before it there (S10). */
    [[nodiscard]] std::size_t tokens_out_of_order() const;

private:
    struct Memory;
    explicit Auditor(std::string path, bool create, std::uint32_t cells);
    [[nodiscard]] bool live(std::uint32_t entry_plus_one, std::int64_t now) const noexcept;
    void record(Entry earlier, Entry later) noexcept;

    Memory* memory_ = nullptr;
};

} // namespace tenure::test
