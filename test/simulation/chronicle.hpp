// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

/** The events of a world, for the trace and for a person who wants to know why. */
enum class Note : std::uint8_t {
    fault,
    fault_ends,
    process_starts,
    process_dies,
    process_is_told_to_stop,
    process_stops,
    process_goes_on,
    asks,
    gives_up_waiting,
    not_sent,
    dropped,
    repeated,
    executes,
    answers,
    answer_arrives,
    hint_arrives,
    leaves_line,
    connects,
    disconnects,
    wants,
    cancels,
    acquired,
    failed,
    token_fired,
    token_ended,
    releases,
    detaches,
    destroys,
    throws,
    resizes,
    serves
};

/** The commands that a simulated server knows; the last stands for all others. */
constexpr std::array<std::string_view, 35> server_commands{
    "HELLO",  "AUTH",    "SELECT", "PING",      "INFO",        "PUBLISH",   "GET",     "MGET",    "EXISTS",
    "PTTL",   "TIME",    "SET",    "INCR",      "PEXPIRE",     "PEXPIREAT", "DEL",     "DELIFEQ", "DELEX",
    "EVAL",   "EVALSHA", "SCRIPT", "SUBSCRIBE", "UNSUBSCRIBE", "LPUSH",     "RPUSH",   "LPOP",    "LREM",
    "LRANGE", "LLEN",    "LINDEX", "LPOS",      "MULTI",       "EXEC",      "DISCARD", "?"};

struct Entry {
    Ns when = 0;
    OwnerId owner = 0;
    std::int64_t number = 0;
    Note note{};
    std::uint8_t process = 0;
    /// key, kind of fault or kind of request: whatever the note is about
    std::uint8_t about = 0;
    /// a second subject
    std::uint8_t detail = 0;
};

constexpr std::uint8_t nobody = 255;

class Chronicle
{
public:
    explicit Chronicle(Scheduler& scheduler) noexcept
        : scheduler_(scheduler)
    {
    }

    void begin() noexcept { entries_.clear(); }

    void write(
        Note note, std::uint32_t process, std::uint8_t about = 0, OwnerId owner = 0, std::int64_t number = 0,
        std::uint8_t detail = 0)
    {
        scheduler_.trace(
            (std::uint64_t{static_cast<std::uint8_t>(note)} << 56U) ^ (std::uint64_t{about} << 40U) ^ owner ^
            static_cast<std::uint64_t>(number));
        entries_.push_back({scheduler_.now(), owner, number, note, static_cast<std::uint8_t>(process), about, detail});
    }

    [[nodiscard]] std::vector<Entry> const& entries() const noexcept { return entries_; }

    /** The last `count` entries, a line each. */
    [[nodiscard]] std::string last(std::size_t count) const;

private:
    Scheduler& scheduler_;
    std::vector<Entry> entries_;
};

[[nodiscard]] std::string describe(Entry const& entry);

} // namespace tenure::simulation
